"""Element-wise coordinate descent, the paper's way with missing cells.

Each coefficient in turn takes the value that minimises the cost with all others fixed:
``b_jf += (x' a_f - (A b_j)' a_f) / |a_f|^2`` over the observed cells of row j. One pass over the
coefficients of a factor is made at each visit; the outer sweeps bring convergence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.solvers import als
from scoup.terms import Term

Array = NDArray[Any]


def coordinate_pass(gram: Array, rhs: Array, factor: Array) -> Array:
    """Update the columns of ``factor`` (I, F) one after the other, each exactly, given the normal equations.

    Coefficients that no observed cell depends on become zero.

    >>> coordinate_pass(np.eye(2) * 2, np.array([[2.0, 4.0]]), np.zeros((1, 2))).tolist()
    [[1.0, 2.0]]
    """
    factor = factor.copy()
    for f in range(factor.shape[1]):
        column = gram[..., f]
        curvature = column[..., f]
        pull = rhs[:, f] - (
            factor @ column if gram.ndim == 2 else np.einsum("if,if->i", factor, column)
        )
        step = np.divide(pull, curvature, out=np.zeros_like(pull), where=curvature > 0)
        factor[:, f] = np.where(curvature > 0, factor[:, f] + step, 0.0)
    return factor


def solve(
    terms: Sequence[Term],
    flat: Sequence[Array],
    max_iter: int,
    tol: float,
    on_step: Callable[[float], None] = lambda cost: None,
) -> tuple[list[Array], list[float], str]:
    """Sweep with coordinate passes in place of exact row solves.

    >>> from scoup.coupled import CoupledData
    >>> from scoup.terms import terms_of
    >>> solve(terms_of(CoupledData(np.ones((2, 2, 2)))), [np.ones((2, 1)) for _ in range(3)], 10, 1e-6)[2]
    'exact'
    """
    return als.solve(terms, flat, max_iter, tol, on_step, update=coordinate_pass)
