"""The joint merge: each repetition gets one permutation for all of its factors."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scoup.coupled import CoupledData
from scoup.factors import column_norms, match, scale_columns, unwrap
from scoup.finishes._covered import Covered
from scoup.listing import load
from scoup.merges import authors, paper
from scoup.merges._filling import fill
from scoup.merges._shared import (
    Matching,
    common_rows,
    has_mass,
    match_powers,
    match_score,
    sampled_rows,
    similarity,
)
from scoup.records import Array, Factors, Fit, Sample
from scoup.scale import rescale, scaled_cost
from scoup.specs import MergeSpec

LABEL = "joint merge"

Judge = Callable[[tuple[int, ...]], float]

# A repetition whose match with the reference is below this share of the median found other
# components.
MIN_SHARE_OF_MEDIAN_MATCH = 0.5
# Two components with less similar common rows than this are unrelated: there is nothing to merge.
MIN_SIMILARITY = 1e-3
# Only the first so many may become the reference: to compare every two of a thousand repetitions
# takes longer than to fit them.
MAX_REFEREES = 16
# The other merges, whose models are tried too: none is ever better than the joint merge.
RIVALS = (paper.assign, authors.assign)


def merge(
    fits: Sequence[Fit], samples: Sequence[Sample], data: CoupledData, spec: MergeSpec
) -> tuple[list[Array], Matching]:
    """Merge the repetitions that lower the cost, with one permutation per repetition.

    Columns are scaled so that their common part has unit norm. The similarity of two components is
    the product over factors of abs(cosine) of their common parts, each to the power of what its
    blocks explain; the assignment is Hungarian, then signs follow factor by factor, and rows that
    several repetitions hold are averaged. The repetition that agrees best with all others is the
    reference; one that does not match it is left out.

    Before ``none`` and ``refit`` the candidate of lowest cost is returned. It is no worse than any
    repetition, than any other merge, or than the result for fewer repetitions. A finish that sweeps
    sets every sampled row, also those of repetitions that were left out.
    """
    repetitions = Repetitions(fits, samples, data)
    judged = load("scoup.finishes", spec.finish).JUDGED
    if judged == "scaled":
        best = best_as_sampled(repetitions)
    elif judged == "finished":
        best = best_when_finished(repetitions, spec)
    else:
        best = repetitions.average(repetitions.full)
    rows = repetitions.rows
    if judged == "scaled":
        rows = sampled_rows([samples[number] for number in best.matched])
    return repetitions.select(best.flat, rows), repetitions.matching(best, rows)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model with one row for each row that any repetition holds; zeros where it has none.

    ``matched`` are the repetitions in it, ``unscaled`` says that its columns are at an arbitrary
    scale.
    """

    flat: list[Array]
    matched: tuple[int, ...]
    reference: int
    consistent: bool = True
    unscaled: bool = True


def best_as_sampled(repetitions: "Repetitions") -> Candidate:
    """Return the candidate of lowest cost once scaled, among sets of repetitions and rivals."""
    if len(repetitions.samples) == 1:
        return repetitions.average(repetitions.full)
    terms = Covered(repetitions.data, repetitions.rows).terms

    def judge(chosen: tuple[int, ...]) -> float:
        return scaled_cost(terms, repetitions.average(chosen).flat)

    chosen, lowest = admit(repetitions.full, judge)
    best = repetitions.average(chosen)
    for rivals in repetitions.rivals():
        for rival in rivals:
            cost = scaled_cost(terms, rival.flat)
            if cost < lowest:
                best, lowest = rival, cost
    return best


def admit(numbers: Sequence[int], judge: Judge) -> tuple[tuple[int, ...], float]:
    """Admit repetitions one by one, in order, each if ``judge`` finds no higher cost with it.

    Each repetition alone and all repetitions up to it are tried too, in case the wrong ones were
    admitted so far. What is admitted of the first r never depends on later ones, so the cost cannot
    rise with r. Return the repetitions and their cost.

    >>> costs = {(0,): 5.0, (1,): 7.0, (2,): 6.0, (0, 1): 6.0, (0, 2): 4.0, (0, 1, 2): 4.5}
    >>> admit(range(3), costs.__getitem__)
    ((0, 2), 4.0)
    """
    best, lowest = (numbers[0],), judge((numbers[0],))
    for position in range(1, len(numbers)):
        number, everything = numbers[position], tuple(numbers[: position + 1])
        for chosen in dict.fromkeys([(number,), (*best, number), everything]):
            cost = judge(chosen)
            if cost <= lowest:
                best, lowest = chosen, cost
    return best, lowest


