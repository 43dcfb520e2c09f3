"""The repetitions of a joint merge: how well each two match, and averages of those that do."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, tee
from math import prod

import numpy as np

from scoup.constraints import UNCONSTRAINED, Constraints
from scoup.coupled import CoupledData
from scoup.factors import column_norms, scale_columns, unwrap
from scoup.finishes._covered import Covered
from scoup.kernels.aligned import Alignment, add_aligned
from scoup.machine import MIN_PARALLEL_STEPS, Item, Outcome, share_out
from scoup.match import directions, match
from scoup.merges import authors, paper
from scoup.merges._filling import fill, pieces_of
from scoup.merges._shared import (
    Matching,
    common_rows,
    energies,
    has_mass,
    match_powers,
    match_score,
    sampled_rows,
    similarity,
)
from scoup.records import Array, Fit, FitReport, Sample
from scoup.scale import scaled_cost

# A repetition whose match with the reference is below this share of the median found other
# components.
MIN_SHARE_OF_MEDIAN_MATCH = 0.5
# Two components with less similar common rows than this are unrelated: there is nothing to merge.
MIN_SIMILARITY = 1e-3
# A column with a smaller share of its norm in the common rows has no common part: those are
# rounding errors.
MIN_COMMON_SHARE = 1e-6
# Only the first so many may become the reference: to compare every two of a thousand repetitions
# takes longer than to fit them.
MAX_REFEREES = 16
# Candidates up to this share of the size of the data together are judged in one pass over it: each
# takes four to six times its size while it is made and judged.
MAX_CANDIDATES_SHARE = 1 / 8
# Candidates from this size on are made on several threads.
MIN_SHARED_BYTES = 1 << 20
# Up to this fit of a block the squares that it explains follow from its loss, to ten digits.
MAX_REPORTED_FIT = 1.0 - 1e-6
# The other merges, whose models are tried too: none is ever better than the joint merge.
RIVALS = (paper.assign, authors.assign)


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

    def __init__(
        self,
        fits: Sequence[Fit],
        samples: Sequence[Sample],
        data: CoupledData,
        constraints: Constraints = UNCONSTRAINED,
    ) -> None:
        self.data, self.samples, self.rows = data, samples, sampled_rows(samples)
        self.constraints = constraints
        fits = list(fits)  # they may be read from a file on each access
        self.factors, self._reports = [fit.factors for fit in fits], [fit.report for fit in fits]
        self.full = [n for n, factors in enumerate(self.factors) if has_mass(factors)] or [0]
        self.energies = [energies(*pair, data) for pair in zip(fits, samples, strict=True)]
        row_bytes = self.factors[0].rank * data.dtype.itemsize
        self._candidate_bytes = candidate_bytes = sum(rows.size for rows in self.rows) * row_bytes
        # 0 if a single one is large.
        self._candidates_at_once = int(MAX_CANDIDATES_SHARE * data.nbytes / max(candidate_bytes, 1))
        stored, rows = data.nbytes // data.dtype.itemsize, self.rows[: data.ndim]
        cells = min(prod(index.size for index in rows), stored)
        self._is_light = cells * self.factors[0].rank < MIN_PARALLEL_STEPS
        self._kept_rows: dict[int, list[Array]] = {}
        numbers = range(len(samples))
        self._norms = self.each_candidate(
            lambda n: _common_norms(unwrap(self.factors[n]), samples[n]), numbers
        )
        self.commons = self.each_candidate(
            lambda n: _common_directions(self.scaled(n), samples[n]), numbers
        )
        self._scores: dict[tuple[int, int], float] = {}
        self._alignments: dict[tuple[int, int], tuple[Array, Array, list[Array]]] = {}
        self._explained: dict[int, float] = {}
        # Replaced as a whole, since threads read it while others add to it.
        self._recent: tuple[Sums, ...] = ()

    def each(self, work: Callable[[Item], Outcome], items: Iterable[Item]) -> list[Outcome]:
        """Return ``work`` of every item: several at a time, unless that takes too much memory.

        What reads from disk is done in turn, too: a pass over shards is one at a time. And so is
        light work, which is mostly Python: threads would wait for one another.
        """
        if self._is_light or self.data.blocks[0].is_streamed or self._candidates_at_once < 1:
            return [work(item) for item in items]
        return share_out(work, items)

    def each_candidate(
        self, work: Callable[[Item], Outcome], items: Iterable[Item]
    ) -> list[Outcome]:
        """Do the same with work on the rows of candidates alone: with few of them it is light."""
        if self._candidate_bytes < MIN_SHARED_BYTES:
            return [work(item) for item in items]
        return self.each(work, items)

    def groups(self, items: Iterable[Item]) -> Iterator[list[Item]]:
        """Yield items in groups: as many as may be in memory at a time, at least one."""
        rest, size = iter(items), max(self._candidates_at_once, 1)
        # No name holds the last group while the next one is made.
        yield from iter(lambda: list(islice(rest, size)), [])

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
        return Candidate(unit_columns(flat), matched, reference)

    def alone(self, number: int) -> Candidate:
        """Return one repetition as it was fitted."""
        flat = self.expand(unwrap(self.factors[number]), self.samples[number].indices)
        return Candidate(flat, (number,), number, unscaled=False)

    def rivals(self) -> Iterator[list[Candidate]]:
        """Yield the models of the other merges after 1, 2, ... repetitions."""
        # Rivals go on together, so that a piece is made once and is in memory until both have it.
        pieces = tee(pieces_of(self.factors, self.samples, self.rows), len(RIVALS))
        rank = self.factors[0].rank
        merges = [
            fill(own, self.rows, rank, assign) for own, assign in zip(pieces, RIVALS, strict=True)
        ]
        for count, models in enumerate(zip(*merges, strict=True), start=1):
            matched = tuple(number for number in self.full if number < count) or (0,)
            yield [
                Candidate(model.flat(self.data.dtype), matched, matched[0], model.consistent)
                for model in models[: 1 if count == 1 else None]  # one repetition has one merge
            ]

    def expand(self, flat: Sequence[Array], rows: Sequence[Array]) -> list[Array]:
        """Put ``rows`` into factors with one row for each row that any repetition holds."""
        whole = [np.zeros((len(index), flat[0].shape[1]), flat[0].dtype) for index in self.rows]
        for factor, position, part in zip(whole, self._positions(rows), flat, strict=True):
            factor[position] = part
        return whole

    def select(self, flat: Sequence[Array], rows: Sequence[Array]) -> list[Array]:
        """Return ``rows`` of a candidate."""
        positions = self._positions(rows)
        return [
            factor if len(factor) == len(position) else factor[position]
            for factor, position in zip(flat, positions, strict=True)
        ]

    def matching(
        self, best: Candidate, rows: tuple[Array, ...], count: int | None = None
    ) -> Matching:
        """Report which of the first ``count`` repetitions a candidate holds, and their match."""
        numbers = range(len(self.factors) if count is None else count)
        rejected = tuple(sorted(set(numbers) - set(best.matched)))
        scores = tuple(self.score(best.reference, number) for number in numbers)
        return Matching(rows, scores, rejected, best.reference, best.consistent, best.unscaled)

    def scaled(self, number: int) -> list[Array]:
        """Return the factors of a repetition at norm 1 in the common rows."""
        pairs = zip(unwrap(self.factors[number]), self._norms[number], strict=True)
        return [scale_columns(factor, norms) for factor, norms in pairs]

    def score(self, one: int, other: int) -> float:
        """Match of two repetitions, from 0 to 1."""
        pair = min(one, other), max(one, other)
        if pair not in self._scores:
            same, powers = one == other, match_powers(self.energies[one], self.energies[other])
            commons = self.commons[one], self.commons[other]
            self._scores[pair] = 1.0 if same else match_score(*commons, powers)
        return self._scores[pair]

    def explained(self, number: int) -> float:
        """Squares of the whole data that a repetition explains, weighted: those of its sample."""
        if number not in self._explained:
            reported = _reported_squares(self._reports[number], self.data)
            self._explained[number] = self._squares(number) if reported is None else reported
        return self._explained[number]

    def _squares(self, number: int) -> float:
        terms = Covered(self.data, self.samples[number].indices).terms
        norm2 = sum(term.weight * term.norm2 for term in terms)
        return norm2 - scaled_cost(terms, unit_columns(self.scaled(number)), self.constraints)

    def _rows_of(self, number: int) -> list[Array]:
        """Return where the rows of a repetition are among those of any; kept, as they are small."""
        if number not in self._kept_rows:
            self._kept_rows[number] = self._positions(self.samples[number].indices)
        return self._kept_rows[number]

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
            parts = zip(unwrap(self.factors[number]), self._norms[number], signs, strict=True)
            sums = zip(totals, weights, strict=True)
            for part, rows, pair in zip(parts, self._rows_of(number), sums, strict=True):
                factor, norms, sign = part
                alignment = Alignment(order, norms, sign, certainty)
                add_aligned(factor, alignment, rows, pair)
        result = Sums(reference, matched, totals, weights)
        if len(matched) > 1:  # one repetition is summed up as fast as a copy is made
            self._recent = (*self._recent[-1:], result)
        return result

    def forget_sums(self) -> None:
        """Release the sums that further averages could continue from."""
        self._recent = ()

    def _zeros(self) -> list[Array]:
        return [np.zeros((rows.size, self.factors[0].rank)) for rows in self.rows]

    def _alignment(self, reference: int, number: int) -> tuple[Array, Array, list[Array]]:
        """Return how columns align with the reference's: order, certainty, signs per factor."""
        if (reference, number) not in self._alignments:
            targets, columns = self.commons[reference], self.commons[number]
            powers = match_powers(self.energies[reference], self.energies[number])
            order, similar = match(similarity(targets, columns, powers))
            same = number == reference
            certainty = np.ones_like(similar) if same else _certainty(similar)
            order = np.arange(len(order)) if same else order
            signs = [_signs(t, c[:, order]) for t, c in zip(targets, columns, strict=True)]
            self._alignments[reference, number] = order, certainty, signs
        return self._alignments[reference, number]


