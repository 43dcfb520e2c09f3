"""Missing: how well, and how fast, a model is found when a fraction of the cells is hidden."""

from collections.abc import Iterator, Sequence
from math import inf, log10

import numpy as np

from scoup import pipeline
from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.evidence import Claim, Context, Measure, Metric, pick
from scoup.experiments._records import Inputs, Model, Outcome
from scoup.experiments.missing import Spec
from scoup.holdout import hold_out
from scoup.metrics import held_out_error, snr
from scoup.records import Array, Factors
from scoup.seeds import generator
from scoup.specs import PlanSpec
from scoup.tensor import SparseTensor
from scoup.values import view

SNR = Measure(
    "snr", "dB", "higher", None, None, "|X_m|^2 / |X_m - X_0|^2, X_0 the model with nothing missing"
)
STARTS_SNR = Measure(
    "starts_snr", "dB", "none", None, None, "the same for two starts, nothing missing"
)
SINGLE_SNR = Measure(
    "single_snr", "dB", "none", None, None, "the same for a model of one component"
)
SLOWDOWN = Measure(
    "slowdown", "ratio", "lower", 0.0, None, "processor time of the fit over that of all cells"
)
ERROR = Measure(
    "held_out_error",
    "ratio",
    "lower",
    0.0,
    None,
    "squared error on the hidden cells over their squares",
)
MEAN_ERROR = Measure(
    "mean_error", "ratio", "lower", 0.0, None, "the same when hidden cells are guessed as the mean"
)
SECONDS = Measure("seconds", "s", "lower", 0.0, None, "processor time of the fit")
SWEEPS = Measure("sweeps", "sweeps", "none", 0.0, None, "sweeps until the fit stopped")
# What counts as "high SNR for a fair amount of missing data": the paper gives no numbers.
FAIR_FRACTION = 0.5
MIN_HIGH_SNR_DB = 10.0
# What counts as "not degraded" speed, and as a "small amount".
MAX_SLOWDOWN = 1.2
SMALL_FRACTION = 0.1
# A model of zeros has no signal, and two equal models have no noise.
MIN_SNR_DB, MAX_SNR_DB = -100.0, 300.0


def measure(inputs: Inputs, spec: Spec, context: Context) -> Outcome:
    """Compare, for each plan, the model of each variant with that of the whole data."""
    metrics: list[Metric] = []
    fractions: dict[str, float] = {}
    for plan in spec.plans:
        models = [inputs.model(plan, variant) for variant in spec.variants]
        fractions = {model.variant: model.fraction for model in models}
        if 0 not in fractions.values():
            raise ScoupError.expected("variants", "one that hides nothing", spec.variants)
        whole = next(model for model in models if model.fraction == 0)
        for model in models:
            here = context.on(plan=plan, variant=model.variant)
            metrics += _compare(model, whole, inputs.dataset.data, here)
        metrics += _controls(whole, models, inputs.dataset.data, context.on(plan=plan))
    return Outcome(metrics, notes={"fractions": fractions})


def _compare(model: Model, whole: Model, data: CoupledData, context: Context) -> list[Metric]:
    """Return what one model took and, if cells were hidden, how well it does without them."""
    factors, truth, at = model.merged.factors, model.truth, {"fraction": model.fraction}
    metrics = [
        context.metric(SECONDS, model.seconds, **at),
        context.metric(SWEEPS, model.sweeps, **at),
    ]
    if model.fraction == 0:
        return metrics
    if whole.seconds > 0:
        metrics.append(context.metric(SLOWDOWN, model.seconds / whole.seconds, **at))
    error = held_out_error(truth, model.coords, factors)
    guess = mean_error(truth, visible_mean(data, truth))
    return [
        *metrics,
        context.metric(SNR, decibels(factors, whole.merged.factors), **at),
        context.metric(ERROR, error, **at),
        context.metric(MEAN_ERROR, guess, **at),
    ]


