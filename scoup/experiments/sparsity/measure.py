"""Sparsity: how many fewer numbers a sampled model needs, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup import metrics
from scoup.coupled import CoupledData
from scoup.experiments._controls import OUTPUT_SIZE, controls, costs, random_factors
from scoup.measures import Claim, Context, Measure, Metric, pick
from scoup.merge import merge
from scoup.records import Factors, Fit, Sample
from scoup.specs import MergeSpec

RELATIVE_SIZE = Measure(
    "relative_output_size", "ratio", "higher", 0.0, None, "non-zeros of the full fit over ours"
)
PLANTED_SIZE = Measure(
    "planted_output_size", "ratio", "none", 0.0, None, "non-zeros of the full fit over the planted"
)
Array = NDArray[Any]
Runs = Mapping[str, tuple[Sequence[Fit], Sequence[Sample]]]


def measure(
    data: CoupledData, runs: Runs, full: Factors, finishes: Sequence[str], context: Context,
    planted: Sequence[Array] = (),
) -> list[Metric]:  # fmt: skip
    """Return output size and cost relative to the ``full`` model; ``runs`` holds fits and samples by plan.

    ``planted`` are the factors that simulated data was made of, where it was: a control, like the random ones.
    """
    reference, zero = metrics.cost(data, full), metrics.zero_cost(data)
    size = metrics.output_size(full)
    chance = random_factors(data, full.rank, context.seed)
    found = controls(context.on(plan="random"), data, chance, reference, "random")
    if planted:
        ideal = context.on(plan="planted")
        found += controls(ideal, data, planted, reference, "planted")
        theirs = sum(int(np.count_nonzero(factor)) for factor in planted)
        found.append(ideal.metric(PLANTED_SIZE, size / theirs, control="planted"))
    for plan, (fits, samples) in runs.items():
        here = context.on(plan=plan)
        for finish in finishes:
            merged = merge(fits, samples, data, MergeSpec(merge="joint", finish=finish))
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
    """Set the paper's output sizes beside ours at the sparsest setting whose median cost stays good.

    Where none does, the setting of least cost is shown, and the claim does not hold.
    """
    judged = []
    for dataset in sorted({metric.dataset for metric in found}):
        paper, bar = CLAIMED.get(dataset, ("-", None))
        settings = sorted(
            {
                (metric.plan, metric.at["finish"])
                for metric in pick(found, "relative_cost", dataset=dataset)
            }
        )
        sizes, costs_of = (
            [
                pick(found, name, dataset=dataset, plan=plan, finish=finish)
                for plan, finish in settings
            ]
            for name in ("relative_output_size", "relative_cost")
        )
        good = [n for n, runs in enumerate(costs_of) if _median(runs) <= GOOD_COST]
        best = (
            max(good, key=lambda n: _median(sizes[n]))
            if good
            else min(range(len(settings)), key=lambda n: _median(costs_of[n]))
        )
        text = f"output size of full ALS over ours on {dataset}, at {_median(costs_of[best]):.3g} times its cost"
        claim = Claim.of((text, paper, "ratio"), sizes[best], bar)
        judged.append(claim if good or bar is None else replace(claim, holds=False))
    return judged


def _median(runs: Sequence[Metric]) -> float:
    return median(run.value for run in runs)