def _reported_squares(report: FitReport, data: CoupledData) -> float | None:
    """Return the squares of a sample that its fit explains; None if a block is fitted too closely.

    That saves a read of the sample. A loss close to zero does not tell what was explained.
    """
    names = [block.name for block in data.blocks]
    shares, losses = (
        [values[name] for name in names] for values in (report.block_fits, report.block_losses)
    )
    if max(shares) > MAX_REPORTED_FIT:
        return None
    parts = zip(data.block_weights, losses, shares, strict=True)
    return sum(weight * loss * share / (1.0 - share) for weight, loss, share in parts)


def _certainty(similar: Array) -> Array:
    """Weight of a matched component where several repetitions hold the same row; 0 if unmatched."""
    return np.where(similar < MIN_SIMILARITY, 0.0, similar**2)


def _common_norms(flat: Sequence[Array], sample: Sample) -> list[Array]:
    """Return the norm of the common part of each column, or of all of it if it has none."""
    norms = []
    for factor, rows in zip(flat, sample.common_rows, strict=True):
        common, whole = column_norms(factor[rows]), column_norms(factor)
        norms.append(np.where(_is_common(common, whole), common, whole))
    return norms


def _common_directions(scaled: Sequence[Array], sample: Sample) -> list[Array]:
    """Return the common rows at norm 1; a column that has none becomes zero and matches nothing."""
    parts = common_rows(scaled, sample)
    return [
        directions(np.where(_is_common(column_norms(part), column_norms(factor)), part, 0))
        for part, factor in zip(parts, scaled, strict=True)
    ]


