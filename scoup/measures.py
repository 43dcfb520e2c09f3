"""What is measured: the meaning of a number, the number with its context, and the paper's claim about it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from scoup.errors import ScoupError

DIRECTIONS = ("higher", "lower", "none")


@dataclass(frozen=True)
class Measure:
    """What a number means: its unit, which way is better, and between which bounds it must lie.

    >>> Measure("accuracy", "share", "higher", 0.0, 1.0, "pairs decided rightly").text
    'pairs decided rightly'
    """

    name: str
    unit: str
    direction: str
    low: float | None = None
    high: float | None = None
    text: str = ""

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise ScoupError.expected(
                f"direction of {self.name}", f"one of {DIRECTIONS}", repr(self.direction)
            )


@dataclass(frozen=True)
class Metric:
    """One measured number with all that is needed to read it alone.

    ``at`` says where on the axes of its experiment it was measured, such as ``{"repetitions": 3, "merge": "joint"}``.
    """

    name: str
    value: float
    unit: str
    direction: str
    range: tuple[float | None, float | None]
    text: str
    experiment: str
    dataset: str
    variant: str
    plan: str
    seed: int
    provenance: str
    at: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        low, high = self.range
        if not math.isfinite(self.value):
            raise ScoupError.expected(f"metric {self.name}", "a finite number", self.value)
        if (low is not None and self.value < low) or (high is not None and self.value > high):
            raise ScoupError.expected(
                f"metric {self.name}", f"a value from {low} to {high}", self.value
            )


@dataclass(frozen=True)
class Context:
    """Where the metrics of one job come from; it turns measured values into metrics.

    >>> context = Context("accuracy", "brainq", "whole", "scoup", 0, "simulated")
    >>> context.metric(Measure("relative_cost", "ratio", "lower", 0.0), 1.5, repetitions=2).at
    {'repetitions': 2}
    """

    experiment: str
    dataset: str
    variant: str
    plan: str
    seed: int
    provenance: str

    def metric(self, measure: Measure, value: float, **at: Any) -> Metric:
        """Return ``value`` of ``measure`` as a metric of this context, measured ``at`` these coordinates."""
        bounds = (measure.low, measure.high)
        return Metric(
            measure.name, float(value), measure.unit, measure.direction, bounds, measure.text,
            **asdict(self), at=at,
        )  # fmt: skip

    def on(self, **changes: Any) -> Context:
        """Return the same context with another variant, plan or seed."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Claim:
    """One claim of the paper beside what was measured: the median over runs, its quartiles, and whether it holds.

    ``holds`` is None where the paper gives no number to compare with.
    """

    experiment: str
    claim: str
    paper: str
    unit: str
    ours: float
    low: float
    high: float
    runs: int
    provenance: str
    holds: bool | None

    @classmethod
    def of(
        cls,
        texts: tuple[str, str, str],
        runs: Sequence[Metric],
        bar: float | None,
        higher: bool = True,
    ) -> Claim:
        """Judge the median of ``runs`` against ``bar``; ``texts`` are the claim, the paper's number and the unit."""
        low, ours, high = (
            float(q) for q in np.quantile([run.value for run in runs], [0.25, 0.5, 0.75])
        )
        holds = None if bar is None else bool(ours >= bar if higher else ours <= bar)
        return cls(
            runs[0].experiment, *texts, ours, low, high, len(runs), runs[0].provenance, holds
        )


def pick(metrics: Iterable[Metric], name: str, **where: Any) -> list[Metric]:
    """Return the metrics called ``name`` whose fields or coordinates have the values given."""
    return [metric for metric in metrics if metric.name == name and _lies(metric, where)]


def _lies(metric: Metric, where: Mapping[str, Any]) -> bool:
    missing = object()
    return all(
        metric.at.get(key, getattr(metric, key, missing)) == value for key, value in where.items()
    )
