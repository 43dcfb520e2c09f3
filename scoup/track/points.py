"""How metrics become runs: what is measured is a metric, what varies is a parameter."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from scoup.evidence import Metric
from scoup.experiments._view import View

# Names for the same measure. Experiments keep them apart to judge a method without its controls; in
# a tracker a control is a run, and a parameter says which.
SAME_MEASURE: dict[str, tuple[str, dict[str, str]]] = {
    "control_cost": ("relative_cost", {}),
    "control_share": ("explained_share", {}),
    "control_output_size": ("relative_output_size", {}),
    "null_monotone": ("monotone", {"control": "shuffled rows"}),
    "mean_error": ("held_out_error", {"control": "mean"}),
    "single_snr": ("snr", {"control": "one component"}),
    "starts_snr": ("snr", {"control": "another start"}),
    "pinv_speedup": ("speedup", {}),
    "others_seconds": ("seconds", {"contender": "other processes"}),
    "worker_gain": ("speedup", {"reference": "one worker"}),
    "share_of_best": ("explained_share", {"reference": "best fraction"}),
    "recovered_share": ("explained_share", {}),
    "matrix_gain": ("found_within", {"reference": "without matrices"}),
    "recommended_rank": ("components", {"kind": "recommended"}),
    "pair_accuracy": ("accuracy", {}),
    "picked_accuracy": ("accuracy", {}),
    "kind_count": ("components", {}),
    "groups": ("components", {"kind": "group"}),
    "groups_found": ("found_within", {"kind": "group"}),
    "members_found": ("found_within", {"kind": "member"}),
    "mean_purity": ("purity", {"end": "mean"}),
    "alone_purity": ("purity", {"end": "mean"}),
    "null_purity": ("purity", {"control": "random categories"}),
    "null_limit": ("purity", {"control": "random categories, one in twenty"}),
    "match_seeds": ("match", {}),
    "match_halves": ("match", {}),
    "weakest_halves": ("match", {"component": "weakest"}),
    "factor_match": ("match", {}),
}


class Place(NamedTuple):
    """Which job and which model a number belongs to."""

    experiment: str
    dataset: str
    variant: str
    plan: str
    seed: int


@dataclass(frozen=True)
class Point:
    """A number with a name and a step."""

    name: str
    value: float
    step: int = 0


@dataclass(frozen=True)
class Measured:
    """One thing that was measured: where, its coordinates, and its numbers."""

    place: Place
    at: Mapping[str, Any]
    points: tuple[Point, ...]

    @property
    def params(self) -> dict[str, Any]:
        """All that distinguishes it from other things of the experiment."""
        place = self.place._asdict()
        del place["experiment"]
        return {**self.at, **place}

    @property
    def key(self) -> str:
        """The place and the coordinates as one word."""
        coordinates = (f"{name}={value}" for name, value in sorted(self.at.items()))
        return "/".join([*self.place[:-1], f"seed{self.place.seed}", *coordinates])


def split(metrics: Sequence[Metric], view: View) -> list[Measured]:
    """Return one record per thing measured, in the order of its first metric.

    Metrics with the same place and the same coordinates describe one thing. The coordinate
    ``view.steps`` becomes the step of its points instead.

    >>> from dataclasses import replace
    >>> where = ("accuracy", "brainq", "whole", "scoup", 0, "real")
    >>> at = {"merge": "joint", "repetitions": 2}
    >>> cost = Metric("cost", 3.0, "", "lower", (None, None), "", *where, at)
    >>> later = replace(cost, at=at | {"repetitions": 3})
    >>> [thing] = split([cost, later], View(steps="repetitions"))
    >>> thing.at, [point.step for point in thing.points]
    ({'merge': 'joint'}, [2, 3])
    """
    things: dict[str, Measured] = {}
    shared: dict[Place, list[Point]] = defaultdict(list)
    for metric in metrics:
        thing = _thing(metric, view.steps)
        if metric.name in view.shared:
            shared[thing.place] += thing.points
        elif thing.key in things:
            points = (*things[thing.key].points, *thing.points)
            things[thing.key] = replace(thing, points=points)
        else:
            things[thing.key] = thing
    for place in shared:
        if not any(thing.place == place for thing in things.values()):
            things[str(place)] = Measured(place, {}, ())
    return [
        replace(thing, points=(*thing.points, *shared[thing.place])) for thing in things.values()
    ]


def measure_name(metric: Metric) -> str:
    """Return the name of a metric in the tracker."""
    return SAME_MEASURE.get(metric.name, (metric.name,))[0]


def _thing(metric: Metric, steps: str) -> Measured:
    name, extra = SAME_MEASURE.get(metric.name, (metric.name, {}))
    at = {**metric.at, **extra}
    step = at.pop(steps, 0)
    place = Place(metric.experiment, metric.dataset, metric.variant, metric.plan, metric.seed)
    return Measured(place, at, (Point(name, metric.value, int(step)),))


def names(things: Sequence[Measured]) -> list[str]:
    """Return a short name for each thing: the values that vary among them.

    >>> def thing(seed, **at):
    ...     return Measured(Place("speedup", "brainq", "whole", "scoup", seed), at, ())
    >>> names([thing(0, finish="refit", workers=2), thing(1, finish="none", workers=2)])
    ['refit seed 0', 'none seed 1']
    """
    fields = varying(things)
    return [
        " ".join(_word(name, thing.params[name]) for name in fields if name in thing.params)
        or thing.place.plan
        for thing in things
    ]


def varying(things: Sequence[Measured]) -> list[str]:
    """Return the parameters that differ among things, in the order of their appearance."""
    fields = dict.fromkeys(name for thing in things for name in thing.params)
    places = [name for name in Place._fields if name in fields]
    ordered = [*(name for name in fields if name not in places), *places]
    return [name for name in ordered if len({str(thing.params.get(name)) for thing in things}) > 1]


def _word(name: str, value: Any) -> str:
    """Return a word for a value; a number comes with the name of its coordinate."""
    return value if isinstance(value, str) else f"{name} {value}"
