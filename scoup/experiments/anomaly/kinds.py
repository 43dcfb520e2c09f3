"""Kinds of components of a (wall, poster, day) tensor, by how many indices take part in each mode.

star-out      one poster, many walls, one day        a spammer
star-in       many posters, one wall, one day        a birthday
flood         one poster, one wall, one day
conversation  one poster, one wall, many days
community     anything else
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scoup.records import Array, Factors
from scoup.tensor import SparseTensor

WALL, POSTER, DAY = range(3)
KINDS = {
    (False, True, True): "star-out",
    (True, False, True): "star-in",
    (True, True, True): "flood",
    (True, True, False): "conversation",
}
# The modes whose leading index names a component of a kind.
NAMED_BY = {
    "star-out": (POSTER, DAY),
    "star-in": (WALL, DAY),
    "flood": (WALL, POSTER, DAY),
    "conversation": (WALL, POSTER),
    "community": (WALL, POSTER, DAY),
}
ANOMALIES = ("star-out", "star-in", "flood")
MIN_SEVERAL = 2.0  # with fewer indices taking part, only one does
MAX_MEMBERS = 200  # indices of a mode that a community names
MAX_STAR_LEADERS = 3  # strongest posters, walls and days of a community that may be stars
MIN_STAR_PARTNERS = 4  # of a poster or wall of a community, to count as a star


def participation(column: Array) -> float:
    """Count the indices that take part: ``(sum a^2)^2 / sum a^4``, n for n equal entries.

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
    wall, poster, day = (count < MIN_SEVERAL for count in counts)
    return KINDS.get((wall, poster, day), "community")


