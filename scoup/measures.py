"""What is measured: the meaning of a number, the number in its context, and the claims about it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np

from scoup.errors import ScoupError

DIRECTIONS = ("higher", "lower", "none")


@dataclass(frozen=True)
class Measure:
    """What a number means: its unit, which direction is better, and its bounds.

    >>> Measure("accuracy", "share", "higher", 0.0, 1.0, "pairs matched correctly").text
    'pairs matched correctly'
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
    """One measured number with all that is needed to understand it on its own.

    ``at`` holds its coordinates on the axes of the experiment, such as
    ``{"repetitions": 3, "merge": "joint"}``.
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
    """Where the metrics of one job come from; turns measured values into metrics.

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
        """Return ``value`` of ``measure`` as a metric of this context with coordinates ``at``."""
        bounds = (measure.low, measure.high)
        return Metric(
            measure.name, float(value), measure.unit, measure.direction, bounds, measure.text,
            **asdict(self), at=at,
        )  # fmt: skip

    def on(self, **changes: Any) -> Self:
        """Return the same context with another variant, plan or seed."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Claim:
    """A claim of the paper next to what was measured.

    ``ours`` is the median over the runs, ``low`` and ``high`` are its quartiles. ``holds`` is None
    if the paper gives no number to compare with.
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
    ) -> Self:
        """Compare the median of ``runs`` with ``bar``.

        ``texts`` are the claim, the paper's number and the unit.
        """
        low, ours, high = (
            float(q) for q in np.quantile([run.value for run in runs], [0.25, 0.5, 0.75])
        )
        holds = None if bar is None else bool(ours >= bar if higher else ours <= bar)
        return cls(
            runs[0].experiment, *texts, ours, low, high, len(runs), runs[0].provenance, holds
        )


def pick(metrics: Iterable[Metric], name: str, **where: Any) -> list[Metric]:
    """Return the metrics called ``name`` whose fields and coordinates equal ``where``."""
    return [metric for metric in metrics if metric.name == name and _matches(metric, where)]


def _matches(metric: Metric, where: Mapping[str, Any]) -> bool:
    absent = object()
    return all(
        metric.at.get(key, getattr(metric, key, absent)) == value for key, value in where.items()
    )
