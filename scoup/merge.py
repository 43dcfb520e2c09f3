"""Merge the repetitions: partial factors, each on its own sample, become one model of the whole data.

``joint`` (the default) gives each repetition one permutation for all of its factors. ``paper`` matches
the columns of each factor apart, as Algorithm 3 prints it, and is kept for comparison.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scoup.clock import Clock
from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.factors import wrap
from scoup.finishes._sweeps import Part, als_sweeps, complete, rescale, scaled_loss
from scoup.memory import release
from scoup.merges._pieces import Array, Pieces, coverage, whole
from scoup.merges.joint import Judge, Repetitions, admit, merge_joint
from scoup.merges.paper import merge_paper
from scoup.metrics import output_size, weigh
from scoup.records import Factors, Fit, Merged, MergeReport, Sample
from scoup.specs import MergeSpec
from scoup.terms import terms_of
from scoup.threads import serial_blas

REFIT_SWEEPS = 3


def merge(
    fits: Sequence[Fit], samples: Sequence[Sample], data: CoupledData, spec: MergeSpec
) -> Merged:
    """Merge fits of samples of ``data``; then finish as ``spec`` says.

    finish ``none`` keeps rows that were never sampled at zero; ``refit`` makes a few ALS sweeps over the
    covered rows only, which keeps these zeros; ``complete`` goes on with one full sweep over all rows.
    ``joint`` leaves out a repetition that would raise the cost, so a further one never does; before ``complete``,
    whose sweep sets every row anew, it takes all that match.
    A single repetition that covers everything is returned as it is.

    >>> from scoup import SCOUP
    >>> data = CoupledData(np.random.default_rng(0).standard_normal((8, 9, 7)))
    >>> model = SCOUP(rank=2, sampling=2, repetitions=2).fit(data)
    >>> merge(model.fits_, model.samples_, data, MergeSpec(merge="joint", finish="none")).report.cost == model.report_.cost
    True
    """
    if not fits or len(fits) != len(samples):
        raise ScoupError.expected(
            "fits", "one fit for each sample, at least one", f"{len(fits)} and {len(samples)}"
        )
    with serial_blas():
        return _merge(fits, samples, data, spec)


def _merge(
    fits: Sequence[Fit], samples: Sequence[Sample], data: CoupledData, spec: MergeSpec
) -> Merged:
    clock = Clock()
    release()
    with clock("merge"):
        merged = (
            _joint(fits, samples, data, spec)
            if spec.merge == "joint"
            else merge_paper(fits, samples, data)
        )
        pieces = merged.covered()
        del merged
    flat, losses = _finished(pieces, data, spec, clock)
    release()
    flat, seen = whole(flat, pieces.rows, data.sizes), coverage(pieces.rows, data.sizes)
    if spec.finish == "complete":
        with clock("finish"):
            losses = complete(terms_of(data), flat, seen)
            seen = tuple(np.ones(len(factor), dtype=bool) for factor in flat)
    factors = wrap(flat, data, seen)
    return Merged(factors, _report(data, factors, _named(losses, data), pieces, clock))


def _finished(
    pieces: Pieces, data: CoupledData, spec: MergeSpec, clock: Clock
) -> tuple[list[Array], list[float]]:
    """Scale and refit the covered rows, on their part of the data; return them and the losses of the blocks."""
    with clock("select"):
        part = Part.of(data, pieces.rows)
    # Taken out: beside the whole factors that come of them they would be held for nothing.
    flat = [pieces.flat.pop(0) for _ in pieces.rows]
    if spec.merge == "joint":
        with clock("scale"):
            flat = rescale(part.terms, flat, data.ndim)
    with clock("finish"):
        if spec.finish != "none":
            flat = als_sweeps(part.terms, flat, REFIT_SWEEPS)
        # A sweep over all rows finds the losses anew.
        return flat, [] if spec.finish == "complete" else part.losses(flat)


def _joint(
    fits: Sequence[Fit], samples: Sequence[Sample], data: CoupledData, spec: MergeSpec
) -> Pieces:
    """Merge the repetitions that lower the cost; before a sweep over all rows, which levels them, all that match."""
    repetitions = Repetitions(fits, samples)
    if spec.finish == "complete" or len(fits) == 1:
        return merge_joint(repetitions, range(len(fits)), data)
    judge = _refitted_cost if spec.finish == "refit" else _scaled_cost
    return merge_joint(repetitions, admit(len(fits), judge(repetitions, data)), data)


def _scaled_cost(repetitions: Repetitions, data: CoupledData) -> Judge:
    """The cost of chosen repetitions once scaled, on one part of the data that covers them all."""
    part = Part.of(data, repetitions.rows)
    return lambda chosen: scaled_loss(part.terms, merge_joint(repetitions, chosen, data).flat)


def _refitted_cost(repetitions: Repetitions, data: CoupledData) -> Judge:
    """The cost of chosen repetitions after the refit."""
    spec = MergeSpec(merge="joint", finish="refit")

    def judge(chosen: tuple[int, ...]) -> float:
        _, losses = _finished(merge_joint(repetitions, chosen, data).covered(), data, spec, Clock())
        return weigh(data, _named(losses, data))

    return judge


def _named(losses: Sequence[float], data: CoupledData) -> dict[str, float]:
    return dict(zip([block.name for block in data.blocks], losses, strict=True))


def _report(
    data: CoupledData, factors: Factors, losses: dict[str, float], pieces: Pieces, clock: Clock
) -> MergeReport:
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
