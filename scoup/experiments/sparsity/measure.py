"""Sparsity: how many fewer numbers a sampled model needs, and what that costs."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

import numpy as np

from scoup.coupled import CoupledData
from scoup.experiments._controls import OUTPUT_SIZE, CostScale, control, costs, random_control
from scoup.experiments._records import Inputs, Model, Outcome
from scoup.experiments.sparsity import Spec
from scoup.merge import merge
from scoup.metrics import output_size
from scoup.records import Array, Claim, Context, Measure, Merged, Metric, pick
from scoup.specs import MergeSpec

RELATIVE_SIZE = Measure(
    "relative_output_size", "ratio", "higher", 0.0, None, "non-zeros of the full fit over ours"
)
PLANTED_SIZE = Measure(
    "planted_output_size", "ratio", "none", 0.0, None, "non-zeros of the full fit over the planted"
)
# What counts as "good approximation cost": the paper names no bound.
MAX_GOOD_COST = 1.2
# By data set: the paper's number as it is printed, and as a bar.
PAPER_SIZES = {"portion": ("2", 2.0), "random": ("5", 5.0)}


def measure(inputs: Inputs, spec: Spec, context: Context) -> Outcome:
    """Return output size and cost of every plan and finish, relative to those of the baseline."""
    baseline, data = inputs.model(spec.baseline), inputs.view(spec.baseline)
    full = baseline.merged.factors
    scale, full_size = CostScale.of(data, full), output_size(full)
    metrics = random_control(context.on(plan="random"), data, full.rank, scale)
    # Only data that was made of factors says which; no fit ever reads this.
    planted = [np.array(factor) for factor in inputs.planted.get("factors", [])]
    if planted:
        metrics += _planted_control(context.on(plan="planted"), data, planted, scale, full_size)
    for plan in spec.plans:
        model, here = inputs.model(plan), context.on(plan=plan)
        for finish in spec.finishes:
            merged = _merged(model, data, finish, baseline)
            size = output_size(merged.factors)
            metrics.append(here.metric(OUTPUT_SIZE, size, finish=finish))
            # A model of zeros only has no size to divide by: it counts as one number.
            metrics.append(here.metric(RELATIVE_SIZE, full_size / max(size, 1), finish=finish))
            metrics += costs(here, merged.report.cost, scale, finish=finish)
    return Outcome(metrics, notes={"plans": spec.plans, "finishes": spec.finishes})


def _planted_control(
    context: Context, data: CoupledData, planted: list[Array], scale: CostScale, full_size: int
) -> list[Metric]:
    """Measure cost and size of the factors that simulated data was made of."""
    size = sum(int(np.count_nonzero(factor)) for factor in planted)
    ratio = context.metric(PLANTED_SIZE, full_size / size, control="planted")
    return [*control(context, data, planted, scale, "planted"), ratio]


def _merged(model: Model, data: CoupledData, finish: str, baseline: Model) -> Merged:
    """Merge the fits of a plan, unless the stage ``merge`` has done so on the same data."""
    spec = model.spec.part(MergeSpec).replace(finish=finish)
    plan, full = model.spec, baseline.spec
    if finish == plan.finish and (plan.values, plan.weights) == (full.values, full.weights):
        return model.merged
    return merge(model.fits, model.samples, data, spec)


def claims(metrics: Sequence[Metric]) -> list[Claim]:
    """Compare the paper's output sizes with ours at the sparsest setting of good median cost.

    If no setting has a good cost, that of the lowest cost is shown, and the claim does not hold.
    """
    judged = []
    for dataset in sorted({metric.dataset for metric in pick(metrics, "relative_cost")}):
        runs = [metric for metric in metrics if metric.dataset == dataset]
        settings = sorted({(run.plan, run.at["finish"]) for run in pick(runs, "relative_cost")})
        sizes, costs_of = (
            {
                (plan, finish): pick(runs, name, plan=plan, finish=finish)
                for plan, finish in settings
            }
            for name in ("relative_output_size", "relative_cost")
        )
        good = [setting for setting in settings if _median(costs_of[setting]) <= MAX_GOOD_COST]
        best = (
            max(good, key=lambda setting: _median(sizes[setting]))
            if good
            else min(settings, key=lambda setting: _median(costs_of[setting]))
        )
        if dataset in PAPER_SIZES:
            paper, bar = PAPER_SIZES[dataset]
            plan, finish = best
            claim = Claim.of(
                f"output size of full ALS over ours on {dataset}",
                sizes[best],
                setting=f"{plan}, finish {finish}, {_median(costs_of[best]):.3g} times its cost",
                paper=paper,
                unit="ratio",
                bar=bar,
                controls={},
            )
            judged.append(claim if good else replace(claim, verdict="does not hold"))
    return judged


def _median(runs: Sequence[Metric]) -> float:
    return median(run.value for run in runs)
