"""The joint merge: each repetition gets one permutation for all of its factors."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from scoup.coupled import CoupledData
from scoup.factors import column_norms, congruence, factor_match_score, match, scale_columns, unwrap
from scoup.finishes._covered import Covered
from scoup.merges._shared import Matching, common_rows, sampled_rows
from scoup.records import Array, Factors, Fit, Sample
from scoup.scale import rescale, scaled_cost

LABEL = "joint merge"
NEEDS_SCALE = True

Judge = Callable[[tuple[int, ...]], float]

# A repetition whose match with the reference is below this share of the median found other
# components.
MIN_SHARE_OF_MEDIAN_MATCH = 0.5
# Two components with less similar common rows than this are unrelated: there is nothing to merge.
MIN_SIMILARITY = 1e-3
# Only the first so many may become the reference: to compare every two of a thousand repetitions
# takes longer than to fit them.
MAX_REFEREES = 16


def merge(
    fits: Sequence[Fit], samples: Sequence[Sample], data: CoupledData, finish: ModuleType
) -> tuple[list[Array], Matching]:
    """Merge the repetitions that lower the cost, with one permutation per repetition.

    Columns are scaled so that their common part has unit norm. The similarity of two components is
    the product over factors of abs(cosine) of their common parts; the assignment is Hungarian, then
    signs follow factor by factor, and rows that several repetitions hold are averaged. The
    repetition that agrees best with all others is the reference; one that does not match it is left
    out. Before a finish that sets every row anew all repetitions that match are merged.
    """
    repetitions = Repetitions(fits, samples, data.dtype)
    chosen: Sequence[int] = range(len(fits))
    if finish.JUDGED and len(fits) > 1:
        judge = _scaled_judge if finish.JUDGED == "scaled" else _finished_judge
        chosen = admit(len(fits), judge(repetitions, data, finish))
    return repetitions.merge(chosen)


def admit(count: int, judge: Judge) -> tuple[int, ...]:
    """Admit repetitions one by one, in order, each if ``judge`` finds no higher cost with it.

    All repetitions up to this one are tried too, in case the wrong ones were admitted so far. What
    is admitted of the first r never depends on later ones, so the cost cannot rise with r.

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


def _scaled_judge(repetitions: "Repetitions", data: CoupledData, finish: ModuleType) -> Judge:
    """The cost of chosen repetitions once scaled, on one part of the data that covers them all."""
    del finish
    covered = Covered(data, repetitions.rows)
    return lambda chosen: scaled_cost(covered.terms, repetitions.average(chosen).flat)


def _finished_judge(repetitions: "Repetitions", data: CoupledData, finish: ModuleType) -> Judge:
    """The cost of chosen repetitions after the finish."""

    def judge(chosen: tuple[int, ...]) -> float:
        flat, matching = repetitions.merge(chosen)
        covered = Covered(data, matching.rows)
        flat[:] = rescale(covered.terms, flat, data.ndim)
        losses = finish.finish(covered, flat)
        return float(sum(w * loss for w, loss in zip(data.block_weights, losses, strict=True)))

    return judge


@dataclass(frozen=True, eq=False)
class Sums:
    """Weighted sums of matched columns over the ``matched`` repetitions, and sums of the weights.

    One row for each row that any repetition holds.
    """

    reference: int
    matched: tuple[int, ...]
    totals: list[Array]
    weights: list[Array]


@dataclass(frozen=True, eq=False)
class Average:
    """Averaged columns on the rows that any repetition holds, and which of these are filled."""

    flat: list[Array]
    filled: list[Array]
    matched: tuple[int, ...]
    reference: int


