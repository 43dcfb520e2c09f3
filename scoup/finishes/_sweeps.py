"""After the merge: scale the components to the data, refit the covered rows, or complete all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.coupled import CoupledData
from scoup.linear import pseudoinverse
from scoup.solvers import als
from scoup.terms import Term, block_losses, grams_of, terms_of

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Part:
    """The data on covered rows. Elsewhere the merged model is zero, so nothing more is needed to scale or refit it."""

    terms: list[Term]
    outside: tuple[float, ...]

    @classmethod
    def of(cls, data: CoupledData, kept: tuple[Array, ...]) -> Part:
        """Select the covered rows, numbered in ``kept``; ``outside`` is the squared norm of each block beyond them."""
        whole = all(index.size == size for index, size in zip(kept, data.sizes, strict=True))
        chosen = data if whole else data.select(kept)
        beyond = (
            max(b.norm2 - c.norm2, 0.0) for b, c in zip(data.blocks, chosen.blocks, strict=True)
        )
        return cls(terms_of(chosen), tuple(beyond))

    def losses(self, flat: Sequence[Array]) -> list[float]:
        """Squared error of each block of the whole data, for covered rows ``flat`` and zeros outside them."""
        return [
            loss + rest
            for loss, rest in zip(block_losses(self.terms, flat), self.outside, strict=True)
        ]


def rescale(terms: Sequence[Term], flat: Sequence[Array], order: int) -> list[Array]:
    """Find the scale of each component by least squares on the data: lambda for the tensor, one vector a matrix.

    ``min_l |W * (X - sum_f l_f a_f o b_f o c_f)|^2`` is an F x F system; the lambda of the tensor goes to its
    modes and is taken back out of the sides, whose own scale is then solved for in the same way.

    >>> terms = terms_of(CoupledData(np.full((2, 2, 2), 8.0)))
    >>> [round(float(factor[0, 0]), 6) for factor in rescale(terms, [np.ones((2, 1))] * 3, 3)]
    [2.0, 2.0, 2.0]
    """
    grams, flat = grams_of(flat), list(flat)
    scales = [_best_scale(term, flat, grams)[0] for term in terms]
    size = np.abs(scales[0]) ** (1.0 / order)
    sign = np.where(scales[0] < 0, -1.0, 1.0)
    modes = [factor * size * (sign if n == 0 else 1.0) for n, factor in enumerate(flat[:order])]
    sides = []
    for term, scale in zip(terms[1:], scales[1:], strict=True):
        owner, own = term.factors
        taken = size * (sign if owner == 0 else 1.0)
        sides.append(flat[own] * scale / np.where(taken == 0, 1.0, taken))
    return [np.ascontiguousarray(f, dtype=flat[0].dtype) for f in [*modes, *sides]]


def scaled_loss(terms: Sequence[Term], flat: Sequence[Array]) -> float:
    """The weighted loss that :func:`rescale` would leave, in one pass over the data.

    >>> scaled_loss(terms_of(CoupledData(np.full((2, 2, 2), 8.0))), [np.ones((2, 1))] * 3)
    0.0
    """
    grams = grams_of(flat)
    return sum(term.weight * (term.norm2 - _best_scale(term, flat, grams)[1]) for term in terms)


def _best_scale(term: Term, flat: Sequence[Array], grams: Sequence[Array]) -> tuple[Array, float]:
    """Solve ``(sum_i m_i m_i' * G_i) l = sum_i m_i * r_i``: scales in one term, and what they explain."""
    position = min(term.factors, key=lambda k: len(flat[k]))
    factor = flat[position].astype(np.float64)
    rhs, gram = term.rhs(flat, position), term.gram(flat, grams, position)
    target = np.einsum("if,if->f", factor, rhs)
    if gram.ndim == 2:
        system = gram * (factor.T @ factor)
    else:
        system = np.einsum("if,ig,ifg->fg", factor, factor, gram, optimize=True)
    scale = pseudoinverse(np.asarray(system, dtype=np.float64)) @ target
    return scale, float(scale @ target)


def als_sweeps(terms: Sequence[Term], flat: Sequence[Array], sweeps: int) -> list[Array]:
    """Make a few ALS sweeps: on the terms of the covered rows this is the refit, which keeps the zeros.

    >>> terms = terms_of(CoupledData(np.full((2, 2, 2), 8.0)))
    >>> round(float(np.prod([factor[0, 0] for factor in als_sweeps(terms, [np.ones((2, 1))] * 3, 1)])), 6)
    8.0
    """
    flat, grams = list(flat), grams_of(flat)
    for _ in range(sweeps):
        als.advance(terms, flat, grams)
    return flat


def complete(terms: Sequence[Term], flat: list[Array], coverage: Sequence[Array]) -> list[float]:
    """Make one full ALS sweep in place, the factor with the most rows missing first; return the losses.

    >>> terms = terms_of(CoupledData(np.full((2, 2, 2), 8.0)))
    >>> seen = np.array([True, False])
    >>> complete(terms, [np.array([[1.0], [0.0]])] * 3, [seen] * 3)
    [0.0]
    """
    positions = sorted(range(len(flat)), key=lambda n: float(coverage[n].mean()))
    return als.advance(terms, flat, grams_of(flat), positions)
