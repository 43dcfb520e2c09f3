"""The best scale of each component of a model, by least squares on the data."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from scoup.constraints import UNCONSTRAINED, Constraints
from scoup.factors import mode_scales
from scoup.kernels import solve_nonnegative
from scoup.normal import pseudoinverse
from scoup.records import Array
from scoup.terms import Term, grams_of, shortest


def rescale(
    terms: Sequence[Term],
    flat: Sequence[Array],
    order: int,
    constraints: Constraints = UNCONSTRAINED,
) -> list[Array]:
    """Scale each component to the data: one lambda for the tensor, one vector per matrix.

    ``min_l |W * (X - sum_f l_f a_f o b_f o c_f)|^2`` is an F x F system. The lambda of the
    tensor goes to its ``order`` modes and is divided out of the sides, whose scale is found in
    the same way. With ``constraints`` a scale is non-negative where nothing may take its sign.

    >>> from scoup.coupled import CoupledData
    >>> from scoup.terms import terms_of
    >>> terms = terms_of(CoupledData(np.full((2, 2, 2), 8.0)))
    >>> [round(float(factor[0, 0]), 6) for factor in rescale(terms, [np.ones((2, 1))] * 3, 3)]
    [2.0, 2.0, 2.0]
    """
    scales = [best[0].scales for best in _best_scales(terms, [flat], constraints)]
    owners, signed = [term.factors[0] for term in terms[1:]], constraints.turnable(order) or 0
    modes = mode_scales(scales[0], order, owners, signed=signed)
    scaled = [factor * scale for factor, scale in zip(flat, modes, strict=False)]
    for term, scale in zip(terms[1:], scales[1:], strict=True):
        owner, side = term.factors
        scaled.append(flat[side] * scale / np.where(modes[owner] == 0, 1.0, modes[owner]))
    return [np.ascontiguousarray(factor, dtype=flat[0].dtype) for factor in scaled]


def scaled_cost(
    terms: Sequence[Term], flat: Sequence[Array], constraints: Constraints = UNCONSTRAINED
) -> float:
    """Return the weighted loss that :func:`rescale` would leave, in one pass over the data.

    >>> from scoup.coupled import CoupledData
    >>> from scoup.terms import terms_of
    >>> scaled_cost(terms_of(CoupledData(np.full((2, 2, 2), 8.0))), [np.ones((2, 1))] * 3)
    0.0
    """
    return scaled_costs(terms, [flat], constraints)[0]


def scaled_costs(
    terms: Sequence[Term],
    models: Sequence[Sequence[Array]],
    constraints: Constraints = UNCONSTRAINED,
) -> list[float]:
    """Return :func:`scaled_cost` of several models of one rank, in one pass over the data.

    >>> from scoup.coupled import CoupledData
    >>> from scoup.terms import terms_of
    >>> terms = terms_of(CoupledData(np.eye(2)[:, :, None] * np.ones(2)))
    >>> models = [[np.eye(2)[:, [n]], np.ones((2, 1)), np.ones((2, 1))] for n in (0, 1)]
    >>> scaled_costs(terms, models)
    [3.0, 3.0]
    """
    costs = [0.0] * len(models)
    for term, best in zip(terms, _best_scales(terms, models, constraints), strict=True):
        for number, scaling in enumerate(best):
            costs[number] += term.weight * (term.norm2 - scaling.gain)
    return costs


class _Scaling(NamedTuple):
    """The best scales of one model for a term, and by how much they lower its loss."""

    scales: Array
    gain: float


def _best_scales(
    terms: Sequence[Term], models: Sequence[Sequence[Array]], constraints: Constraints
) -> Iterator[list[_Scaling]]:
    """Yield the best scales of each model for each term, tensor first.

    A product of the data with columns is the same whatever columns stand beside them, so the
    columns of all models share a pass.
    """
    grams = [grams_of(flat) for flat in models]
    # A single model keeps its own arrays, by which a term knows the product it has computed.
    columns = models[0] if len(models) == 1 else [np.hstack(f) for f in zip(*models, strict=True)]
    for number, term in enumerate(terms):
        # Any mode of the tensor may take a sign; that of a matrix goes to its side.
        takers = term.factors[1:] if number else term.factors
        nonnegative, position = constraints.fixed.issuperset(takers), shortest(term, columns)
        products = np.split(term.rhs(columns, position), len(models), axis=1)
        systems = [
            _system(flat[position], rhs, term.gram(flat, squares, position))
            for flat, rhs, squares in zip(models, products, grams, strict=True)
        ]
        yield _solve(systems, nonnegative)


def _system(factor: Array, rhs: Array, gram: Array) -> tuple[Array, Array]:
    """Return ``sum_i m_i m_i' * G_i`` and ``sum_i m_i * r_i``, whose ratio are the best scales."""
    factor = factor.astype(np.float64, copy=False)
    target = np.einsum("if,if->f", factor, rhs)
    if gram.ndim == 2:
        system = gram * (factor.T @ factor)
    else:
        system = np.einsum("ifg,ifg->fg", factor[:, :, None] * factor[:, None], gram)
    return np.asarray(system, dtype=np.float64), target


def _solve(systems: Sequence[tuple[Array, Array]], nonnegative: bool) -> list[_Scaling]:
    """Solve the system of each model for its scales."""
    if nonnegative:
        zeros = np.zeros((1, len(systems[0][1])))
        solved = [solve_nonnegative(system, target[None], zeros)[0] for system, target in systems]
    else:  # all at once: a call takes longer than a system
        inverses = pseudoinverse(np.array([system for system, _ in systems]))
        solved = [inverse @ target for inverse, (_, target) in zip(inverses, systems, strict=True)]
    return [
        _Scaling(scales, float(scales @ target))
        for scales, (_, target) in zip(solved, systems, strict=True)
    ]