class Repetitions:
    """Repetitions whose columns have common parts of unit norm, and how well each two match."""

    def __init__(self, fits: Sequence[Fit], samples: Sequence[Sample], dtype: np.dtype) -> None:
        self.samples, self.rows, self.dtype = samples, sampled_rows(samples), dtype
        self.factors = [fit.factors for fit in fits]
        self.commons = [
            common_rows(self.scaled(number), sample) for number, sample in enumerate(samples)
        ]
        self.tensor_fits = [fit.report.block_fits["tensor"] for fit in fits]
        self.scores = self._scores()
        self._alignments: dict[tuple[int, int], tuple[Array, Array, list[Array]]] = {}
        self._recent: deque[Sums] = deque(maxlen=2)

    def merge(self, chosen: Sequence[int]) -> tuple[list[Array], Matching]:
        """Merge the chosen repetitions that match; rows that none of them holds are left out."""
        average = self.average(chosen)
        rows, flat = self.rows, average.flat
        if not all(filled.all() for filled in average.filled):
            rows = tuple(index[f] for index, f in zip(rows, average.filled, strict=True))
            flat = [factor[f] for factor, f in zip(flat, average.filled, strict=True)]
        rejected = tuple(sorted(set(range(len(self.factors))) - set(average.matched)))
        scores = tuple(self.scores[average.reference].tolist())
        return flat, Matching(rows, scores, rejected, average.reference, consistent=True)

    def average(self, chosen: Sequence[int]) -> Average:
        """Average the matched columns of the chosen repetitions."""
        reference = _reference(self, chosen)
        matched = _matching(self.scores[reference], chosen, reference)
        sums = self._sums(reference, matched)
        flat = [
            np.divide(total, weight, out=np.zeros_like(total), where=weight > 0).astype(
                self.dtype, copy=False
            )
            for total, weight in zip(sums.totals, sums.weights, strict=True)
        ]
        filled = [np.any(weight > 0, axis=1) for weight in sums.weights]
        return Average(flat, filled, matched, reference)

    def scaled(self, number: int) -> list[Array]:
        """Return scaled factors; made on demand, since all together are as large as the fits."""
        return _unit_common(self.factors[number], self.samples[number])

    def _scores(self) -> Array:
        """Match of every repetition (columns) with each that may become the reference (rows)."""
        scores = np.ones((min(len(self.commons), MAX_REFEREES), len(self.commons)))
        for row in range(len(scores)):
            for column in range(row + 1, len(self.commons)):
                scores[row, column] = factor_match_score(self.commons[row], self.commons[column])
                if column < len(scores):
                    scores[column, row] = scores[row, column]
        return scores

    def _sums(self, reference: int, matched: tuple[int, ...]) -> Sums:
        """Sum up repetitions aligned with the reference, continuing from a recent sum."""
        recent = [
            sums
            for sums in self._recent
            if sums.reference == reference and matched[: len(sums.matched)] == sums.matched
        ]
        start = max(recent, key=lambda sums: len(sums.matched), default=None)
        totals = [total.copy() for total in start.totals] if start else self._zeros()
        weights = [weight.copy() for weight in start.weights] if start else self._zeros()
        for number in matched[len(start.matched) if start else 0 :]:
            order, certainty, signs = self._alignment(reference, number)
            indices = self.samples[number].indices
            for n, (factor, index) in enumerate(zip(self.scaled(number), indices, strict=True)):
                positions = np.searchsorted(self.rows[n], index)
                totals[n][positions] += certainty * signs[n] * factor[:, order]
                weights[n][positions] += certainty
        self._recent.append(Sums(reference, matched, totals, weights))
        return self._recent[-1]

    def _zeros(self) -> list[Array]:
        return [np.zeros((rows.size, self.factors[0].rank)) for rows in self.rows]

    def _alignment(self, reference: int, number: int) -> tuple[Array, Array, list[Array]]:
        """Return how columns align with the reference's: order, certainty, signs per factor."""
        if (reference, number) not in self._alignments:
            targets, columns = self.commons[reference], self.commons[number]
            order, similarity = match(congruence(targets, columns))
            same = number == reference
            certainty = np.ones_like(similarity) if same else _certainty(similarity)
            signs = [_signs(t, c[:, order]) for t, c in zip(targets, columns, strict=True)]
            self._alignments[reference, number] = order, certainty, signs
        return self._alignments[reference, number]


def _certainty(similarity: Array) -> Array:
    """Weight of a matched component where several repetitions hold the same row; 0 if unmatched."""
    return np.where(similarity < MIN_SIMILARITY, 0.0, similarity**2)


def _unit_common(factors: Factors, sample: Sample) -> list[Array]:
    """Scale each column so that its common part has norm 1; a column without one stays."""
    return [
        scale_columns(factor, column_norms(factor[rows]))
        for factor, rows in zip(unwrap(factors), sample.common_rows, strict=True)
    ]


def _reference(repetitions: Repetitions, chosen: Sequence[int]) -> int:
    """The repetition that agrees best with the others; the better tensor fit decides ties."""
    referees = [number for number in chosen if number < len(repetitions.scores)]
    agreement = repetitions.scores[np.ix_(referees, referees)].mean(axis=1)
    close = agreement >= agreement.max() - 1e-9
    best = [number for number, is_close in zip(referees, close, strict=True) if is_close]
    return max(best, key=lambda number: repetitions.tensor_fits[number])


def _matching(scores: Array, chosen: Sequence[int], reference: int) -> tuple[int, ...]:
    """Those whose match with the reference is not far below the typical one."""
    others = [scores[number] for number in chosen if number != reference]
    bar = MIN_SHARE_OF_MEDIAN_MATCH * float(np.median(others)) if len(others) > 1 else 0.0
    return tuple(number for number in chosen if number == reference or scores[number] >= bar)


def _signs(left: Array, right: Array) -> Array:
    return np.where(np.einsum("if,if->f", left, right) < 0, -1.0, 1.0)