def decibels(factors: Factors, whole: Factors) -> float:
    """Return the SNR of two models in decibels, also if one is zero or both are equal.

    >>> modes = tuple(np.ones((2, 1)) for _ in range(3))
    >>> none, one, two = (Factors(np.array([weight]), modes) for weight in (0.0, 1.0, 2.0))
    >>> [round(decibels(other, one)) for other in (none, one, two)]
    [-100, 300, 6]
    """
    ratio = snr(factors, whole)
    if ratio <= 0:
        return MIN_SNR_DB
    return min(max(10 * log10(ratio), MIN_SNR_DB), MAX_SNR_DB) if ratio < inf else MAX_SNR_DB


def _controls(
    whole: Model, models: Sequence[Model], data: CoupledData, context: Context
) -> list[Metric]:
    """Return the SNR of another start on all cells, and of one component on the cells left."""
    other = int(generator(context.seed, "missing", "start").integers(2**31))
    restarted = _model(data, whole.spec, other)
    metrics = [context.metric(STARTS_SNR, decibels(restarted, whole.merged.factors))]
    for model in models:
        if _is_near(model.fraction, FAIR_FRACTION):
            left = hold_out(data, model.fraction, context.seed).data
            single = _model(left, model.spec.replace(rank=1), context.seed)
            value = decibels(single, whole.merged.factors)
            metrics.append(context.metric(SINGLE_SNR, value, fraction=model.fraction))
    return metrics


def _model(data: CoupledData, plan: PlanSpec, seed: int) -> Factors:
    return pipeline.run(view(data, plan.values, plan.weights), plan, seed).merged.factors


def _is_near(fraction: float, wanted: float) -> bool:
    return abs(fraction - wanted) < 0.01


def visible_mean(data: CoupledData, truth: Array) -> float:
    """Return the mean of the visible cells of the tensor; ``truth`` are the hidden ones."""
    tensor = data.blocks[0]
    held = tensor.in_memory
    values = held.values if isinstance(held, SparseTensor) else held
    total = values.sum(dtype=np.float64) - truth.sum(dtype=np.float64)
    return float(total / max(tensor.observed - truth.size, 1))


def mean_error(truth: Array, guess: float) -> float:
    """Relative squared error of guessing every hidden cell as ``guess``.

    >>> mean_error(np.array([1.0, 3.0]), 2.0)
    0.2
    """
    truth = truth.astype(np.float64)
    return float(np.sum((truth - guess) ** 2) / max(float(truth @ truth), np.finfo(float).tiny))


def claims(metrics: Sequence[Metric]) -> list[Claim]:
    """Compare with the paper: a high SNR, and no loss of speed for small amounts missing."""
    plans = sorted({run.plan for run in pick(metrics, SNR.name)})
    return [
        claim
        for judge in (_snr_claims, _speed_claims)
        for plan in plans
        for claim in judge([metric for metric in metrics if metric.plan == plan], plan)
    ]


def _snr_claims(metrics: Sequence[Metric], plan: str) -> Iterator[Claim]:
    """Judge the SNR with half of the cells; a single component may reach as much."""
    runs, single = (
        [run for run in pick(metrics, name) if _is_near(run.at["fraction"], FAIR_FRACTION)]
        for name in (SNR.name, SINGLE_SNR.name)
    )
    starts = [run.value for run in pick(metrics, STARTS_SNR.name)]
    if runs and single and starts:
        yield Claim.of(
            "SNR with half of the cells missing",
            runs,
            setting=f"plan {plan}",
            paper="high",
            unit="dB",
            bar=MIN_HIGH_SNR_DB,
            controls={"one component": single},
            note=f"two starts, no cell missing: {np.median(starts):.3g} dB",
        )


def _speed_claims(metrics: Sequence[Metric], plan: str) -> Iterator[Claim]:
    """Judge the time with few cells missing; with most of them it should be longer."""
    runs = pick(metrics, SLOWDOWN.name)
    few = [run for run in runs if _is_near(run.at["fraction"], SMALL_FRACTION)]
    largest = max((run.at["fraction"] for run in runs), default=0.0)
    if few and largest > FAIR_FRACTION:
        yield Claim.of(
            "time with 10 % of the cells missing, over that with none",
            few,
            setting=f"plan {plan}",
            paper="not degraded",
            unit="times",
            bar=MAX_SLOWDOWN,
            controls={f"{largest:.0%} missing": pick(runs, SLOWDOWN.name, fraction=largest)},
            higher=False,
        )
