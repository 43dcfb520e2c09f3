"""Merge the repetitions: partial factors, each on its own sample, become one model of the whole data.

``joint`` (the default) gives each repetition one permutation for all of its factors. ``paper`` matches
the columns of each factor apart, as Algorithm 3 prints it, and is kept for comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.clock import Clock
from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.factors import column_norms, congruence, factor_match_score, match, scale_columns, unwrap, wrap
from scoup.metrics import output_size, weigh
from scoup.records import Factors, Fit, Merged, MergeReport, Sample
from scoup.solvers import als
from scoup.solvers.linear import pseudoinverse
from scoup.specs import MergeSpec
from scoup.terms import Term, block_losses, grams_of, terms_of
from scoup.threads import serial_blas

Array = NDArray[Any]

# A repetition whose match with the reference is below this share of the typical one found other components.
REJECT_BELOW = 0.5
# Two components this far apart on the common rows are unrelated: there is nothing to stitch.
UNMATCHED_BELOW = 1e-3
REFIT_SWEEPS = 3


@dataclass(frozen=True, eq=False)
class Pieces:
    """Merged raw factors with coverage, and what the merge found out about the repetitions."""

    flat: list[Array]
    coverage: tuple[Array, ...]
    scores: tuple[float, ...]
    rejected: tuple[int, ...]
    reference: int
    consistent: bool


def merge(fits: Sequence[Fit], samples: Sequence[Sample], data: CoupledData, spec: MergeSpec) -> Merged:
    """Merge fits of samples of ``data``; then finish as ``spec`` says.

    finish ``none`` keeps rows that were never sampled at zero; ``refit`` makes a few ALS sweeps over the
    covered rows only, which keeps these zeros; ``complete`` goes on with one full sweep over all rows.
    A single repetition that covers everything is returned as it is.

    >>> from scoup import SCOUP
    >>> data = CoupledData(np.random.default_rng(0).standard_normal((8, 9, 7)))
    >>> model = SCOUP(rank=2, sampling=2, repetitions=2).fit(data)
    >>> merge(model.fits_, model.samples_, data, MergeSpec("joint", "none")).report.cost == model.report_.cost
    True
    """
    if not fits or len(fits) != len(samples):
        raise ScoupError.expected("fits", "one fit for each sample, at least one", f"{len(fits)} and {len(samples)}")
    with serial_blas():
        return _merge(fits, samples, data, spec)


def _merge(fits: Sequence[Fit], samples: Sequence[Sample], data: CoupledData, spec: MergeSpec) -> Merged:
    clock = Clock()
    with clock("merge"):
        pieces = merge_joint(fits, samples, data) if spec.merge == "joint" else merge_paper(fits, samples, data)
    with clock("select"):
        part = Part.of(data, pieces.coverage)
    flat = part.rows(pieces.flat)
    if spec.merge == "joint":
        with clock("scale"):
            flat = rescale(part.terms, flat, data.ndim)
    with clock("finish"):
        if spec.finish != "none":
            flat = als_sweeps(part.terms, flat, REFIT_SWEEPS)
        flat, coverage = part.whole(flat), pieces.coverage
        if spec.finish == "complete":
            flat, losses = complete(terms_of(data), flat, coverage)
            coverage = tuple(np.ones(len(factor), dtype=bool) for factor in flat)
        else:
            losses = part.losses(flat)
    factors = wrap(flat, data, coverage)
    return Merged(factors, _report(data, factors, dict(zip(part.names, losses, strict=True)), pieces, clock))


@dataclass(frozen=True, eq=False)
class Part:
    """The data on covered rows. Elsewhere the merged model is zero, so nothing more is needed to scale or refit it."""

    data: CoupledData
    kept: tuple[Array, ...]
    terms: list[Term]
    outside: tuple[float, ...]

    @classmethod
    def of(cls, data: CoupledData, coverage: Sequence[Array]) -> Part:
        """Select the covered rows; ``outside`` is the squared norm of each block beyond them."""
        kept = tuple(np.flatnonzero(mask) for mask in coverage)
        chosen = data if all(mask.all() for mask in coverage) else data.select(kept)
        beyond = (max(b.norm2 - c.norm2, 0.0) for b, c in zip(data.blocks, chosen.blocks, strict=True))
        return cls(data, kept, terms_of(chosen), tuple(beyond))

    @property
    def names(self) -> list[str]:
        """Names of the blocks."""
        return [block.name for block in self.data.blocks]

    def rows(self, flat: Sequence[Array]) -> list[Array]:
        """The covered rows of each factor."""
        return [np.ascontiguousarray(factor[index]) for factor, index in zip(flat, self.kept, strict=True)]

    def whole(self, flat: Sequence[Array]) -> list[Array]:
        """Put covered rows back in their places, zeros elsewhere."""
        full = [np.zeros((size, rows.shape[1]), rows.dtype) for size, rows in zip(self.data.sizes, flat, strict=True)]
        for factor, index, rows in zip(full, self.kept, flat, strict=True):
            factor[index] = rows
        return full

    def losses(self, flat: Sequence[Array]) -> list[float]:
        """Squared error of each block of the whole data, for a model that is zero outside the covered rows."""
        inside = block_losses(self.terms, self.rows(flat))
        return [loss + rest for loss, rest in zip(inside, self.outside, strict=True)]


def _report(data: CoupledData, factors: Factors, losses: dict[str, float], pieces: Pieces, clock: Clock) -> MergeReport:
    return MergeReport(
        cost=weigh(data, losses),
        block_losses=losses,
        block_fits={b.name: 1.0 - losses[b.name] / (b.norm2 or 1.0) for b in data.blocks},
        scores=pieces.scores,
        rejected=pieces.rejected,
        reference=pieces.reference,
        coverage=tuple(float(mask.mean()) for mask in factors.coverage),
        output_size=output_size(factors),
        consistent=pieces.consistent,
        seconds=clock.seconds,
    )


def merge_joint(fits: Sequence[Fit], samples: Sequence[Sample], data: CoupledData) -> Pieces:
    """One permutation a repetition for all factors, then signs factor by factor, then the mean of rows seen twice.

    Columns are scaled so that their common part has unit norm. The similarity of two components is the product
    over factors of abs(cosine) of their common parts; the assignment is Hungarian. The repetition that
    agrees best with all others is the reference; one that does not match it is left out.
    """
    parts = [_unit_common(fit.factors, sample) for fit, sample in zip(fits, samples, strict=True)]
    commons = [_common(part, sample) for part, sample in zip(parts, samples, strict=True)]
    scores = np.array([[factor_match_score(one, other) for other in commons] for one in commons])
    reference = _reference(scores, fits)
    rejected = _rejected(scores[reference], reference)
    totals = [np.zeros((size, fits[0].factors.rank)) for size in data.sizes]
    counts = [np.zeros(totals_of.shape) for totals_of in totals]
    for number in [n for n in range(len(fits)) if n not in rejected]:
        order, similarity = match(congruence(commons[reference], commons[number]))
        weight = np.ones_like(similarity) if number == reference else _certainty(similarity)
        for position, (part, index) in enumerate(zip(parts[number], samples[number].indices, strict=True)):
            sign = _signs(commons[reference][position], commons[number][position][:, order])
            totals[position][index] += weight * sign * part[:, order]
            counts[position][index] += weight
    means = [np.divide(t, c, out=np.zeros_like(t), where=c > 0) for t, c in zip(totals, counts, strict=True)]
    flat = [mean.astype(data.dtype) for mean in means]
    coverage = tuple(np.any(count > 0, axis=1) for count in counts)
    return Pieces(flat, coverage, tuple(float(s) for s in scores[reference]), rejected, reference, True)


def _certainty(similarity: Array) -> Array:
    """How much a matched component counts where several repetitions saw the same row; nothing if unmatched."""
    return np.where(similarity < UNMATCHED_BELOW, 0.0, similarity**2)


def _common(flat: Sequence[Array], sample: Sample) -> list[Array]:
    """The rows of each factor that all repetitions share."""
    return [factor[rows] for factor, rows in zip(flat, sample.common_rows, strict=True)]


def _unit_common(factors: Factors, sample: Sample) -> list[Array]:
    """Factors with the norm of each column's common part brought to 1; a column with none stays as it is."""
    return [
        scale_columns(factor, column_norms(factor[rows]))
        for factor, rows in zip(unwrap(factors), sample.common_rows, strict=True)
    ]


