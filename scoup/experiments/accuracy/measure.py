"""Accuracy: what each further repetition adds, for every run and for both merges."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from scoup import metrics
from scoup.coupled import CoupledData
from scoup.experiments._controls import controls, costs, random_factors
from scoup.measures import Claim, Context, Measure, Metric, pick
from scoup.merge import merge
from scoup.records import Fit, Sample
from scoup.specs import MergeSpec

log = logging.getLogger(__name__)

MONOTONE = Measure(
    "monotone", "0 or 1", "higher", 0.0, 1.0, "1 if no further repetition raised the cost"
)
REJECTED = Measure(
    "rejected", "repetitions", "none", 0.0, None, "repetitions that the merge left out"
)
ROUNDING = 1e-9


@dataclass(frozen=True)
class AccuracySpec:
    """Which merges and finishes are tried on the same fits."""

    merges: Sequence[str]
    finishes: Sequence[str]


def measure(
    data: CoupledData, fits: Sequence[Fit], samples: Sequence[Sample], reference: float, spec: AccuracySpec,
    context: Context,
) -> list[Metric]:  # fmt: skip
    """Return the cost after r = 1, 2, ... repetitions relative to ``reference``, the cost of the full fit."""
    zero = metrics.zero_cost(data)
    chance = random_factors(data, fits[0].factors.rank, context.seed)
    return [
        metric
        for how, finish in product(spec.merges, spec.finishes)
        for metric in _curve(
            data, fits, samples, (reference, zero), MergeSpec(merge=how, finish=finish), context
        )
    ] + controls(context, data, chance, reference, "random")


def _curve(data, fits, samples, bounds, spec, context) -> Iterator[Metric]:  # type: ignore[no-untyped-def]
    """Yield the metrics of one merge, repetition by repetition."""
    reference, zero = bounds
    found: list[float] = []
    where = {"merge": spec.merge, "finish": spec.finish}
    for count in range(1, len(fits) + 1):
        report = merge(fits[:count], samples[:count], data, spec).report
        found.append(report.cost)
        yield from costs(context, report.cost, reference, zero, repetitions=count, **where)
        yield context.metric(REJECTED, len(report.rejected), repetitions=count, **where)
    yield context.metric(MONOTONE, never_rises(found), **where)
    log.info(
        "%s, %s: relative cost %s",
        spec.merge,
        spec.finish,
        [round(cost / reference, 4) for cost in found],
    )


def never_rises(values: Sequence[float]) -> bool:
    """Whether a sequence never rises by more than rounding.

    >>> never_rises([3.0, 2.0, 2.0]), never_rises([3.0, 2.0, 2.1])
    (True, False)
    """
    return all(after <= before * (1 + ROUNDING) for before, after in pairwise(values))


def claims(found: Sequence[Metric]) -> list[Claim]:
    """Set the paper's claim that repetitions lower the cost beside the share of our runs in which they all do."""
    text = "more repetitions never raise the cost, {} merge (share of runs)"
    judged = []
    for how in sorted({metric.at["merge"] for metric in pick(found, "monotone")}):
        runs = pick(found, "monotone", merge=how, finish="none")
        share = sum(run.value for run in runs) / len(runs)
        judged.append(Claim("accuracy", text.format(how), "1 of selected runs", "share", share, share, share,
                            len(runs), runs[0].provenance, share >= 0.95))  # fmt: skip
    most = max(metric.at["repetitions"] for metric in pick(found, "relative_cost"))
    last = pick(found, "relative_cost", merge="joint", repetitions=most, finish="none")
    texts = (f"cost over that of full ALS after {most} repetitions", "near 1", "ratio")
    return [*judged, Claim.of(texts, last, 1.1, higher=False)]