@dataclass(frozen=True, eq=False)
class Finished:
    """A candidate, its factors after the finish on the rows sampled so far, and their cost."""

    start: Candidate
    flat: list[Array]
    cost: float


def best_when_finished(repetitions: "Repetitions", spec: MergeSpec) -> Candidate:
    """Return the start whose finish ends at the lowest cost.

    With each further repetition the best model so far (or the further one alone, if that is better)
    starts again on more rows, which cannot raise its cost, next to all repetitions and the rivals.
    """
    best = repetitions.finish(repetitions.average((0,)), [0], spec)
    rivals = repetitions.rivals()
    next(rivals)
    for number, others in enumerate(rivals, start=1):
        alone = repetitions.finish(repetitions.average((number,)), [number], spec)
        earlier = min(best, alone, key=lambda finished: finished.cost)
        full = [k for k in repetitions.full if k <= number] or [0]
        starts = [
            replace(earlier.start, flat=earlier.flat, unscaled=False),
            repetitions.average(full),
            *(replace(other, unscaled=False) for other in others),
        ]
        trials = (repetitions.finish(start, range(number + 1), spec) for start in starts)
        best = min(trials, key=lambda finished: finished.cost)
    return best.start


@dataclass(frozen=True, eq=False)
class Sums:
    """Weighted sums of matched columns over the ``matched`` repetitions, and sums of the weights.

    One row for each row that any repetition holds.
    """

    reference: int
    matched: tuple[int, ...]
    totals: list[Array]
    weights: list[Array]


class Repetitions:
    """Repetitions whose columns have common parts of unit norm, and how well each two match.

    ``full`` are those with mass.
    """

    def __init__(self, fits: Sequence[Fit], samples: Sequence[Sample], data: CoupledData) -> None:
        self.data, self.samples, self.rows = data, samples, sampled_rows(samples)
        fits = list(fits)  # they may be read from a file on each access
        self.factors = [fit.factors for fit in fits]
        self.full = [n for n, factors in enumerate(self.factors) if has_mass(factors)] or [0]
        self.powers = match_powers(fits, samples, data)
        self.commons = [
            common_rows(self.scaled(number), sample) for number, sample in enumerate(samples)
        ]
        self._scores: dict[tuple[int, int], float] = {}
        self._explained: dict[int, float] = {}
        self._alignments: dict[tuple[int, int], tuple[Array, Array, list[Array]]] = {}
        self._recent: deque[Sums] = deque(maxlen=2)

    def average(self, chosen: Sequence[int]) -> Candidate:
        """Average the columns of those of the chosen repetitions that match."""
        reference = _reference(self, chosen)
        matched = _matching(self, chosen, reference)
        sums = self._sums(reference, matched)
        flat = [
            np.divide(total, weight, out=np.zeros_like(total), where=weight > 0).astype(
                self.data.dtype, copy=False
            )
            for total, weight in zip(sums.totals, sums.weights, strict=True)
        ]
        return Candidate(flat, matched, reference)

    def rivals(self) -> Iterator[list[Candidate]]:
        """Yield the models of the other merges after 1, 2, ... repetitions."""
        merges = [fill(self.factors, self.samples, assign) for assign in RIVALS]
        for count, models in enumerate(zip(*merges, strict=True), start=1):
            matched = tuple(number for number in self.full if number < count) or (0,)
            yield [
                Candidate(model.flat(self.data.dtype), matched, matched[0], model.consistent)
                for model in models
            ]

    def finish(self, start: Candidate, numbers: Sequence[int], spec: MergeSpec) -> Finished:
        """Finish a candidate on the rows that the repetitions ``numbers`` hold."""
        rows = sampled_rows([self.samples[number] for number in numbers])
        covered, flat = Covered(self.data, rows), self.select(start.flat, rows)
        if start.unscaled:
            flat = rescale(covered.terms, flat, self.data.ndim)
        losses = load("scoup.finishes", spec.finish).finish(covered, flat, spec)
        cost = sum(w * loss for w, loss in zip(self.data.block_weights, losses, strict=True))
        whole = [np.zeros((len(index), flat[0].shape[1]), flat[0].dtype) for index in self.rows]
        for factor, position, part in zip(whole, self._positions(rows), flat, strict=True):
            factor[position] = part
        return Finished(start, whole, float(cost))

    def select(self, flat: Sequence[Array], rows: Sequence[Array]) -> list[Array]:
        """Return ``rows`` of a candidate."""
        positions = self._positions(rows)
        return [
            factor if len(factor) == len(position) else factor[position]
            for factor, position in zip(flat, positions, strict=True)
        ]

    def matching(self, best: Candidate, rows: tuple[Array, ...]) -> Matching:
        """Report which repetitions are in a candidate, and how well each matches its reference."""
        rejected = tuple(sorted(set(range(len(self.factors))) - set(best.matched)))
        scores = tuple(self.score(best.reference, number) for number in range(len(self.factors)))
        return Matching(rows, scores, rejected, best.reference, best.consistent, best.unscaled)

    def scaled(self, number: int) -> list[Array]:
        """Return scaled factors; made on demand, since all together are as large as the fits."""
        return _unit_common(self.factors[number], self.samples[number])

    def score(self, one: int, other: int) -> float:
        """Match of two repetitions, from 0 to 1."""
        pair = min(one, other), max(one, other)
        if pair not in self._scores:
            same = one == other
            commons = self.commons[one], self.commons[other]
            self._scores[pair] = 1.0 if same else match_score(*commons, self.powers)
        return self._scores[pair]

    def explained(self, number: int) -> float:
        """Squares of the whole data that a repetition explains, weighted."""
        if number not in self._explained:
            terms = Covered(self.data, self.samples[number].indices).terms
            norm2 = sum(term.weight * term.norm2 for term in terms)
            self._explained[number] = norm2 - scaled_cost(terms, self.scaled(number))
        return self._explained[number]

    def _positions(self, rows: Sequence[Array]) -> list[Array]:
        return [np.searchsorted(whole, index) for whole, index in zip(self.rows, rows, strict=True)]

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
            positions = self._positions(self.samples[number].indices)
            for n, (factor, position) in enumerate(zip(self.scaled(number), positions, strict=True)):
                totals[n][position] += certainty * signs[n] * factor[:, order]
                weights[n][position] += certainty
        self._recent.append(Sums(reference, matched, totals, weights))
        return self._recent[-1]

    def _zeros(self) -> list[Array]:
        return [np.zeros((rows.size, self.factors[0].rank)) for rows in self.rows]

    def _alignment(self, reference: int, number: int) -> tuple[Array, Array, list[Array]]:
        """Return how columns align with the reference's: order, certainty, signs per factor."""
        if (reference, number) not in self._alignments:
            targets, columns = self.commons[reference], self.commons[number]
            order, similar = match(similarity(targets, columns, self.powers))
            same = number == reference
            certainty = np.ones_like(similar) if same else _certainty(similar)
            order = np.arange(len(order)) if same else order
            signs = [_signs(t, c[:, order]) for t, c in zip(targets, columns, strict=True)]
            self._alignments[reference, number] = order, certainty, signs
        return self._alignments[reference, number]


