"""Complete a merged model of a tensor on disk in rounds, whose passes jobs share.

On one machine the finish ``complete`` streams all shards itself. Where several jobs share a pass,
its last sweep is interrupted instead: it updates factors until it needs a pass, and what it has by
then is a :class:`~scoup.records.Round`. Jobs of the stage ``multiply`` answer its request, each for
one part of the shards, and the sweep goes on from there. No byte of the model depends on the number
of parts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from scoup.constraints import Constraints
from scoup.coupled import CoupledData
from scoup.finishes import complete
from scoup.machine import serial_blas
from scoup.merge import matched, scaled, summarized
from scoup.merges._shared import Matching
from scoup.normal import RowSolver
from scoup.records import Array, Clock, Fit, Merged, Products, Request, Round, Sample
from scoup.sharded import ShardedTensor
from scoup.solvers import als
from scoup.specs import MergeSpec
from scoup.streamed import SolveRows
from scoup.terms import grams_of, terms_of

MATCHING_FACTS = ("scores", "rejected", "reference", "consistent")


def begin(
    fits: Sequence[Fit], samples: Sequence[Sample], data: CoupledData, spec: MergeSpec
) -> Round:
    """Merge, refit the covered rows, and sweep over all rows up to the first pass."""
    clock = Clock()
    with serial_blas():
        flat, matching = matched(fits, samples, data, spec, clock)
        covered = scaled(flat, matching, data, spec, clock)
        order = complete.begin(covered, flat)
        covered.drop()
        facts = {name: getattr(matching, name) for name in MATCHING_FACTS}
        return _advanced(Round(flat, order, {}, facts), [], data, spec, shares=True)


def resume(state: Round, answers: Sequence[Products], data: CoupledData, spec: MergeSpec) -> Round:
    """Go on with the answers of all parts, in order, up to the next pass."""
    with serial_blas():
        return _advanced(state, answers, data, spec, shares=True)


def end(state: Round, answers: Sequence[Products], data: CoupledData, spec: MergeSpec) -> Merged:
    """Go on to the end; a pass that is still needed is made here."""
    with serial_blas():
        last = _advanced(state, answers, data, spec, shares=False)
        scores, rejected, *others = (last.matching[name] for name in MATCHING_FACTS)
        coverage = tuple(np.ones(size, dtype=bool) for size in data.sizes)
        losses = [last.losses[number] for number in range(len(data.blocks))]
        matching = Matching((), tuple(scores), tuple(rejected), *others)
        return summarized(last.flat, losses, matching, data, spec, coverage=coverage)


def _advanced(
    state: Round, answers: Sequence[Products], data: CoupledData, spec: MergeSpec, shares: bool
) -> Round:
    """Update factors until a pass is needed that jobs are to share, if ``shares``, or to the end.

    What was interrupted is repeated with its answers: systems of matrices, never a pass.
    """
    tensor, *matrices = data.blocks
    assert isinstance(tensor.values, ShardedTensor)
    values = SharedTensor(tensor.values, answers, shares)
    blocks = [replace(tensor, values=values), *matrices]
    terms = terms_of(CoupledData.from_blocks(blocks, data.block_weights))
    flat, losses, done = list(state.flat), dict(state.losses), 0
    updates = als.exact_updates(Constraints.of(spec.constraints, data), len(flat))
    request = None
    try:
        for finished in als.updates_of(terms, flat, grams_of(flat), state.order, updates):
            losses |= finished
            done += 1
    except PassNeededError as needed:
        request = needed.request
    return Round(flat, state.order[done:], losses, state.matching, request)


class PassNeededError(Exception):
    """The next pass over the shards is one that jobs share."""

    def __init__(self, request: Request) -> None:
        super().__init__(f"a pass for mode {request.mode}")
        self.request = request


class SharedTensor(ShardedTensor):
    """A tensor on disk whose next pass jobs have made, if there are ``answers`` of its parts.

    The pass after that is to be shared by jobs, too. Without ``shares``, and for the product of the
    leading mode, which only ever comes last, it is made here.
    """

    def __init__(self, tensor: ShardedTensor, answers: Sequence[Products], shares: bool) -> None:
        super().__init__(tensor.folder, tensor.manifest, tensor.memory_limit)
        self._answers, self._shares = answers, shares

    def mttkrp(self, factors: Sequence[Array], mode: int) -> Array:
        """See :meth:`ShardedTensor.mttkrp`."""
        answers = [] if mode == self.leading else self._next(Request(mode))
        if not answers:
            return super().mttkrp(factors, mode)
        return self.add_up(_sums(answers), mode, factors)

    def solve_rows(
        self, factors: Sequence[Array], solve: SolveRows, later: int, out: Array | None = None
    ) -> tuple[Array, Array]:
        """See :meth:`ShardedTensor.solve_rows`."""
        assert isinstance(solve, RowSolver)
        answers = self._next(Request(later, solve.gram, solve.rest, solve.weight))
        if not answers:
            return super().solve_rows(factors, solve, later, out)
        solved = np.empty_like(factors[self.leading], order="C") if out is None else out
        rows = (piece for answer in answers for piece in answer.rows)
        for span, piece in zip(self.manifest.group_rows(), rows, strict=True):
            solved[span] = piece
        return solved, self.add_up(_sums(answers), later, factors)

    def _next(self, request: Request) -> Sequence[Products]:
        """Return the answers if they were not used yet, or none if the pass is to be made here."""
        answers, self._answers = self._answers, []
        if not answers and self._shares:
            raise PassNeededError(request)
        return answers


def _sums(answers: Sequence[Products]) -> Iterator[Array]:
    return (part for answer in answers for part in answer.sums)
