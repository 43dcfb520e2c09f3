"""Names: how a number measured at some place on its experiment's axes becomes a named, stepped number of a tracker."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from scoup.measures import Metric

T = TypeVar("T")
_ODD = re.compile(r"[^\w\-. :]")  # what a name may not hold


@dataclass(frozen=True)
class Point:
    """One number under a name, at a step."""

    name: str
    value: float
    step: int = 0


@dataclass(frozen=True)
class Axes:
    """Of the coordinates of one measure: the one that becomes the step, those in the name, those fixed in a run."""

    step: str | None
    named: tuple[str, ...]
    fixed: tuple[str, ...]


def name_points(runs: Mapping[T, Sequence[Metric]]) -> dict[T, tuple[list[Point], dict[str, Any]]]:
    """Name the numbers of an experiment's runs, and return beside them what is fixed within each run.

    A coordinate that never varies within a run (the fraction hidden) is a parameter of it. Of those that do, the
    whole number with most values (the repetitions) is the step, so that a tracker draws it as a line; the others
    are parts of the name. The choice is made over all runs, so that a name means the same in each.

    >>> at = {"merge": "joint", "repetitions": 2, "fraction": 0.1}
    >>> first = Metric("cost", 3.0, "", "lower", (None, None), "", "accuracy", "d", "whole", "p", 0, "real", at)
    >>> from dataclasses import replace
    >>> others = [replace(first, at=at | {"repetitions": 3}), replace(first, at=at | {"merge": "paper"})]
    >>> name_points({"run": [first, *others]})["run"][0][0]
    Point(name='cost/joint', value=3.0, step=2)
    """
    axes = {name: _axes(groups) for name, groups in _by_name(runs).items()}
    named = {}
    for key, metrics in runs.items():
        points = [_point(metric, axes[metric.name]) for metric in metrics]
        fixed = {part: m.at[part] for m in metrics for part in axes[m.name].fixed if part in m.at}
        named[key] = (points, fixed)
    return named


def _by_name(runs: Mapping[T, Sequence[Metric]]) -> dict[str, list[list[Metric]]]:
    """Metrics by name, run by run."""
    found: dict[str, dict[T, list[Metric]]] = defaultdict(lambda: defaultdict(list))
    for key, metrics in runs.items():
        for metric in metrics:
            found[metric.name][key].append(metric)
    return {name: list(groups.values()) for name, groups in found.items()}


def _axes(groups: Sequence[Sequence[Metric]]) -> Axes:
    parts = list(dict.fromkeys(part for group in groups for metric in group for part in metric.at))
    varying = [part for part in parts if any(len(_values(group, part)) > 1 for group in groups)]
    every = {part: set().union(*(_values(group, part) for group in groups)) for part in varying}
    whole = [part for part in varying if all(_counts(value) for value in every[part])]
    step = max(whole, key=lambda part: len(every[part]), default=None)
    return Axes(
        step, tuple(p for p in varying if p != step), tuple(p for p in parts if p not in varying)
    )


def _values(group: Iterable[Metric], part: str) -> set[Any]:
    """The values a coordinate takes in a run; measured without it counts as a value only beside others."""
    return {metric.at.get(part) for metric in group}


def _counts(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)


def _point(metric: Metric, axes: Axes) -> Point:
    words = [_word(part, metric.at[part]) for part in axes.named if metric.at.get(part) is not None]
    step = metric.at.get(axes.step) if axes.step else None
    return Point("/".join([metric.name, *words]), metric.value, int(step or 0))


def _word(part: str, value: Any) -> str:
    """A word for a coordinate: names speak for themselves, numbers and truths need theirs."""
    return _ODD.sub("_", value if isinstance(value, str) else f"{part} {value}")
