"""Missing values: how well, and how fast, a model is found when a fraction of the cells is hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup import metrics
from scoup.coupled import CoupledData
from scoup.measures import Claim, Context, Measure, Metric, pick
from scoup.records import Factors
from scoup.tensor import SparseTensor

Array = NDArray[Any]

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


@dataclass(frozen=True, eq=False)
class Fitted:
    """The model of one variant, what its fits took, and the cells (N, n) it never saw with their values (n,)."""

    fraction: float
    factors: Factors
    times: Sequence[Mapping[str, float]]
    coords: Array = field(default_factory=lambda: np.empty((0, 0), dtype=np.int32))
    truth: Array = field(default_factory=lambda: np.empty(0))


def measure(data: CoupledData, variants: Mapping[str, Fitted], context: Context) -> list[Metric]:
    """Return the measures of each variant against the one that hides nothing."""
    whole = next(fitted.factors for fitted in variants.values() if fitted.fraction == 0)
    found = []
    for variant, fitted in variants.items():
        here, at = context.on(variant=variant), {"fraction": fitted.fraction}
        found.append(here.metric(SECONDS, sum(times["cpu"] for times in fitted.times), **at))
        found.append(here.metric(SWEEPS, sum(times["sweeps"] for times in fitted.times), **at))
        if fitted.fraction > 0:
            ratio = metrics.snr(fitted.factors, whole)
            found += [] if np.isinf(ratio) else [here.metric(SNR, 10 * log10(ratio), **at)]
            found.append(
                here.metric(
                    ERROR, metrics.held_out_error(fitted.truth, fitted.coords, fitted.factors), **at
                )
            )
            found.append(
                here.metric(
                    MEAN_ERROR, mean_error(fitted.truth, visible_mean(data, fitted.truth)), **at
                )
            )
    return found


def visible_mean(data: CoupledData, truth: Array) -> float:
    """Mean of the cells of a dense tensor that were not hidden."""
    tensor = data.blocks[0]
    values = tensor.values.values if isinstance(tensor.values, SparseTensor) else tensor.values
    return float(
        (values.sum(dtype=np.float64) - truth.sum(dtype=np.float64))
        / max(tensor.observed - truth.size, 1)
    )


def mean_error(truth: Array, guess: float) -> float:
    """Relative squared error of guessing every hidden cell as ``guess``.

    >>> mean_error(np.array([1.0, 3.0]), 2.0)
    0.2
    """
    truth = truth.astype(np.float64)
    return float(np.sum((truth - guess) ** 2) / max(float(truth @ truth), np.finfo(float).tiny))


def claims(found: Sequence[Metric]) -> list[Claim]:
    """Set the paper's "high SNR for a fair amount of missing data" beside ours; it gives no number."""
    judged = []
    for fraction in sorted({metric.at["fraction"] for metric in pick(found, "snr")}):
        for plan in sorted({metric.plan for metric in found}):
            runs = pick(found, "snr", plan=plan, fraction=fraction)
            if runs and abs(fraction - 0.5) < 0.01:
                judged.append(
                    Claim.of(
                        (f"SNR with half of the cells missing, plan {plan}", "high", "dB"),
                        runs,
                        10.0,
                    )
                )
    return judged