def _reference(scores: Array, fits: Sequence[Fit]) -> int:
    """The repetition that agrees best with the others; the better tensor fit decides between equals."""
    agreement = scores.mean(axis=1)
    best = agreement >= agreement.max() - 1e-9
    shares = [fit.report.block_fits["tensor"] for fit in fits]
    return int(max(np.flatnonzero(best), key=lambda n: shares[n]))


def _rejected(scores: Array, reference: int) -> tuple[int, ...]:
    """Repetitions whose match with the reference is far below what is typical."""
    others = np.delete(scores, reference)
    if others.size == 0:
        return ()
    bar = REJECT_BELOW * np.median(others) if others.size > 1 else 0.0
    return tuple(int(n) for n in np.flatnonzero(scores < bar) if n != reference)


def _signs(one: Array, other: Array) -> Array:
    return np.where(np.einsum("if,if->f", one, other) < 0, -1.0, 1.0)


def merge_paper(fits: Sequence[Fit], samples: Sequence[Sample], data: CoupledData) -> Pieces:
    """Algorithm 3 as printed, each factor matched apart by signed inner product, greedily, first come first served.

    The list of free columns is reset for each repetition, and each lambda follows its own factor's match.
    """
    flat, permutations = [], []
    for position, size in enumerate(data.sizes):
        pieces = [unwrap(fit.factors)[position] for fit in fits]
        rows = [sample.common_rows[position] for sample in samples]
        norms = [column_norms(piece[r]) for piece, r in zip(pieces, rows, strict=True)]
        full = []
        for piece, norm, sample in zip(pieces, norms, samples, strict=True):
            whole = np.zeros((size, piece.shape[1]))
            whole[sample.indices[position]] = scale_columns(piece, norm)
            full.append(whole)
        merged, orders = _merge_columns(full, samples[0].common[position])
        lambdas = np.mean([np.where(n > 0, n, 1.0)[order] for n, order in zip(norms, orders, strict=True)], axis=0)
        flat.append((merged * lambdas).astype(data.dtype))
        permutations.append(orders)
    coverage = tuple(_covered(samples, position, size) for position, size in enumerate(data.sizes))
    agree = all(np.array_equal(permutations[0], orders) for orders in permutations[1:])
    scores = _scores_with_first(fits, samples)
    return Pieces(flat, coverage, scores, (), 0, agree)