@dataclass(frozen=True)
class Finding:
    """One reading of a component: its kind, its leaders, who takes part, its size and its score.

    ``posts`` are the posts in the data that the component points at; ``size`` is the number of
    distinct partners (walls of a star-out, posters of a star-in, days of a conversation). ``score``
    is per day and leading user: high for a burst around one user, about 1 for a conversation.
    ``members`` are all that take part according to the data; of a community, those with large
    entries in the component. ``seen`` counts the components that point at it, and ``counted`` says
    whether counting finds it, too.
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
    counted: bool = False

    @property
    def name(self) -> tuple[Any, ...]:
        """The kind and the leading indices that define it."""
        return (self.kind, *(self.leaders[mode] for mode in NAMED_BY[self.kind]))

    @property
    def found_by(self) -> str:
        """Which way it was found: ``counted``, ``factorized`` or ``both``."""
        if not self.counted:
            return "factorized"
        return "both" if self.seen else "counted"


def describe(
    factors: Factors, column: int, indices: Sequence[Array], posts: SparseTensor, source: str
) -> list[Finding]:
    """Describe one component of ``factors``, whose rows stand for ``indices``.

    The list is empty if the component holds no post. Several stars often share a component: a
    community of few days is also read as the stars of its strongest posters and walls, as far as
    these are stars in the data.
    """
    vectors = [mode[:, column] for mode in factors.modes]
    counts = tuple(participation(vector) for vector in vectors)
    if min(counts) == 0:
        return []
    members = tuple(map(members_of, vectors, indices, counts))
    wall, poster, day = (strongest[0] for strongest in members)
    kind = kind_of(counts)
    readings = [(kind, (wall, poster, day))]
    if kind == "community" and len(members[DAY]) <= MAX_STAR_LEADERS:
        readings += _star_readings(members)
    weight = float(abs(factors.weights[column]))
    findings = []
    for number, (kind, leaders) in enumerate(readings):
        finding = look_up(kind, leaders, posts, members)
        if finding.posts != 0 and (number == 0 or finding.size >= MIN_STAR_PARTNERS):
            findings.append(
                replace(finding, counts=counts, weight=weight, source=source, seen=1)  # type: ignore[arg-type]
            )
    return findings


def _star_readings(
    members: Sequence[Sequence[int]],
) -> list[tuple[str, tuple[int, int, int]]]:
    """Return the stars that the strongest posters and walls of a community may be, by day."""
    wall, poster = members[WALL][0], members[POSTER][0]
    readings = []
    for day in members[DAY]:
        for leader in members[POSTER][:MAX_STAR_LEADERS]:
            readings.append(("star-out", (wall, leader, day)))
        for leader in members[WALL][:MAX_STAR_LEADERS]:
            readings.append(("star-in", (leader, poster, day)))
    return readings


def look_up(
    kind: str,
    leaders: tuple[int, int, int],
    posts: SparseTensor,
    members: tuple[tuple[int, ...], ...] = (),
) -> Finding:
    """Return posts, members, size and score of what the data has around ``leaders``.

    Only a community needs ``members``: the data does not say who belongs to it.
    """
    inside = _inside(kind, leaders, members, posts)
    mass = float(posts.values[inside].sum())
    involved = [np.unique(posts.coords[mode, inside]) for mode in range(3)]
    walls, posters, days = (indices.size for indices in involved)
    sizes = {"star-out": walls, "star-in": posters, "conversation": days}
    score = size = float(sizes.get(kind, mass))
    if kind not in ANOMALIES:
        score = mass / (max(1, days) * max(1, min(walls, posters)))
    if kind != "community":
        members = tuple(tuple(indices.tolist()) for indices in involved)
    counts = (float(walls), float(posters), float(days))
    return Finding(kind, leaders, counts, mass, size, score, 0.0, "counting", 0, members)


def members_of(vector: Array, index: Array, count: float) -> tuple[int, ...]:
    """Return the indices that take part, strongest first, as many as participation says.

    >>> members_of(np.array([0.1, 2.0, -2.0]), np.array([10, 11, 12]), 2.0)
    (11, 12)
    """
    return tuple(index[largest(vector, min(MAX_MEMBERS, max(1, round(count))))].tolist())


def largest(vector: Array, count: int) -> Array:
    """Return the positions of the ``count`` largest entries by magnitude, largest first.

    Entries of equal size keep their order.

    >>> largest(np.array([1.0, -3.0, 0.0, 3.0]), 2).tolist()
    [1, 3]
    """
    size = np.abs(vector)
    # Sorting all entries takes ten times longer than finding the few that can be among the largest.
    bar = np.partition(size, -count)[-count] if count < len(size) else 0.0
    candidates = np.flatnonzero(size >= bar)
    return candidates[np.argsort(-size[candidates], kind="stable")[:count]]


def _inside(
    kind: str, leaders: Sequence[int], members: Sequence[Sequence[int]], posts: SparseTensor
) -> Array:
    """Return the positions of the posts that a component points at.

    These are all posts of the leaders that name it, or, of a community, those between its members.
    """
    inside = np.ones(posts.nnz, dtype=bool)
    for mode in NAMED_BY[kind]:
        if kind != "community":
            inside &= posts.coords[mode] == leaders[mode]
        else:
            chosen = np.zeros(posts.shape[mode], dtype=bool)
            chosen[list(members[mode])] = True
            inside &= chosen[posts.coords[mode]]
    return np.flatnonzero(inside)


def best_first(findings: Iterable[Finding]) -> list[Finding]:
    """Sort by score, bursts before the rest; findings of the same name are listed once."""
    unique: dict[tuple[Any, ...], Finding] = {}
    for finding in findings:
        earlier = unique.get(finding.name, replace(finding, seen=0))
        stronger = finding if finding.weight > earlier.weight else earlier
        unique[finding.name] = replace(
            stronger,
            seen=earlier.seen + finding.seen,
            counted=earlier.counted or finding.counted,
        )
    return sorted(
        unique.values(),
        key=lambda f: (f.kind not in ANOMALIES, -f.score, -f.seen, f.name[1:]),
    )
