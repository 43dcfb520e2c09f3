"""What a component of a (wall, poster, day) tensor looks like, by how many indices take part in each mode.

star-out      one poster, many walls, one day        a spammer
star-in       many posters, one wall, one day        a birthday
flood         one poster, one wall, one day
conversation  one poster, one wall, many days
community     anything else
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.records import Factors
from scoup.tensor import SparseTensor

Array = NDArray[Any]
WALL, POSTER, DAY = range(3)
KINDS = {
    (False, True, True): "star-out",
    (True, False, True): "star-in",
    (True, True, True): "flood",
    (True, True, False): "conversation",
}
# The modes whose leading index names a component of a kind.
NAMED_BY = {
    "star-out": (POSTER, DAY), "star-in": (WALL, DAY), "flood": (WALL, POSTER, DAY), "conversation": (WALL, POSTER),
    "community": (WALL, POSTER, DAY),
}  # fmt: skip
ANOMALIES = ("star-out", "star-in", "flood")
SINGLE = 2.0  # fewer indices than this take part: one does
READ, STAR = (
    3,
    4,
)  # posters and walls of a community that are looked at, and partners that make a star of one


def participation(column: Array) -> float:
    """How many indices take part: ``(sum a^2)^2 / sum a^4``, 1 for a single one, n for n equal ones.

    >>> participation(np.array([1.0, 1.0, 0.0])), participation(np.array([5.0, 0.0]))
    (2.0, 1.0)
    """
    squares = np.square(column.astype(np.float64))
    top = squares.max(initial=0.0)
    if top == 0:
        return 0.0
    squares /= top
    return float(squares.sum() ** 2 / np.square(squares).sum())


def kind_of(counts: Sequence[float]) -> str:
    """Name the kind of a component from its participation in walls, posters and days.

    >>> kind_of((20.0, 1.0, 1.1)), kind_of((1.0, 1.0, 60.0)), kind_of((9.0, 8.0, 3.0))
    ('star-out', 'conversation', 'community')
    """
    return KINDS.get((counts[0] < SINGLE, counts[1] < SINGLE, counts[2] < SINGLE), "community")


@dataclass(frozen=True)
class Found:
    """One component: its kind, who leads it, how many take part, its size in the data and its score.

    ``posts`` are the posts in the data that the component points at; ``size`` the distinct partners (walls of a
    star-out, posters of a star-in, days of a conversation). ``score`` is what happens a day and leading user: high
    for a burst around one user, about 1 for a conversation.
    """

    kind: str
    leaders: tuple[int, int, int]
    counts: tuple[float, float, float]
    posts: float
    size: float
    score: float
    weight: float
    source: str
    seen: int = 1
    members: tuple[tuple[int, ...], ...] = ()

    @property
    def name(self) -> tuple[Any, ...]:
        """What it is called by: its kind and the leading indices that define it."""
        return (self.kind, *(self.leaders[mode] for mode in NAMED_BY[self.kind]))


def describe(
    factors: Factors, column: int, indices: Sequence[Array], posts: SparseTensor, source: str
) -> list[Found]:
    """Describe one component of ``factors``, whose rows stand for ``indices``; nothing if no post is in it.

    Stars of one day often share a component: a community of one day is also read as the stars of its strongest
    posters and walls, as far as these are stars in the data.
    """
    vectors = [mode[:, column] for mode in factors.modes]
    counts = tuple(participation(vector) for vector in vectors)
    if min(counts) == 0:
        return []
    members = tuple(
        _members(v, index, counts[n])
        for n, (v, index) in enumerate(zip(vectors, indices, strict=True))
    )
    leaders = tuple(some[0] for some in members)
    weight = float(abs(factors.weights[column]))
    kind = kind_of(counts)
    readings = [(kind, leaders)]
    if kind == "community" and counts[DAY] < SINGLE:
        readings += [
            ("star-out", (leaders[WALL], poster, leaders[DAY])) for poster in members[POSTER][:READ]
        ]
        readings += [
            ("star-in", (wall, leaders[POSTER], leaders[DAY])) for wall in members[WALL][:READ]
        ]
    found = [_read(kind, who, members, posts, counts) for kind, who in readings]
    return [
        replace(one, weight=weight, source=source)
        for number, one in enumerate(found)
        if one and (number == 0 or one.size >= STAR)
    ]


def _read(
    kind: str, leaders: Any, members: Sequence[Sequence[int]], posts: SparseTensor, counts: Any
) -> Found | None:
    """Look up what a reading of a component amounts to in the data."""
    inside = _inside(kind, leaders, members, posts)
    mass = float(posts.values[inside].sum())
    if mass == 0:
        return None
    partners = [np.unique(posts.coords[mode, inside]).size for mode in range(3)]
    size = {
        "star-out": partners[WALL],
        "star-in": partners[POSTER],
        "conversation": partners[DAY],
    }.get(kind, mass)
    score = _score(kind, size, mass, partners)
    return Found(kind, leaders, counts, mass, float(size), score, 0.0, "", 1, tuple(members))  # type: ignore[arg-type]


def _members(vector: Array, index: Array, count: float) -> tuple[int, ...]:
    """The indices that take part, strongest first, as many as participation says (and 30 at most)."""
    order = np.argsort(-np.abs(vector), kind="stable")[: min(30, max(1, round(count)))]
    return tuple(int(index[place]) for place in order)


def _inside(
    kind: str, leaders: Sequence[int], members: Sequence[Sequence[int]], posts: SparseTensor
) -> Array:
    """Which posts a component points at: all of its leaders' where they name it, else those between its members."""
    if kind != "community":
        return np.logical_and.reduce(
            [posts.coords[mode] == leaders[mode] for mode in NAMED_BY[kind]]
        )
    inside = np.ones(posts.nnz, dtype=bool)
    for mode, some in enumerate(members):
        chosen = np.zeros(posts.shape[mode], dtype=bool)
        chosen[list(some)] = True
        inside &= chosen[posts.coords[mode]]
    return inside


def _score(kind: str, size: float, mass: float, partners: Sequence[int]) -> float:
    """Partners (posts of a flood) a day and leading user."""
    if kind in ("star-out", "star-in", "flood"):
        return float(size)
    few = max(1, min(partners[WALL], partners[POSTER]))
    return mass / (max(1, partners[DAY]) * few)


def rank(found: Iterable[Found]) -> list[Found]:
    """Sort by score, each thing once, with the number of components that pointed at it; bursts before the rest."""
    best: dict[tuple[Any, ...], Found] = {}
    for one in found:
        old = best.get(one.name)
        if old is None:
            best[one.name] = one
        else:
            better = one if one.weight > old.weight else old
            best[one.name] = replace(better, seen=old.seen + one.seen)
    return sorted(
        best.values(),
        key=lambda one: (one.kind not in ANOMALIES, -one.score, -one.seen, one.name[1:]),
    )
