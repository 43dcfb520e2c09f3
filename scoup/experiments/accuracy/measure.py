"""Accuracy: what each further repetition adds, for every run, merge and finish."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, product
from statistics import median

from scoup.coupled import CoupledData
from scoup.evidence import Claim, Context, Measure, Metric, pick
from scoup.experiments._controls import CONTROL_COST, CONTROL_SHARE, EXPLAINED, CostScale, costs
from scoup.experiments._records import Inputs, Model, Outcome
from scoup.experiments.accuracy import Spec
from scoup.factors import unwrap
from scoup.finishes._covered import Covered
from scoup.listing import load
from scoup.merge import merge, merge_each
from scoup.merges._shared import sampled_rows
from scoup.records import Factors, Fit, Merged
from scoup.scale import rescale
from scoup.seeds import generator
from scoup.specs import MergeSpec
from scoup.terms import weighted

log = logging.getLogger(__name__)

MONOTONE = Measure(
    "monotone", "0 or 1", "higher", 0.0, 1.0, "1 if no further repetition raised the cost"
)
NULL_MONOTONE = Measure(
    "null_monotone", "0 or 1", "none", 0.0, 1.0,
    "the same if all repetitions but the first have their rows shuffled, and so bring nothing",
)  # fmt: skip
REJECTED = Measure(
    "rejected", "repetitions", "none", 0.0, None, "repetitions that the merge left out"
)
ROUNDING = 1e-9
MIN_MONOTONE_SHARE = 0.95
# "Near 1" is what explains this share of what full ALS explains: on noisy data the model of zeros
# has a relative cost near 1, too.
MIN_EXPLAINED_SHARE = 0.9
# Finishes that leave rows that were never sampled at zero.
KEEP_ZEROS = ("none", "refit")
# Sweeps from the rows of the full fit to the best model that is zero outside the sampled rows.
CEILING_SWEEPS = 10


def measure(inputs: Inputs, spec: Spec, context: Context) -> Outcome:
    """Return the cost after r = 1, 2, ... repetitions, relative to that of the baseline."""
    baseline = inputs.model(spec.baseline).merged.factors
    metrics: list[Metric] = []
    for plan in spec.plans:
        model, data, here = inputs.model(plan), inputs.view(plan), context.on(plan=plan)
        scale = CostScale.of(data, baseline)
        model = replace(model, fits=list(model.fits))  # read once
        shuffled = _shuffle_rows(model.fits, context.seed)
        for name, finish in product(spec.merges, spec.finishes):
            merge_spec = MergeSpec(merge=name, finish=finish)
            curve, first_cost = _curve(model, data, merge_spec, scale, here)
            metrics += curve
            metrics.append(_null(shuffled, first_cost, model, data, merge_spec, here))
        metrics += _controls(model, data, spec.finishes, scale, here)
        reached = [
            run.value
            for f in KEEP_ZEROS
            for run in pick(metrics, EXPLAINED.name, plan=plan, finish=f)
        ]
        ceiling = max(scale.explained(_ceiling_cost(model, data, baseline)), *reached, 0.0)
        metrics.append(here.metric(CONTROL_SHARE, ceiling, control="covered"))
    return Outcome(metrics, notes={"merges": spec.merges, "finishes": spec.finishes})


def _curve(
    model: Model, data: CoupledData, spec: MergeSpec, scale: CostScale, context: Context
) -> tuple[list[Metric], float]:
    """Return the metrics of one merge and finish by repetition, and the cost of the first."""
    metrics, raw_costs, at = [], [], _coordinates(spec)
    for count, merged in enumerate(_merged(model, data, spec), start=1):
        report = merged.report
        metrics += costs(context, report.cost, scale, repetitions=count, **at)
        metrics.append(context.metric(REJECTED, len(report.rejected), repetitions=count, **at))
        raw_costs.append(report.cost)
    metrics.append(context.metric(MONOTONE, never_rises(raw_costs), **at))
    log.info("%s: relative cost %s", at, [round(scale.relative(cost), 4) for cost in raw_costs])
    return metrics, raw_costs[0]


def _coordinates(spec: MergeSpec) -> dict[str, str]:
    return {"merge": spec.merge, "finish": spec.finish}


def _merged(model: Model, data: CoupledData, spec: MergeSpec) -> Iterator[Merged]:
    """Merge the first 1, 2, ... repetitions; the stage ``merge`` may have merged all of them."""
    is_stage = spec == model.spec.part(MergeSpec)
    count = len(model.fits) - is_stage
    yield from merge_each(model.fits[:count], model.samples[:count], data, spec) if count else ()
    if is_stage:
        yield model.merged


def _null(
    shuffled: Sequence[Fit],
    first_cost: float,
    model: Model,
    data: CoupledData,
    spec: MergeSpec,
    context: Context,
) -> Metric:
    """Measure whether the cost rises with repetitions that bring nothing: the 2nd, then all."""
    counts = sorted({min(2, len(shuffled)), len(shuffled)} - {1})  # the first is not shuffled
    merges = (merge(shuffled[:count], model.samples[:count], data, spec) for count in counts)
    null_costs = [first_cost, *(merged.report.cost for merged in merges)]
    return context.metric(NULL_MONOTONE, never_rises(null_costs), **_coordinates(spec))


def _shuffle_rows(fits: Sequence[Fit], seed: int) -> list[Fit]:
    """Shuffle the rows of every factor of all repetitions but the first."""
    shuffled = [fits[0]]
    for number in range(1, len(fits)):
        fit, rng = fits[number], generator(seed, "shuffle", number)
        flat = [rng.permutation(factor) for factor in fit.factors.flat]
        shuffled.append(Fit(fit.factors.replace_flat(flat), fit.report))
    return shuffled


def _controls(
    model: Model, data: CoupledData, finishes: Sequence[str], scale: CostScale, context: Context
) -> list[Metric]:
    """Measure, on the sampled rows, random factors after each finish, and no model at all."""
    metrics = [context.metric(CONTROL_COST, scale.relative(scale.zero), control="zero")]
    rows, rng = sampled_rows(model.samples), generator(context.seed, "control")
    start = [rng.standard_normal((len(index), model.spec.rank)) for index in rows]
    for finish in finishes:
        covered = Covered(data, rows)
        flat = rescale(covered.terms, [factor.astype(data.dtype) for factor in start], data.ndim)
        losses = load("scoup.finishes", finish).finish(covered, flat, MergeSpec(finish=finish))
        cost, at = weighted(covered.terms, losses), {"control": "random", "finish": finish}
        metrics.append(context.metric(CONTROL_COST, scale.relative(cost), **at))
        metrics.append(context.metric(CONTROL_SHARE, scale.explained(cost), **at))
    return metrics


def _ceiling_cost(model: Model, data: CoupledData, full: Factors) -> float:
    """Cost of a good model that is zero in rows that were never sampled, from the full fit."""
    rows = sampled_rows(model.samples)
    covered = Covered(data, rows)
    flat = [factor[index] for factor, index in zip(unwrap(full), rows, strict=True)]
    covered.sweep(flat, CEILING_SWEEPS)
    return weighted(covered.terms, covered.losses(flat))


def never_rises(values: Sequence[float]) -> bool:
    """Whether a sequence never rises by more than rounding.

    >>> never_rises([3.0, 2.0, 2.0]), never_rises([3.0, 2.0, 2.1])
    (True, False)
    """
    return all(after <= before * (1 + ROUNDING) for before, after in pairwise(values))


def claims(metrics: Sequence[Metric]) -> list[Claim]:
    """Compare with the paper: no repetition raises the cost, which ends near that of full ALS."""
    return [*_monotone_claims(metrics), *_cost_claims(metrics)]


def _settings(metrics: Sequence[Metric]) -> Iterator[dict[str, str]]:
    """Yield what the claims are about: every finish of the joint merge, the others without one.

    The paper's own merge comes first: a scorecard opens with the first claim.
    """
    names = ("dataset", "plan", "merge", "finish")
    runs = sorted(pick(metrics, MONOTONE.name), key=lambda run: run.at["merge"] != "paper")
    for setting in dict.fromkeys((r.dataset, r.plan, r.at["merge"], r.at["finish"]) for r in runs):
        at = dict(zip(names, setting, strict=True))
        if at["merge"] == "joint" or at["finish"] == "none":
            yield at


def _monotone_claims(metrics: Sequence[Metric]) -> Iterator[Claim]:
    for at in _settings(metrics):
        runs, nulls = pick(metrics, MONOTONE.name, **at), pick(metrics, NULL_MONOTONE.name, **at)
        by_construction = at["merge"] == "joint" and at["finish"] in KEEP_ZEROS
        yield Claim.of(
            f"share of runs in which no repetition raises the cost, on {at['dataset']}",
            _as_shares(runs),
            setting=f"{at['plan']}, {at['merge']} merge, finish {at['finish']}",
            paper="1 of selected runs",
            unit="share",
            bar=MIN_MONOTONE_SHARE,
            controls={"repetitions with shuffled rows": _as_shares(nulls)},
            note="by construction: it takes the best of what it tries" if by_construction else "",
        )


def _as_shares(runs: Sequence[Metric]) -> list[Metric]:
    """Replace each run by the share of all runs: the median of zeros and ones says too little."""
    share = sum(run.value for run in runs) / len(runs)
    return [replace(run, value=share) for run in runs]


def _cost_claims(metrics: Sequence[Metric]) -> Iterator[Claim]:
    for at in _settings(metrics):
        runs = pick(metrics, "relative_cost", **at)
        last = max(run.at["repetitions"] for run in runs)
        where = {"dataset": at["dataset"], "plan": at["plan"]}
        explained = _median(pick(metrics, "explained_share", repetitions=last, **at))
        note = f"explained share {explained:.2g}"
        if at["finish"] in KEEP_ZEROS:
            ceiling = _median(pick(metrics, "control_share", control="covered", **where))
            note += f"; sampled rows allow {ceiling:.2g}"
        zero = pick(metrics, "control_cost", control="zero", **where)
        yield Claim.of(
            f"cost over that of full ALS, on {at['dataset']}",
            pick(runs, "relative_cost", repetitions=last),
            setting=f"{at['plan']}, {last} repetitions, {at['merge']} merge, finish {at['finish']}",
            paper="near 1",
            unit="ratio",
            bar=1 + (1 - MIN_EXPLAINED_SHARE) * (_median(zero) - 1),
            controls={
                "zero model": zero,
                "random factors, same rows and finish": pick(
                    metrics, "control_cost", control="random", finish=at["finish"], **where
                ),
            },
            higher=False,
            note=note,
        )


def _median(runs: Sequence[Metric]) -> float:
    return median(run.value for run in runs)
