"""Missing: how well, and how fast, a model is found when a fraction of the cells is hidden."""

from collections.abc import Sequence
from math import log10

import numpy as np

from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.experiments._records import Inputs, Model, Outcome
from scoup.experiments.missing import Spec
from scoup.metrics import held_out_error, snr
from scoup.records import Array, Claim, Context, Factors, Measure, Metric, pick
from scoup.tensor import SparseTensor

SNR = Measure(
    "snr", "dB", "higher", None, None, "|X_m|^2 / |X_m - X_0|^2, X_0 the model with nothing missing"
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


def measure(inputs: Inputs, spec: Spec, context: Context) -> Outcome:
    """Compare, for each plan, the model of each variant with that of the whole data."""
    metrics: list[Metric] = []
    fractions: dict[str, float] = {}
    for plan in spec.plans:
        models = [inputs.model(plan, variant) for variant in spec.variants]
        fractions = {model.variant: model.fraction for model in models}
        if 0 not in fractions.values():
            raise ScoupError.expected("variants", "one that hides nothing", spec.variants)
        whole = next(model for model in models if model.fraction == 0).merged.factors
        for model in models:
            here = context.on(plan=plan, variant=model.variant)
            metrics += _compare(model, whole, inputs.dataset.data, here)
    return Outcome(metrics, notes={"fractions": fractions})


def _compare(model: Model, whole: Factors, data: CoupledData, context: Context) -> list[Metric]:
    """Return what one model took and, if cells were hidden, how well it does without them."""
    factors, truth, at = model.merged.factors, model.truth, {"fraction": model.fraction}
    metrics = [
        context.metric(SECONDS, model.seconds, **at),
        context.metric(SWEEPS, model.sweeps, **at),
    ]
    if model.fraction == 0:
        return metrics
    ratio = snr(factors, whole)
    if np.isfinite(ratio):
        metrics.append(context.metric(SNR, 10 * log10(ratio), **at))
    error = held_out_error(truth, model.coords, factors)
    guess = mean_error(truth, visible_mean(data, truth))
    return [
        *metrics,
        context.metric(ERROR, error, **at),
        context.metric(MEAN_ERROR, guess, **at),
    ]


def visible_mean(data: CoupledData, truth: Array) -> float:
    """Return the mean of the visible cells of the tensor; ``truth`` are the hidden ones."""
    tensor = data.blocks[0]
    values = tensor.values.values if isinstance(tensor.values, SparseTensor) else tensor.values
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
    """Compare with the paper: a high SNR for a fair amount of missing data, without a number."""
    runs = [run for run in pick(metrics, "snr") if abs(run.at["fraction"] - FAIR_FRACTION) < 0.01]
    return [
        Claim.of(
            "SNR with half of the cells missing",
            pick(runs, "snr", plan=plan),
            setting=f"plan {plan}",
            paper="high",
            unit="dB",
            bar=MIN_HIGH_SNR_DB,
            controls={},
        )
        for plan in sorted({run.plan for run in runs})
    ]
