"""What is measured: the meaning of a number, the number in its context, and a claim about it."""

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


# A claim whose control passes too says nothing about the method.
VERDICTS = ("holds", "does not hold", "cannot tell")


@dataclass(frozen=True)
class Claim:
    """A claim of the paper next to what was measured and to what a control reaches.

    ``ours`` is the median over the runs, ``low`` and ``high`` are its quartiles, and ``bar`` is
    what the median must reach (from above unless ``higher``). ``setting`` names what the row is
    about; ``controls`` maps the name of a null or control to what it got; ``note`` adds what a
    reader must know, such as "by construction".

    A claim without a control is refused, since nobody could tell what it says: an experiment whose
    control was not measured makes no claim.
    """

    experiment: str
    claim: str
    setting: str
    paper: str
    unit: str
    bar: float
    higher: bool
    ours: float
    low: float
    high: float
    runs: int
    provenance: str
    controls: Mapping[str, float]
    verdict: str
    note: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ScoupError.expected("verdict", f"one of {VERDICTS}", repr(self.verdict))
        if not self.controls:
            raise ScoupError.expected(
                f"controls of {self.claim!r}",
                "the name of a null or control and what it got",
                "none",
                "measure one, or make no claim",
            )
        numbers = [self.bar, self.ours, self.low, self.high, *self.controls.values()]
        if not all(math.isfinite(number) for number in numbers):
            raise ScoupError.expected(f"claim {self.claim!r}", "finite numbers", numbers)

    @classmethod
    def of(
        cls,
        text: str,
        runs: Sequence[Metric],
        *,
        setting: str,
        paper: str,
        unit: str,
        bar: float,
        controls: Mapping[str, float | Sequence[Metric]],
        higher: bool = True,
        note: str = "",
    ) -> Self:
        """Compare the median of ``runs``, and of each control, with ``bar``.

        A control is a number or the metrics of its runs; without runs it was not measured, and is
        left out. The claim does not hold if our median misses the bar; if some control reaches it
        too, the claim says nothing: "cannot tell".

        >>> context = Context("accuracy", "brainq", "whole", "scoup", 0, "simulated")
        >>> runs = [context.metric(Measure("purity", "share", "higher"), 0.7)]
        >>> facts = {"setting": "rank 5", "paper": "shown", "unit": "share", "bar": 0.6}
        >>> Claim.of("groups are pure", runs, controls={"dealt at random": 0.3}, **facts).verdict
        'holds'
        >>> Claim.of("groups are pure", runs, controls={"matrix alone": 0.7}, **facts).verdict
        'cannot tell'
        """
        low, ours, high = (
            float(q) for q in np.quantile([run.value for run in runs], [0.25, 0.5, 0.75])
        )
        measured = {name: control for name, control in controls.items() if control != []}
        medians = {name: _median(control) for name, control in measured.items()}
        passes = {name: value >= bar if higher else value <= bar for name, value in medians.items()}
        verdict = "cannot tell" if any(passes.values()) else "holds"
        if not (ours >= bar if higher else ours <= bar):
            verdict = "does not hold"
        return cls(
            runs[0].experiment, text, setting, paper, unit, bar, higher, ours, low, high,
            len(runs), runs[0].provenance, medians, verdict, note,
        )  # fmt: skip


def _median(control: float | Sequence[Metric]) -> float:
    values = [control] if isinstance(control, (int, float)) else [run.value for run in control]
    return float(np.median(values))


def controls_text(claim: Mapping[str, Any]) -> str:
    """Return the controls of a claim in words.

    >>> controls_text({"controls": {"ridge": 0.72, "chance": 0.5}})
    'ridge: 0.72; chance: 0.5'
    """
    return "; ".join(f"{name}: {value:.3g}" for name, value in claim["controls"].items())


def pick(metrics: Iterable[Metric], name: str, **where: Any) -> list[Metric]:
    """Return the metrics called ``name`` whose fields and coordinates equal ``where``."""
    return [metric for metric in metrics if metric.name == name and _matches(metric, where)]


def _matches(metric: Metric, where: Mapping[str, Any]) -> bool:
    absent = object()
    return all(
        metric.at.get(key, getattr(metric, key, absent)) == value for key, value in where.items()
    )
