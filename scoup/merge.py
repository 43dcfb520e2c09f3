"""Merge the repetitions: partial factors, each of one sample, become one model of the whole data.

``joint`` (the default) gives each repetition one permutation for all of its factors. ``paper``
matches the columns of each factor separately, as Algorithm 3 prints it. ``authors`` matches all
factors by the first one, as the authors' own program does.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from scoup.constraints import Constraints
from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.factors import wrap
from scoup.finishes._covered import Covered
from scoup.listing import load
from scoup.machine import release, serial_blas
from scoup.merges._shared import Matching
from scoup.metrics import output_size, weigh
from scoup.records import Array, Clock, Fit, Merged, MergeReport, Sample
from scoup.scale import rescale
from scoup.specs import MergeSpec


def merge(
    fits: Sequence[Fit], samples: Sequence[Sample], data: CoupledData, spec: MergeSpec
) -> Merged:
    """Merge fits of samples of ``data``, then finish as ``spec`` says.

    Finish ``none`` leaves rows that were never sampled at zero; ``refit`` makes a few ALS sweeps
    over the sampled rows only, which keeps these zeros; ``complete`` adds one full sweep over all
    rows, and ``prune`` then drops entries that matter little. With ``none`` and ``refit``, a
    further repetition never raises the cost of ``joint``; before the others it merges all that
    match. A single repetition that covers everything is returned as it is.

    >>> import numpy as np
    >>> from scoup import SCOUP
    >>> data = CoupledData(np.random.default_rng(0).standard_normal((8, 9, 7)))
    >>> model = SCOUP(rank=2, sampling=2, repetitions=2).fit(data)
    >>> again = merge(model.fits_, model.samples_, data, MergeSpec(merge="joint", finish="none"))
    >>> again.report.cost == model.report_.cost
    True
    """
    clock = Clock()
    with serial_blas():
        flat, matching = matched(fits, samples, data, spec, clock)
        return _model(flat, matching, data, spec, clock)


def matched(
    fits: Sequence[Fit],
    samples: Sequence[Sample],
    data: CoupledData,
    spec: MergeSpec,
    clock: Clock,
) -> tuple[list[Array], Matching]:
    """Return the covered rows of each factor as the rule of ``spec`` merges them."""
    _check(fits, samples, data, spec)
    rows = sum(index.size for sample in samples for index in sample.indices)
    release(rows * fits[0].factors.rank * data.dtype.itemsize, data.nbytes)
    with clock("merge"):
        return load("scoup.merges", spec.merge).merge(fits, samples, data, spec)


def merge_each(
    fits: Sequence[Fit], samples: Sequence[Sample], data: CoupledData, spec: MergeSpec
) -> Iterator[Merged]:
    """Yield :func:`merge` of the first 1, 2, ... repetitions; a rule may know a shorter way."""
    rule = load("scoup.merges", spec.merge)
    if not hasattr(rule, "merge_each"):
        for count in range(1, len(fits) + 1):
            yield merge(fits[:count], samples[:count], data, spec)
        return
    _check(fits, samples, data, spec)
    with serial_blas():
        for flat, matching in rule.merge_each(fits, samples, data, spec):
            yield _model(flat, matching, data, spec, Clock())


def _check(
    fits: Sequence[Fit], samples: Sequence[Sample], data: CoupledData, spec: MergeSpec
) -> None:
    if not fits or len(fits) != len(samples):
        raise ScoupError.expected(
            "fits", "one fit for each sample, at least one", f"{len(fits)} and {len(samples)}"
        )
    constraints = Constraints.of(spec.constraints, data)
    for fit in fits:
        constraints.check("fits", fit.factors.flat, "fit with the same constraints")


def _model(
    flat: list[Array], matching: Matching, data: CoupledData, spec: MergeSpec, clock: Clock
) -> Merged:
    """Finish what a rule has merged, and report on it."""
    covered = scaled(flat, matching, data, spec, clock)
    with clock("finish"):
        losses = load("scoup.finishes", spec.finish).finish(covered, flat, spec)
    coverage, seconds = covered.expand(flat), clock.seconds
    return summarized(flat, losses, matching, data, spec, coverage=coverage, seconds=seconds)


def summarized(
    flat: list[Array],
    losses: Sequence[float],
    matching: Matching,
    data: CoupledData,
    spec: MergeSpec,
    *,
    coverage: tuple[Array, ...],
    seconds: Mapping[str, float] = MappingProxyType({}),
) -> Merged:
    """Return a finished model, with which rows were covered, and its report."""
    factors = wrap(flat, data, coverage, Constraints.of(spec.constraints, data))
    named = dict(zip([block.name for block in data.blocks], losses, strict=True))
    report = MergeReport(
        cost=weigh(data, named),
        block_losses=named,
        block_fits={b.name: 1.0 - named[b.name] / (b.norm2 or 1.0) for b in data.blocks},
        scores=matching.scores,
        rejected=matching.rejected,
        reference=matching.reference,
        coverage=tuple(float(mask.mean()) for mask in factors.coverage),
        output_size=output_size(factors),
        consistent=matching.consistent,
        seconds=dict(seconds),
    )
    return Merged(factors, report)


def scaled(
    flat: list[Array], matching: Matching, data: CoupledData, spec: MergeSpec, clock: Clock
) -> Covered:
    """Scale the covered rows to the data, in place; return the data on them."""
    with clock("select"):
        constraints = Constraints.of(spec.constraints, data)
        covered = matching.covered or Covered(data, matching.rows, constraints)
    if matching.unscaled:
        with clock("scale"):
            flat[:] = rescale(covered.terms, flat, data.ndim, constraints)
    return covered
