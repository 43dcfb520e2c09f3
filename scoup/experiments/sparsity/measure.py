"""Sparsity: how many fewer numbers a sampled model needs, and what that costs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

import numpy as np

from scoup import metrics as metrics_of
from scoup.coupled import CoupledData
from scoup.evidence import Claim, Context, Measure, Metric, pick
from scoup.experiments._controls import (
    CONTROL_COST,
    OUTPUT_SIZE,
    CostScale,
    control,
    costs,
    random_control,
)
from scoup.experiments._records import Inputs, Model, Outcome
from scoup.experiments.sparsity import Spec
from scoup.factors import unwrap, wrap
from scoup.finishes.prune import entry_energies
from scoup.merge import merge
from scoup.metrics import output_size
from scoup.records import Array, Factors, Merged
from scoup.seeds import generator
from scoup.specs import MergeSpec
from scoup.terms import terms_of

RELATIVE_SIZE = Measure(
    "relative_output_size", "ratio", "higher", 0.0, None, "non-zeros of the full fit over ours"
)
CONTROL_SIZE = Measure(
    "control_output_size", "ratio", "none", 0.0, None, "non-zeros of the full fit over a control's"
)
# By data set: how many times fewer non-zeros the paper reports, and up to which relative cost we
# count a model as good; the paper names no bound.
PAPER_SIZES = {"portion": (2.0, 1.15), "random": (5.0, 1.01)}
# Shares of the entries of the full fit that the controls set to zero: up to 27 times fewer.
DROPPED_SHARES = tuple(round(1 - 1.08**-step, 4) for step in range(44))
# Which entries: those of the lowest energy, or any.
DROP_CONTROLS = {"thresholded": "thresholded ALS", "dropped": "ALS, random entries dropped"}


def measure(inputs: Inputs, spec: Spec, context: Context) -> Outcome:
    """Return output size and cost of every plan and finish, relative to those of the baseline."""
    baseline, data = inputs.model(spec.baseline), inputs.view(spec.baseline)
    full = baseline.merged.factors
    scale, full_size = CostScale.of(data, full), output_size(full)
    metrics = random_control(context.on(plan="random"), data, full.rank, scale)
    metrics += _drop_controls(context.on(plan=spec.baseline), data, full, scale)
    # Only data that was made of factors says which; no fit ever reads this.
    planted = [np.array(factor) for factor in inputs.planted.get("factors", [])]
    if planted:
        metrics += _planted_control(context.on(plan="planted"), data, planted, scale, full_size)
    for plan in spec.plans:
        model, here = inputs.model(plan), context.on(plan=plan)
        for merge_spec in _merge_specs(model, spec):
            merged = _merged(model, data, merge_spec, baseline)
            size, at = output_size(merged.factors), _coordinates(merge_spec)
            metrics.append(here.metric(OUTPUT_SIZE, size, **at))
            # A model of zeros only has no size to divide by: it counts as one number.
            metrics.append(here.metric(RELATIVE_SIZE, full_size / max(size, 1), **at))
            metrics += costs(here, merged.report.cost, scale, **at)
    return Outcome(metrics, notes={"plans": spec.plans, "finishes": spec.finishes})


def _merge_specs(model: Model, spec: Spec) -> Iterator[MergeSpec]:
    """Yield how the fits of a plan are merged: every finish, and prune with every rise."""
    plain = model.spec.part(MergeSpec)
    for finish in spec.finishes:
        for rise in spec.rises if finish == "prune" else [plain.rise]:
            yield plain.replace(finish=finish, rise=rise)


def _coordinates(spec: MergeSpec) -> dict[str, object]:
    return {"finish": spec.finish} | ({"rise": spec.rise} if spec.finish == "prune" else {})


def _drop_controls(
    context: Context, data: CoupledData, full: Factors, scale: CostScale
) -> Iterator[Metric]:
    """Measure the full fit with more and more of its entries set to zero, and nothing else done."""
    flat = unwrap(full)
    energies = entry_energies(terms_of(data), flat)
    rng = generator(context.seed, "dropped")
    orders = {"thresholded": energies, "dropped": [rng.random(factor.shape) for factor in flat]}
    for name, scores in orders.items():
        ranked = np.sort(
            np.concatenate([score[f != 0] for score, f in zip(scores, flat, strict=True)])
        )
        for share in DROPPED_SHARES:
            bar = ranked[int(share * ranked.size)]
            left = [np.where(s >= bar, f, 0) for s, f in zip(scores, flat, strict=True)]
            size = sum(int(np.count_nonzero(factor)) for factor in left)
            cost = metrics_of.cost(data, wrap(left, data))
            at = {"control": name, "dropped": share}
            yield context.metric(CONTROL_SIZE, ranked.size / max(size, 1), **at)
            yield context.metric(CONTROL_COST, scale.relative(cost), **at)


def _planted_control(
    context: Context, data: CoupledData, planted: list[Array], scale: CostScale, full_size: int
) -> list[Metric]:
    """Measure cost and size of the factors that simulated data was made of."""
    size = sum(int(np.count_nonzero(factor)) for factor in planted)
    ratio = context.metric(CONTROL_SIZE, full_size / size, control="planted")
    return [*control(context, data, planted, scale, "planted"), ratio]


def _merged(model: Model, data: CoupledData, spec: MergeSpec, baseline: Model) -> Merged:
    """Merge the fits of a plan, unless the stage ``merge`` has done so on the same data."""
    plan, full = model.spec, baseline.spec
    same_data = (plan.values, plan.weights) == (full.values, full.weights)
    if spec == plan.part(MergeSpec) and same_data:
        return model.merged
    return merge(model.fits, model.samples, data, spec)


def claims(metrics: Sequence[Metric]) -> list[Claim]:
    """Compare the paper's output sizes with ours at a bounded cost: sampled, and pruned."""
    judged = []
    for dataset in sorted({metric.dataset for metric in pick(metrics, "relative_cost")}):
        runs = [metric for metric in metrics if metric.dataset == dataset]
        if dataset in PAPER_SIZES:
            ways = {False: "zeros where nothing was sampled", True: "small entries pruned"}
            for pruned, way in ways.items():
                settings = _settings(runs, pruned)
                if settings:
                    judged.append(_claim(runs, dataset, settings, way))
    return judged


