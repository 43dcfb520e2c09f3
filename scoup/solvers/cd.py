"""Element-wise coordinate descent, the paper's answer to missing cells.

Each coefficient in turn takes the value that minimises the cost with all others fixed:
``b_jf += (x' a_f - (A b_j)' a_f) / |a_f|^2`` over the observed cells of row j. A visit to a factor
makes one pass over its coefficients; the outer sweeps bring convergence.
"""

from functools import partial

import numpy as np

from scoup.records import Array
from scoup.solvers import Solution, Stopping, als
from scoup.terms import Problem

CONSTRAINABLE = True


def coordinate_pass(gram: Array, rhs: Array, factor: Array, *, nonnegative: bool = False) -> Array:
    """Update the columns of ``factor`` (I, F) one by one, each exactly, from the normal equations.

    Coefficients that no observed cell depends on become zero; with ``nonnegative``, which is HALS,
    those that would be below zero, too.

    >>> coordinate_pass(np.eye(2) * 2, np.array([[2.0, 4.0]]), np.zeros((1, 2))).tolist()
    [[1.0, 2.0]]
    """
    factor = factor.copy()
    for f in range(factor.shape[1]):
        column = gram[..., f]
        curvature = column[..., f]
        shared = gram.ndim == 2
        model = factor @ column if shared else np.einsum("if,if->i", factor, column)
        pull = rhs[:, f] - model
        step = np.divide(pull, curvature, out=np.zeros_like(pull), where=curvature > 0)
        factor[:, f] = np.where(curvature > 0, factor[:, f] + step, 0.0)
        if nonnegative:
            np.maximum(factor[:, f], 0, out=factor[:, f])
    return factor


def solve(problem: Problem, flat: list[Array], stopping: Stopping) -> Solution:
    """Sweep with coordinate passes instead of exact row solves.

    >>> from scoup.coupled import CoupledData
    >>> start = [np.ones((2, 1)) for _ in range(3)]
    >>> solve(Problem.of(CoupledData(np.ones((2, 2, 2)))), start, Stopping(10, 1e-6)).stop
    'exact'
    """
    als.improve_start(problem, flat)
    bounded = partial(coordinate_pass, nonnegative=True)
    return als.solve(problem, flat, stopping, update=coordinate_pass, bounded=bounded)