def _is_common(common: Array, whole: Array) -> Array:
    return common > MIN_COMMON_SHARE * whole


def unit_columns(flat: Sequence[Array]) -> list[Array]:
    """Scale all columns to norm 1: the scale of each component is then well conditioned."""
    return [scale_columns(factor, column_norms(factor)) for factor in flat]


def _reference(repetitions: Repetitions, chosen: Sequence[int]) -> int:
    """The repetition that agrees best with the others; what it explains decides ties."""
    referees = list(chosen[:MAX_REFEREES])
    if len(referees) == 1:
        return referees[0]
    agreement = {n: np.mean([repetitions.score(n, other) for other in referees]) for n in referees}
    bar = max(agreement.values()) - 1e-9
    ties = [number for number in referees if agreement[number] >= bar]
    if len(ties) == 1:
        return ties[0]
    explained = dict(zip(ties, repetitions.each(repetitions.explained, ties), strict=True))
    return max(ties, key=explained.__getitem__)


def _matching(repetitions: Repetitions, chosen: Sequence[int], reference: int) -> tuple[int, ...]:
    """Those whose match with the reference is not far below the typical one."""
    scores = {number: repetitions.score(reference, number) for number in chosen}
    others = [score for number, score in scores.items() if number != reference]
    bar = MIN_SHARE_OF_MEDIAN_MATCH * float(np.median(others)) if len(others) > 1 else 0.0
    return tuple(n for n, score in scores.items() if n == reference or score >= bar)


def _signs(left: Array, right: Array) -> Array:
    return np.where(np.einsum("if,if->f", left, right) < 0, -1.0, 1.0)