def _certainty(similar: Array) -> Array:
    """Weight of a matched component where several repetitions hold the same row; 0 if unmatched."""
    return np.where(similar < MIN_SIMILARITY, 0.0, similar**2)


def _unit_common(factors: Factors, sample: Sample) -> list[Array]:
    """Scale each column so that its common part has norm 1; a column without one stays."""
    return [
        scale_columns(factor, column_norms(factor[rows]))
        for factor, rows in zip(unwrap(factors), sample.common_rows, strict=True)
    ]


def _reference(repetitions: Repetitions, chosen: Sequence[int]) -> int:
    """The repetition that agrees best with the others; what it explains decides ties."""
    referees = list(chosen[:MAX_REFEREES])
    if len(referees) == 1:
        return referees[0]
    agreement = {n: np.mean([repetitions.score(n, other) for other in referees]) for n in referees}
    bar = max(agreement.values()) - 1e-9
    ties = [number for number in referees if agreement[number] >= bar]
    return max(ties, key=repetitions.explained) if len(ties) > 1 else ties[0]


def _matching(
    repetitions: Repetitions, chosen: Sequence[int], reference: int
) -> tuple[int, ...]:
    """Those whose match with the reference is not far below the typical one."""
    scores = {number: repetitions.score(reference, number) for number in chosen}
    others = [score for number, score in scores.items() if number != reference]
    bar = MIN_SHARE_OF_MEDIAN_MATCH * float(np.median(others)) if len(others) > 1 else 0.0
    return tuple(n for n, score in scores.items() if n == reference or score >= bar)


def _signs(left: Array, right: Array) -> Array:
    return np.where(np.einsum("if,if->f", left, right) < 0, -1.0, 1.0)
