"""How metrics with coordinates become named, stepped numbers of a tracker."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from scoup.records import Metric

Key = TypeVar("Key")
_FORBIDDEN = re.compile(r"[^\w\-. :]")


@dataclass(frozen=True)
class Point:
    """A number with a name and a step."""

    name: str
    value: float
    step: int = 0


@dataclass(frozen=True)
class Axes:
    """The roles of a measure's coordinates: one is the step, some are in the name or constant."""

    step: str | None
    named: tuple[str, ...]
    constant: tuple[str, ...]


NamedPoints = tuple[list[Point], dict[str, Any]]


def name_points(runs: Mapping[Key, Sequence[Metric]]) -> dict[Key, NamedPoints]:
    """Return the points of each run of an experiment, and the coordinates that are constant in it.

    A coordinate that is constant within every run (the fraction hidden) is a parameter of the run.
    Of those that vary, the integer with most values (the repetitions) becomes the step, which
    trackers draw as a line, and the others become part of the name. All runs decide together, so
    that a name means the same in each.

    >>> from dataclasses import replace
    >>> at = {"merge": "joint", "repetitions": 2, "fraction": 0.1}
    >>> where = ("accuracy", "brainq", "whole", "scoup", 0, "real")
    >>> cost = Metric("cost", 3.0, "", "lower", (None, None), "", *where, at)
    >>> later = replace(cost, at=at | {"repetitions": 3})
    >>> other = replace(cost, at=at | {"merge": "paper"})
    >>> points, constants = name_points({"run": [cost, later, other]})["run"]
    >>> points[0], constants
    (Point(name='cost/joint', value=3.0, step=2), {'fraction': 0.1})
    """
    axes = {name: _axes(groups) for name, groups in _by_name(runs).items()}
    named: dict[Key, NamedPoints] = {}
    for key, metrics in runs.items():
        points = [_point(metric, axes[metric.name]) for metric in metrics]
        constants = {
            coordinate: metric.at[coordinate]
            for metric in metrics
            for coordinate in axes[metric.name].constant
            if coordinate in metric.at
        }
        named[key] = (points, constants)
    return named


def _by_name(runs: Mapping[Key, Sequence[Metric]]) -> dict[str, list[list[Metric]]]:
    """Group the metrics by name, then by run."""
    groups: dict[str, dict[Key, list[Metric]]] = defaultdict(lambda: defaultdict(list))
    for key, metrics in runs.items():
        for metric in metrics:
            groups[metric.name][key].append(metric)
    return {name: list(by_run.values()) for name, by_run in groups.items()}


def _axes(groups: Sequence[Sequence[Metric]]) -> Axes:
    coordinates = list(dict.fromkeys(c for group in groups for metric in group for c in metric.at))
    varying = [c for c in coordinates if any(len(_values(group, c)) > 1 for group in groups)]
    values = {c: set().union(*(_values(group, c) for group in groups)) for c in varying}
    integers = [c for c in varying if all(map(_is_step, values[c]))]
    step = max(integers, key=lambda c: len(values[c]), default=None)
    return Axes(
        step,
        named=tuple(c for c in varying if c != step),
        constant=tuple(c for c in coordinates if c not in varying),
    )


def _values(group: Iterable[Metric], coordinate: str) -> set[Any]:
    """Return the values of a coordinate in one run, with None for metrics that lack it."""
    return {metric.at.get(coordinate) for metric in group}


def _is_step(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)


def _point(metric: Metric, axes: Axes) -> Point:
    words = [_word(c, metric.at[c]) for c in axes.named if metric.at.get(c) is not None]
    step = metric.at.get(axes.step) if axes.step else None
    return Point("/".join([metric.name, *words]), metric.value, int(step or 0))


def _word(coordinate: str, value: Any) -> str:
    """Return a word for a value; a number comes with the name of its coordinate."""
    return _FORBIDDEN.sub("_", value if isinstance(value, str) else f"{coordinate} {value}")
