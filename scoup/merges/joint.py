"""The joint merge: each repetition gets one permutation for all of its factors."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from math import inf
from operator import itemgetter

from scoup.constraints import Constraints
from scoup.coupled import CoupledData
from scoup.finishes._covered import Covered
from scoup.listing import load
from scoup.merges._repetitions import Candidate, Repetitions, unit_columns
from scoup.merges._shared import Matching, sampled_rows
from scoup.records import Array, Fit, Sample
from scoup.scale import rescale, scaled_costs
from scoup.specs import MergeSpec
from scoup.terms import weighted

LABEL = "joint merge"

# Returns the cost of each of several sets of repetitions.
Judge = Callable[[Iterable[tuple[int, ...]]], Iterable[float]]


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
    sets every sampled row, also those of repetitions that were left out. A single repetition is
    returned as it is.
    """
    constraints = Constraints.of(spec.constraints, data)
    repetitions = Repetitions(fits, samples, data, constraints)
    judged = load("scoup.finishes", spec.finish).JUDGED
    covered = None
    if len(fits) == 1:
        best = repetitions.alone(0)
    elif judged == "scaled":
        covered = Covered(data, repetitions.rows, constraints)
        best = best_as_sampled(repetitions, covered)
    elif judged == "finished":
        *_, best = best_when_finished(repetitions, spec)
    else:
        best = repetitions.average(repetitions.full)
    rows = repetitions.rows
    if judged == "scaled" and len(best.matched) < len(samples):
        rows, covered = sampled_rows([samples[number] for number in best.matched]), None
    matching = replace(repetitions.matching(best, rows), covered=covered)
    return repetitions.select(best.flat, rows), matching


def merge_each(
    fits: Sequence[Fit], samples: Sequence[Sample], data: CoupledData, spec: MergeSpec
) -> Iterator[tuple[list[Array], Matching]]:
    """Yield :func:`merge` of the first 1, 2, ... repetitions.

    What the finish judges for r repetitions starts from the best of r - 1, which is found once.
    """
    if load("scoup.finishes", spec.finish).JUDGED != "finished":
        for count in range(1, len(fits) + 1):
            yield merge(fits[:count], samples[:count], data, spec)
        return
    repetitions = Repetitions(fits, samples, data, Constraints.of(spec.constraints, data))
    for count, best in enumerate(best_when_finished(repetitions, spec), start=1):
        rows = sampled_rows(samples[:count])
        yield repetitions.select(best.flat, rows), repetitions.matching(best, rows, count)


def best_as_sampled(repetitions: Repetitions, covered: Covered) -> Candidate:
    """Return the candidate of lowest cost once scaled, among sets of repetitions and rivals.

    ``covered`` are all rows that any repetition holds.
    """
    terms, constraints = covered.terms, repetitions.constraints

    def judge(choices: Iterable[tuple[int, ...]]) -> Iterator[float]:
        for group in repetitions.groups(choices):
            models = [
                model.flat for model in repetitions.each_candidate(repetitions.average, group)
            ]
            yield from scaled_costs(terms, models, constraints)

    def challenge(rivals: list[Candidate]) -> tuple[float, Candidate | None]:
        """Return the best rival only if it wins: others are in memory no longer than judged."""
        rivals = [replace(rival, flat=unit_columns(rival.flat)) for rival in rivals]
        costs = scaled_costs(terms, [rival.flat for rival in rivals], constraints)
        cost, rival = min(zip(costs, rivals, strict=True), key=itemgetter(0))
        return (cost, rival) if cost < lowest else (inf, None)

    chosen, lowest = admit(repetitions.full, judge)
    repetitions.forget_sums()
    rivals = chain.from_iterable(repetitions.rivals())
    _, winner = min(map(challenge, repetitions.groups(rivals)), key=itemgetter(0))
    return winner or repetitions.average(chosen)