def _merge_columns(full: Sequence[Array], common: Array) -> tuple[Array, list[Array]]:
    """Merge one factor; return it and, for each repetition, which of its columns went to each merged column."""
    merged = full[0].copy()
    rank = merged.shape[1]
    orders = [np.arange(rank)]
    for piece in full[1:]:
        free, order = list(range(rank)), np.zeros(rank, dtype=int)
        for column in range(rank):
            similarity = merged[common][:, free].T @ piece[common, column]
            chosen = free.pop(int(np.argmax(similarity)))
            empty = merged[:, chosen] == 0
            merged[empty, chosen] = piece[empty, column]
            order[chosen] = column
        orders.append(order)
    return merged, orders


def _scores_with_first(fits: Sequence[Fit], samples: Sequence[Sample]) -> tuple[float, ...]:
    commons = [_common(fit.factors.flat, sample) for fit, sample in zip(fits, samples, strict=True)]
    return tuple(factor_match_score(commons[0], other) for other in commons)


def _covered(samples: Sequence[Sample], position: int, size: int) -> NDArray[np.bool_]:
    mask = np.zeros(size, dtype=bool)
    for sample in samples:
        mask[sample.indices[position]] = True
    return mask


def rescale(terms: Sequence[Term], flat: Sequence[Array], order: int) -> list[Array]:
    """Find the scale of each component by least squares on the data: lambda for the tensor, one vector a matrix.

    ``min_l |W * (X - sum_f l_f a_f o b_f o c_f)|^2`` is an F x F system; the lambda of the tensor goes to its
    modes and is taken back out of the sides, whose own scale is then solved for in the same way.

    >>> terms = terms_of(CoupledData(np.full((2, 2, 2), 8.0)))
    >>> [round(float(factor[0, 0]), 6) for factor in rescale(terms, [np.ones((2, 1))] * 3, 3)]
    [2.0, 2.0, 2.0]
    """
    grams, flat = grams_of(flat), list(flat)
    scales = [_best_scale(term, flat, grams) for term in terms]
    size = np.abs(scales[0]) ** (1.0 / order)
    sign = np.where(scales[0] < 0, -1.0, 1.0)
    modes = [factor * size * (sign if n == 0 else 1.0) for n, factor in enumerate(flat[:order])]
    sides = []
    for term, scale in zip(terms[1:], scales[1:], strict=True):
        owner, own = term.factors
        taken = size * (sign if owner == 0 else 1.0)
        sides.append(flat[own] * scale / np.where(taken == 0, 1.0, taken))
    return [np.ascontiguousarray(f, dtype=flat[0].dtype) for f in [*modes, *sides]]


