"""The joint merge: each repetition gets one permutation for all of its factors."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.coupled import CoupledData
from scoup.factors import column_norms, congruence, factor_match_score, match, scale_columns, unwrap
from scoup.merges._pieces import Pieces, common_rows, sampled_rows
from scoup.records import Factors, Fit, Sample

Array = NDArray[Any]
Judge = Callable[[tuple[int, ...]], float]

# A repetition whose match with the reference is below this share of the typical one found other components.
REJECT_BELOW = 0.5
# Two components this far apart on the common rows are unrelated: there is nothing to stitch.
UNMATCHED_BELOW = 1e-3
# Only the first so many may become the reference: to compare every two of a thousand takes longer than to fit them.
REFEREES = 16


@dataclass(frozen=True, eq=False)
class Sums:
    """Weighted sums of the matched columns of some repetitions, and of the weights, on rows that any of all holds."""

    reference: int
    kept: tuple[int, ...]
    totals: list[Array]
    counts: list[Array]


class Repetitions:
    """Repetitions whose columns have common parts of unit norm, and how well each matches each other."""

    def __init__(self, fits: Sequence[Fit], samples: Sequence[Sample]) -> None:
        self.samples, self.rows = samples, sampled_rows(samples)
        self.factors = [fit.factors for fit in fits]
        self.commons = [
            common_rows(self.part(number), sample) for number, sample in enumerate(samples)
        ]
        self.shares = [fit.report.block_fits["tensor"] for fit in fits]
        self.scores = self._scores()
        self._aligned: dict[tuple[int, int], tuple[Array, Array, list[Array]]] = {}
        self._seen: deque[Sums] = deque(maxlen=2)

    def part(self, number: int) -> list[Array]:
        """Factors of a repetition, columns scaled; made when asked for, as all together are as large as the fits."""
        return _unit_common(self.factors[number], self.samples[number])

    def _scores(self) -> Array:
        """Match of every repetition (columns) with each that may become the reference (rows)."""
        scores = np.ones((min(len(self.commons), REFEREES), len(self.commons)))
        for one in range(len(scores)):
            for other in range(one + 1, len(self.commons)):
                scores[one, other] = factor_match_score(self.commons[one], self.commons[other])
                if other < len(scores):
                    scores[other, one] = scores[one, other]
        return scores

    def sums(self, reference: int, kept: tuple[int, ...]) -> Sums:
        """Sum up repetitions matched with the reference, going on from a part of them where it was summed before."""
        known = [
            seen
            for seen in self._seen
            if seen.reference == reference and kept[: len(seen.kept)] == seen.kept
        ]
        start = max(known, key=lambda seen: len(seen.kept), default=None)
        totals = [total.copy() for total in start.totals] if start else self._zeros()
        counts = [count.copy() for count in start.counts] if start else self._zeros()
        for number in kept[len(start.kept) if start else 0 :]:
            order, weight, signs = self._alignment(reference, number)
            for position, (part, index) in enumerate(
                zip(self.part(number), self.samples[number].indices, strict=True)
            ):
                places = np.searchsorted(self.rows[position], index)
                totals[position][places] += weight * signs[position] * part[:, order]
                counts[position][places] += weight
        self._seen.append(Sums(reference, kept, totals, counts))
        return self._seen[-1]

    def _zeros(self) -> list[Array]:
        return [np.zeros((rows.size, self.factors[0].rank)) for rows in self.rows]

    def _alignment(self, reference: int, number: int) -> tuple[Array, Array, list[Array]]:
        """How the columns of a repetition go with the reference's: their order, their weights, signs of each factor."""
        if (reference, number) not in self._aligned:
            theirs, mine = self.commons[reference], self.commons[number]
            order, similarity = match(congruence(theirs, mine))
            weight = np.ones_like(similarity) if number == reference else _certainty(similarity)
            signs = [_signs(one, other[:, order]) for one, other in zip(theirs, mine, strict=True)]
            self._aligned[reference, number] = order, weight, signs
        return self._aligned[reference, number]


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
    reference = _reference(repetitions, chosen)
    scores = repetitions.scores[reference]
    kept = _matching(scores, chosen, reference)
    sums = repetitions.sums(reference, kept)
    flat = [
        np.divide(total, count, out=np.zeros_like(total), where=count > 0).astype(
            data.dtype, copy=False
        )
        for total, count in zip(sums.totals, sums.counts, strict=True)
    ]
    seen = tuple(np.any(count > 0, axis=1) for count in sums.counts)
    rejected = tuple(
        number for number in range(len(repetitions.commons)) if number not in set(kept)
    )
    return Pieces(repetitions.rows, flat, seen, tuple(scores.tolist()), rejected, reference, True)


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
    able = [number for number in chosen if number < len(repetitions.scores)]
    agreement = repetitions.scores[np.ix_(able, able)].mean(axis=1)
    best = [
        number
        for number, mean in zip(able, agreement, strict=True)
        if mean >= agreement.max() - 1e-9
    ]
    return max(best, key=lambda number: repetitions.shares[number])


def _matching(scores: Array, chosen: Sequence[int], reference: int) -> tuple[int, ...]:
    """Those whose match with the reference is not far below what is typical."""
    others = [scores[number] for number in chosen if number != reference]
    bar = REJECT_BELOW * float(np.median(others)) if len(others) > 1 else 0.0
    return tuple(number for number in chosen if number == reference or scores[number] >= bar)


def _signs(one: Array, other: Array) -> Array:
    return np.where(np.einsum("if,if->f", one, other) < 0, -1.0, 1.0)
