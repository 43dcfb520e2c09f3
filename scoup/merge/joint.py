"""The joint merge: each repetition gets one permutation for all of its factors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.coupled import CoupledData
from scoup.factors import column_norms, congruence, factor_match_score, match, scale_columns, unwrap
from scoup.merge.pieces import Pieces, common_rows
from scoup.records import Factors, Fit, Sample

Array = NDArray[Any]
Judge = Callable[[tuple[int, ...]], float]

# A repetition whose match with the reference is below this share of the typical one found other components.
REJECT_BELOW = 0.5
# Two components this far apart on the common rows are unrelated: there is nothing to stitch.
UNMATCHED_BELOW = 1e-3


@dataclass(frozen=True, eq=False)
class Repetitions:
    """Repetitions whose columns have common parts of unit norm, and how well each matches each other."""

    parts: list[list[Array]]
    commons: list[list[Array]]
    samples: Sequence[Sample]
    shares: list[float]
    scores: Array

    @classmethod
    def of(cls, fits: Sequence[Fit], samples: Sequence[Sample]) -> Repetitions:
        """Scale the factors of each fit, and compare the common parts of every two."""
        parts = [_unit_common(fit.factors, sample) for fit, sample in zip(fits, samples, strict=True)]
        commons = [common_rows(part, sample) for part, sample in zip(parts, samples, strict=True)]
        scores = np.eye(len(fits))
        for one, other in combinations(range(len(fits)), 2):
            scores[one, other] = scores[other, one] = factor_match_score(commons[one], commons[other])
        return cls(parts, commons, samples, [fit.report.block_fits["tensor"] for fit in fits], scores)


def admit(count: int, judge: Judge) -> tuple[int, ...]:
    """Let repetitions in one by one, in order, each if the cost that ``judge`` finds is no higher with it.

    Where those let in so far were the wrong ones, all that have come by may be better: they are tried too. What is
    admitted of the first r never hangs on those that come after, so the cost cannot rise with r.

    >>> costs = {(0,): 5.0, (0, 1): 6.0, (0, 2): 4.0, (0, 1, 2): 4.5}
    >>> admit(3, costs.__getitem__)
    (0, 2)
    """
    best: tuple[int, ...] = (0,)
    lowest = judge(best) if count > 1 else 0.0
    for number in range(1, count):
        for chosen in dict.fromkeys([(*best, number), tuple(range(number + 1))]):
            cost = judge(chosen)
            if cost <= lowest:
                best, lowest = chosen, cost
    return best


def merge_joint(repetitions: Repetitions, chosen: Sequence[int], data: CoupledData) -> Pieces:
    """One permutation a repetition for all factors, then signs factor by factor, then the mean of rows seen twice.

    Columns are scaled so that their common part has unit norm. The similarity of two components is the product
    over factors of abs(cosine) of their common parts; the assignment is Hungarian. The repetition that
    agrees best with all others is the reference; one that does not match it is left out.
    """
    parts, commons, samples = repetitions.parts, repetitions.commons, repetitions.samples
    reference = _reference(repetitions, chosen)
    scores = repetitions.scores[reference]
    kept = _matching(scores, chosen, reference)
    totals = [np.zeros((size, parts[0][0].shape[1])) for size in data.sizes]
    counts = [np.zeros(totals_of.shape) for totals_of in totals]
    for number in kept:
        order, similarity = match(congruence(commons[reference], commons[number]))
        weight = np.ones_like(similarity) if number == reference else _certainty(similarity)
        for position, (part, index) in enumerate(zip(parts[number], samples[number].indices, strict=True)):
            sign = _signs(commons[reference][position], commons[number][position][:, order])
            totals[position][index] += weight * sign * part[:, order]
            counts[position][index] += weight
    means = [np.divide(t, c, out=np.zeros_like(t), where=c > 0) for t, c in zip(totals, counts, strict=True)]
    flat = [mean.astype(data.dtype) for mean in means]
    coverage = tuple(np.any(count > 0, axis=1) for count in counts)
    rejected = tuple(number for number in range(len(parts)) if number not in kept)
    return Pieces(flat, coverage, tuple(scores.tolist()), rejected, reference, True)


def _certainty(similarity: Array) -> Array:
    """How much a matched component counts where several repetitions saw the same row; nothing if unmatched."""
    return np.where(similarity < UNMATCHED_BELOW, 0.0, similarity**2)


def _unit_common(factors: Factors, sample: Sample) -> list[Array]:
    """Factors with the norm of each column's common part brought to 1; a column with none stays as it is."""
    return [
        scale_columns(factor, column_norms(factor[rows]))
        for factor, rows in zip(unwrap(factors), sample.common_rows, strict=True)
    ]


def _reference(repetitions: Repetitions, chosen: Sequence[int]) -> int:
    """The repetition that agrees best with the others; the better tensor fit decides between equals."""
    agreement = repetitions.scores[np.ix_(chosen, chosen)].mean(axis=1)
    best = [number for number, mean in zip(chosen, agreement, strict=True) if mean >= agreement.max() - 1e-9]
    return max(best, key=lambda number: repetitions.shares[number])


def _matching(scores: Array, chosen: Sequence[int], reference: int) -> list[int]:
    """Those whose match with the reference is not far below what is typical."""
    others = [scores[number] for number in chosen if number != reference]
    bar = REJECT_BELOW * float(np.median(others)) if len(others) > 1 else 0.0
    return [number for number in chosen if number == reference or scores[number] >= bar]


def _signs(one: Array, other: Array) -> Array:
    return np.where(np.einsum("if,if->f", one, other) < 0, -1.0, 1.0)