def _best_scale(term: Term, flat: Sequence[Array], grams: Sequence[Array]) -> Array:
    """Solve ``(sum_i m_i m_i' * G_i) l = sum_i m_i * r_i`` for the scale of each component in one term."""
    position = min(term.factors, key=lambda k: len(flat[k]))
    factor = flat[position].astype(np.float64)
    rhs, gram = term.rhs(flat, position), term.gram(flat, grams, position)
    target = np.einsum("if,if->f", factor, rhs)
    if gram.ndim == 2:
        system = gram * (factor.T @ factor)
    else:
        system = np.einsum("if,ig,ifg->fg", factor, factor, gram, optimize=True)
    return pseudoinverse(np.asarray(system, dtype=np.float64)) @ target


def als_sweeps(terms: Sequence[Term], flat: Sequence[Array], sweeps: int) -> list[Array]:
    """Make a few ALS sweeps: on the terms of the covered rows this is the refit, which keeps the zeros.

    >>> terms = terms_of(CoupledData(np.full((2, 2, 2), 8.0)))
    >>> round(float(np.prod([factor[0, 0] for factor in als_sweeps(terms, [np.ones((2, 1))] * 3, 1)])), 6)
    8.0
    """
    flat, grams = list(flat), grams_of(flat)
    for _ in range(sweeps):
        flat, grams, _ = als.sweep(terms, flat, grams)
    return flat


def complete(
    terms: Sequence[Term], flat: Sequence[Array], coverage: Sequence[Array]
) -> tuple[list[Array], list[float]]:
    """Make one full ALS sweep, the factor with the most rows missing first; return factors and losses.

    >>> terms = terms_of(CoupledData(np.full((2, 2, 2), 8.0)))
    >>> seen = np.array([True, False])
    >>> complete(terms, [np.array([[1.0], [0.0]])] * 3, [seen] * 3)[1]
    [0.0]
    """
    positions = sorted(range(len(flat)), key=lambda n: float(coverage[n].mean()))
    new, _, losses = als.sweep(terms, flat, grams_of(flat), positions)
    return new, losses
