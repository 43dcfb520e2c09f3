"""Sparsity: how many fewer numbers a sampled model needs, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from scoup import metrics
from scoup.coupled import CoupledData
from scoup.experiments.measures import OUTPUT_SIZE, costs
from scoup.merge import merge
from scoup.records import Factors, Fit, Sample
from scoup.results import Claim, Context, Measure, Metric, pick
from scoup.specs import MergeSpec

RELATIVE_SIZE = Measure("relative_output_size", "ratio", "higher", 0.0, None, "non-zeros of the full fit over ours")
Runs = Mapping[str, tuple[Sequence[Fit], Sequence[Sample]]]


def measure(data: CoupledData, runs: Runs, full: Factors, finishes: Sequence[str], context: Context) -> list[Metric]:
    """Return output size and cost relative to the ``full`` model; ``runs`` holds fits and samples by plan."""
    reference, zero = metrics.cost(data, full), metrics.zero_cost(data)
    size = metrics.output_size(full)
    found = []
    for plan, (fits, samples) in runs.items():
        here = context.on(plan=plan)
        for finish in finishes:
            merged = merge(fits, samples, data, MergeSpec("joint", finish))
            mine = metrics.output_size(merged.factors)
            found.append(here.metric(OUTPUT_SIZE, mine, finish=finish))
            # A model without a single non-zero has no size to divide by: it counts as one number.
            found.append(here.metric(RELATIVE_SIZE, size / max(mine, 1), finish=finish))
            found += costs(here, merged.report.cost, reference, zero, finish=finish)
    return found


# What counts as "good approximation cost": the paper names no bound.
GOOD_COST = 1.2
CLAIMED = {"portion": ("2", 2.0), "random": ("5", 5.0)}


def claims(found: Sequence[Metric]) -> list[Claim]:
    """Set the paper's output sizes beside ours at the sparsest setting whose median cost stays good."""
    judged = []
    for dataset in sorted({metric.dataset for metric in found}):
        paper, bar = CLAIMED.get(dataset, ("-", None))
        settings = {(metric.plan, metric.at["finish"]) for metric in pick(found, "relative_cost", dataset=dataset)}
        runs = [
            pick(found, "relative_output_size", dataset=dataset, plan=plan, finish=finish)
            for plan, finish in sorted(settings)
            if _median(pick(found, "relative_cost", dataset=dataset, plan=plan, finish=finish)) <= GOOD_COST
        ]
        if runs:
            text = f"output size of full ALS over ours on {dataset}, at most {GOOD_COST} times its cost"
            judged.append(Claim.of((text, paper, "ratio"), max(runs, key=_median), bar))
    return judged


def _median(runs: Sequence[Metric]) -> float:
    return median(run.value for run in runs)
