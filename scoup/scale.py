"""The best scale of each component of a model, by least squares on the data."""

from collections.abc import Iterator, Sequence

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
    scales = [scale for scale, _ in _best_scales(terms, flat, constraints)]
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
    best = zip(terms, _best_scales(terms, flat, constraints), strict=True)
    return sum(term.weight * (term.norm2 - gain) for term, (_, gain) in best)


def _best_scales(
    terms: Sequence[Term], flat: Sequence[Array], constraints: Constraints
) -> Iterator[tuple[Array, float]]:
    """Yield the scales of each term, tensor first, and by how much they lower its loss."""
    grams = grams_of(flat)
    for number, term in enumerate(terms):
        # Any mode of the tensor may take a sign; that of a matrix goes to its side.
        takers = term.factors[1:] if number else term.factors
        yield _best_scale(term, flat, grams, nonnegative=constraints.fixed.issuperset(takers))


def _best_scale(
    term: Term, flat: Sequence[Array], grams: Sequence[Array], nonnegative: bool
) -> tuple[Array, float]:
    """Solve ``(sum_i m_i m_i' * G_i) l = sum_i m_i * r_i``: scales of a term, and their gain."""
    position = shortest(term, flat)
    factor = flat[position].astype(np.float64)
    rhs, gram = term.rhs(flat, position), term.gram(flat, grams, position)
    target = np.einsum("if,if->f", factor, rhs)
    if gram.ndim == 2:
        system = gram * (factor.T @ factor)
    else:
        system = np.einsum("if,ig,ifg->fg", factor, factor, gram, optimize=True)
    system = np.asarray(system, dtype=np.float64)
    if nonnegative:
        scale = solve_nonnegative(system, target[None], np.zeros((1, target.size)))[0]
    else:
        scale = pseudoinverse(system) @ target
    return scale, float(scale @ target)
