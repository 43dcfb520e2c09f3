"""Accuracy: what each further repetition adds, for every run, merge and finish."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product

from scoup.coupled import CoupledData
from scoup.experiments._controls import CostScale, costs, random_control
from scoup.experiments._records import Inputs, Model, Outcome
from scoup.experiments.accuracy import Spec
from scoup.merge import merge
from scoup.records import Claim, Context, Measure, Merged, Metric, pick
from scoup.specs import MergeSpec

log = logging.getLogger(__name__)

MONOTONE = Measure(
    "monotone", "0 or 1", "higher", 0.0, 1.0, "1 if no further repetition raised the cost"
)
REJECTED = Measure(
    "rejected", "repetitions", "none", 0.0, None, "repetitions that the merge left out"
)
ROUNDING = 1e-9
MIN_MONOTONE_SHARE = 0.95
MAX_RELATIVE_COST = 1.1


def measure(inputs: Inputs, spec: Spec, context: Context) -> Outcome:
    """Return the cost after r = 1, 2, ... repetitions, relative to that of the baseline."""
    baseline = inputs.model(spec.baseline).merged.factors
    metrics: list[Metric] = []
    for plan in spec.plans:
        model, data, here = inputs.model(plan), inputs.view(plan), context.on(plan=plan)
        scale = CostScale.of(data, baseline)
        for name, finish in product(spec.merges, spec.finishes):
            merge_spec = MergeSpec(merge=name, finish=finish)
            metrics += _curve(model, data, merge_spec, scale, here)
        metrics += random_control(here, data, model.spec.rank, scale)
    return Outcome(metrics, notes={"merges": spec.merges, "finishes": spec.finishes})


def _curve(
    model: Model, data: CoupledData, spec: MergeSpec, scale: CostScale, context: Context
) -> list[Metric]:
    """Return the metrics of one merge and finish, repetition by repetition."""
    metrics, raw_costs, at = [], [], spec.to_dict()
    for count in range(1, len(model.fits) + 1):
        report = _merged(model, count, data, spec).report
        metrics += costs(context, report.cost, scale, repetitions=count, **at)
        metrics.append(context.metric(REJECTED, len(report.rejected), repetitions=count, **at))
        raw_costs.append(report.cost)
    metrics.append(context.metric(MONOTONE, never_rises(raw_costs), **at))
    log.info("%s: relative cost %s", at, [round(scale.relative(cost), 4) for cost in raw_costs])
    return metrics


def _merged(model: Model, count: int, data: CoupledData, spec: MergeSpec) -> Merged:
    """Merge the first ``count`` repetitions, unless the stage ``merge`` has done just that."""
    if count == len(model.fits) and spec == model.spec.part(MergeSpec):
        return model.merged
    return merge(model.fits[:count], model.samples[:count], data, spec)


def never_rises(values: Sequence[float]) -> bool:
    """Whether a sequence never rises by more than rounding.

    >>> never_rises([3.0, 2.0, 2.0]), never_rises([3.0, 2.0, 2.1])
    (True, False)
    """
    return all(after <= before * (1 + ROUNDING) for before, after in pairwise(values))


def claims(metrics: Sequence[Metric]) -> list[Claim]:
    """Compare with the paper: no repetition raises the cost, which ends near that of full ALS."""
    judged = []
    for name in sorted({metric.at["merge"] for metric in pick(metrics, "monotone", finish="none")}):
        runs = pick(metrics, "monotone", merge=name, finish="none")
        share = sum(run.value for run in runs) / len(runs)
        claim = Claim.of(
            "share of runs in which no repetition raises the cost",
            [replace(run, value=share) for run in runs],
            setting=f"{name} merge",
            paper="1 of selected runs",
            unit="share",
            bar=MIN_MONOTONE_SHARE,
            controls={},
            note="by construction" if name == "joint" else "",
        )
        judged.append(claim)
    runs = pick(metrics, "relative_cost", merge="joint", finish="none")
    if not runs:
        return judged
    most = max(run.at["repetitions"] for run in runs)
    control = {"random factors": random} if (random := pick(metrics, "control_cost")) else {}
    claim = Claim.of(
        "cost over that of full ALS",
        pick(runs, "relative_cost", repetitions=most),
        setting=f"joint merge, {most} repetitions",
        paper="near 1",
        unit="ratio",
        bar=MAX_RELATIVE_COST,
        controls=control,
        higher=False,
    )
    return [*judged, claim]