def admit(numbers: Sequence[int], judge: Judge) -> tuple[tuple[int, ...], float]:
    """Admit repetitions one by one, in order, each if ``judge`` finds no higher cost with it.

    Each repetition alone and all repetitions up to it are tried too, in case the wrong ones were
    admitted so far. What is admitted of the first r never depends on later ones, so the cost cannot
    rise with r. Return the repetitions and their cost.

    >>> costs = {(0,): 5.0, (1,): 7.0, (2,): 6.0, (0, 1): 6.0, (0, 2): 4.0, (0, 1, 2): 4.5}
    >>> admit(range(3), lambda choices: map(costs.get, choices))
    ((0, 2), 4.0)
    """
    ends = range(len(numbers))
    fixed = dict.fromkeys([*((n,) for n in numbers), *(tuple(numbers[: k + 1]) for k in ends)])
    costs = dict(zip(fixed, judge(fixed), strict=True))
    best: tuple[int, ...] = (numbers[0],)
    for position in range(1, len(numbers)):
        number, everything = numbers[position], tuple(numbers[: position + 1])
        for chosen in dict.fromkeys([(number,), (*best, number), everything]):
            if chosen not in costs:
                [costs[chosen]] = judge([chosen])
            if costs[chosen] <= costs[best]:
                best = chosen
    return best, costs[best]


@dataclass(frozen=True, eq=False)
class Finished:
    """A candidate, its factors after the finish on the rows sampled so far, and their cost."""

    start: Candidate
    flat: list[Array]
    cost: float


def best_when_finished(repetitions: Repetitions, spec: MergeSpec) -> Iterator[Candidate]:
    """Yield the start whose finish ends at the lowest cost, after 1, 2, ... repetitions.

    With each further repetition the best model so far (or the further one alone, if that is better)
    starts again on more rows, which cannot raise its cost, next to all repetitions and the rivals.
    """
    first_two = range(min(2, len(repetitions.samples)))
    firsts = repetitions.each(lambda n: _finish_alone(repetitions, n, spec), first_two)
    best, alone, rivals = firsts[0], firsts[-1], repetitions.rivals()
    next(rivals)
    yield best.start
    for number, others in enumerate(rivals, start=1):
        earlier = min(best, alone, key=lambda finished: finished.cost)
        full = [k for k in repetitions.full if k <= number] or [0]
        starts: list[Callable[[], Candidate]] = [
            partial(replace, earlier.start, flat=earlier.flat, unscaled=False),
            partial(repetitions.average, full),
            *(partial(replace, other, unscaled=False) for other in others),
        ]
        covered = covered_by(repetitions, range(number + 1))
        trials = [partial(_finish_start, repetitions, start, covered, spec) for start in starts]
        if number + 1 < len(repetitions.samples):
            trials.append(partial(_finish_alone, repetitions, number + 1, spec))
        results = repetitions.each(lambda trial: trial(), trials)
        best, alone = min(results[: len(starts)], key=lambda finished: finished.cost), results[-1]
        yield best.start


def _finish_start(
    repetitions: Repetitions, start: Callable[[], Candidate], covered: Covered, spec: MergeSpec
) -> Finished:
    return finished(repetitions, start(), covered, spec)


def _finish_alone(repetitions: Repetitions, number: int, spec: MergeSpec) -> Finished:
    """Finish one repetition on its own rows."""
    covered = covered_by(repetitions, [number])
    return finished(repetitions, repetitions.alone(number), covered, spec)


def covered_by(repetitions: Repetitions, numbers: Sequence[int]) -> Covered:
    """Return the data on the rows that the repetitions ``numbers`` hold."""
    rows = sampled_rows([repetitions.samples[number] for number in numbers])
    return Covered(repetitions.data, rows, repetitions.constraints)


def finished(
    repetitions: Repetitions, start: Candidate, covered: Covered, spec: MergeSpec
) -> Finished:
    """Finish a candidate on covered rows."""
    flat = repetitions.select(start.flat, covered.rows)
    if start.unscaled:
        flat = rescale(covered.terms, flat, repetitions.data.ndim, repetitions.constraints)
    losses = load("scoup.finishes", spec.finish).finish(covered, flat, spec)
    return Finished(start, repetitions.expand(flat, covered.rows), weighted(covered.terms, losses))