def _settings(metrics: Sequence[Metric], pruned: bool) -> list[dict[str, object]]:
    """Return plan, finish and rise of everything measured, with or without pruning."""
    runs = [
        run for run in pick(metrics, "relative_cost") if (run.at["finish"] == "prune") is pruned
    ]
    keys = dict.fromkeys((("plan", run.plan), *run.at.items()) for run in runs)
    return [dict(key) for key in keys]


def _claim(
    metrics: Sequence[Metric], dataset: str, settings: list[dict[str, object]], way: str
) -> Claim:
    """Judge the sparsest setting whose cost is good in every run, else that of lowest cost."""
    bar, bound = PAPER_SIZES[dataset]
    sizes, highest = [], []
    for setting in settings:
        sizes.append(pick(metrics, RELATIVE_SIZE.name, **setting))
        highest.append(max(run.value for run in pick(metrics, "relative_cost", **setting)))
    good = [n for n, cost in enumerate(highest) if cost <= bound]
    best = max(good, key=lambda n: _median(sizes[n])) if good else int(np.argmin(highest))
    setting, least = settings[best], min(run.value for run in sizes[best])
    controls = {
        label: _control_sizes(metrics, name, bound) for name, label in DROP_CONTROLS.items()
    }
    claim = Claim.of(
        f"output size of full ALS over ours, at a cost of at most {bound:g} times, on {dataset}",
        sizes[best],
        setting=f"{way}: " + ", ".join(f"{key} {value}" for key, value in setting.items()),
        paper=f"{bar:g}",
        unit="ratio",
        bar=bar,
        controls=controls,
        note=f"highest cost {highest[best]:.3g} times, least ratio {least:.3g}",
    )
    return claim if good else replace(claim, verdict="does not hold")


def _control_sizes(metrics: Sequence[Metric], name: str, bound: float) -> list[Metric]:
    """Return for each seed the largest ratio that a control reaches at a cost within the bound."""
    cost_of = {
        (run.seed, run.at["dropped"]): run.value
        for run in pick(metrics, CONTROL_COST.name, control=name)
    }
    best: dict[int, Metric] = {}
    for run in pick(metrics, CONTROL_SIZE.name, control=name):
        if cost_of[run.seed, run.at["dropped"]] <= bound and (
            run.seed not in best or run.value > best[run.seed].value
        ):
            best[run.seed] = run
    return list(best.values())


def _median(runs: Sequence[Metric]) -> float:
    return median(run.value for run in runs)
