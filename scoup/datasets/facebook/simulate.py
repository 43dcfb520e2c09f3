"""A simulated Facebook: wall posts and friendships, written as the published text files.

Users belong to communities and have heavy-tailed activity; most links stay inside a community, most posts go
between friends, days grow busier and have a weekly rhythm. Some things are planted for the methods to find: see
:mod:`scoup.simulate.planted`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.datasets import LINKS_FILE, WALL_FILE
from scoup.seeds import generator
from scoup.simulate.planted import Plant, draw_plants
from scoup.simulate.table import write_table
from scoup.simulate.truth import write_truth

Array = NDArray[Any]
LAST_DAY = (date(2009, 1, 22) - date(1970, 1, 1)).days  # of the published posts
_DAY = 86_400
_WEEK = (
    1.05,
    1.12,
    1.09,
    1.06,
    0.97,
    0.68,
    0.69,
)  # posts by weekday, Monday first, as in the real sample


@dataclass(frozen=True)
class NetworkSize:
    """How much of everything a stand-in has; ``cells`` are distinct (wall, poster, day), ``links`` undirected."""

    users: int
    days: int
    posts: int
    cells: int
    links: int
    plants: Plant


SIZES = {
    "full": NetworkSize(
        63_890, 1_847, 876_993, 740_000, 772_843, Plant(6, (80, 200), 20, (20, 60), (60, 150))
    ),
    "quick": NetworkSize(
        4_000, 400, 60_000, 50_000, 40_000, Plant(4, (60, 120), 8, (15, 30), (40, 80))
    ),
    "tiny": NetworkSize(
        300, 60, 3_000, 2_500, 2_000, Plant(2, (30, 50), 2, (10, 15), (12, 20), members=6)
    ),
}


@dataclass(frozen=True, eq=False)
class Crowd:
    """Users in the order of their communities: ``starts[c]:starts[c + 1]`` are those of community c."""

    community: Array
    starts: Array
    activity: Array

    @property
    def users(self) -> int:
        """Number of users."""
        return self.community.size


def simulate_facebook(folder: Path, size: str, seed: int) -> None:
    """Write the wall file, the links file and the truth."""
    spec = SIZES[size]
    crowd = draw_crowd(spec.users, generator(seed, "facebook", "crowd"))
    links = draw_links(crowd, spec.links, generator(seed, "facebook", "links"))
    planted = draw_plants(
        crowd.community, links, spec.days, spec.plants, generator(seed, "facebook", "planted")
    )
    cells, counts = draw_posts(crowd, links, planted, spec, generator(seed, "facebook", "posts"))
    names = 1 + generator(seed, "facebook", "names").permutation(
        spec.users
    )  # ids say nothing of communities
    first = LAST_DAY - spec.days + 1
    rng = generator(seed, "facebook", "times")
    _write_wall(folder / WALL_FILE, names, cells, counts, first, rng)
    _write_links(folder / LINKS_FILE, names, links, first, spec.days, rng)
    events = [event.truth(names) for event in planted]
    truth = {
        "what": "simulated",
        "first_day": first,
        "planted": events,
        "community": crowd.community[np.argsort(names)],
    }
    write_truth(folder, truth)


def draw_crowd(users: int, rng: np.random.Generator) -> Crowd:
    """Return users in communities of heavy-tailed size, with heavy-tailed activity."""
    count = max(3, users // 100)
    weights = np.arange(1, count + 1) ** -0.7
    community = np.sort(rng.choice(count, users, p=weights / weights.sum()))
    starts = np.searchsorted(community, np.arange(count + 1))
    return Crowd(community, starts, np.exp(1.1 * rng.standard_normal(users)))


def draw_links(crowd: Crowd, count: int, rng: np.random.Generator) -> Array:
    """Return ``count`` distinct undirected links (2, count), smaller index first; every user has one at least."""
    everybody = np.arange(crowd.users)
    first = _pairs(everybody, _mates(crowd, everybody, rng), crowd.users)
    lonely = np.setdiff1d(everybody, np.concatenate(np.divmod(first, crowd.users)))
    cover = np.unique(
        np.concatenate([first, _pairs(lonely, (lonely + 1) % crowd.users, crowd.users)])
    )
    found = np.empty(0, dtype=np.int64)
    while cover.size + found.size < count:
        user = _weighted(crowd.activity, 2 * count, rng)
        far = rng.random(user.size) < 0.25
        friend = np.where(far, _weighted(crowd.activity, user.size, rng), _mates(crowd, user, rng))
        drawn = _pairs(user, friend, crowd.users)
        found = np.setdiff1d(np.concatenate([found, drawn]), cover)
    kept = np.sort(np.concatenate([cover, rng.permutation(found)[: count - cover.size]]))
    return np.array(np.divmod(kept, crowd.users))


def _weighted(weights: Array, count: int, rng: np.random.Generator) -> Array:
    """Draw indices with probability proportional to ``weights``."""
    total = np.cumsum(weights)
    return np.minimum(
        np.searchsorted(total, rng.random(count) * total[-1], side="right"), weights.size - 1
    )


def _mates(crowd: Crowd, user: Array, rng: np.random.Generator) -> Array:
    """Draw for each user another (or the same) of the community, the active ones more often."""
    total = np.concatenate([[0.0], np.cumsum(crowd.activity)])
    low, high = crowd.starts[crowd.community[user]], crowd.starts[crowd.community[user] + 1]
    mate = (
        np.searchsorted(
            total, total[low] + rng.random(user.size) * (total[high] - total[low]), side="right"
        )
        - 1
    )
    return np.clip(mate, low, high - 1)


def _pairs(user: Array, friend: Array, users: int) -> Array:
    """Number the undirected pairs, sorted and distinct, without those of a user with himself."""
    low, high = np.minimum(user, friend), np.maximum(user, friend)
    return np.unique((low * users + high)[low != high])


def draw_posts(
    crowd: Crowd, links: Array, planted: list[Any], spec: NetworkSize, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return distinct cells (3, n) of (wall, poster, day), the planted ones among them, and the posts of each."""
    shape = (crowd.users, crowd.users, spec.days)
    fixed = np.concatenate([np.ravel_multi_index(event.cells, shape) for event in planted])
    ends = np.ravel_multi_index(
        ([0, 1], [1, 0], [0, spec.days - 1]), shape
    )  # the first and the last day have posts
    kept = np.unique(np.concatenate([fixed, ends]))
    found = np.empty(0, dtype=np.int64)
    # How eagerly two friends talk, and when they do most of it.
    keen = np.exp(1.5 * rng.standard_normal(links.shape[1])) * np.sqrt(
        crowd.activity[links].prod(axis=0)
    )
    busy = _draw_days(links.shape[1], spec.days, rng)
    while kept.size + found.size < spec.cells:
        drawn = np.ravel_multi_index(_draw_cells(crowd, links, keen, busy, spec, rng), shape)
        found = np.setdiff1d(np.concatenate([found, drawn]), kept)
    cells = np.sort(np.concatenate([kept, rng.permutation(found)[: spec.cells - kept.size]]))
    extra = np.zeros(cells.size, dtype=np.int64)
    for event in planted:
        np.add.at(
            extra, np.searchsorted(cells, np.ravel_multi_index(event.cells, shape)), event.more
        )
    talk = np.exp(1.2 * rng.standard_normal(cells.size))
    rest = spec.posts - cells.size - int(extra.sum())
    extra += np.bincount(_weighted(talk, max(rest, 0), rng), minlength=cells.size)
    return np.array(np.unravel_index(cells, shape)), 1 + extra


def _draw_cells(
    crowd: Crowd,
    links: Array,
    keen: Array,
    busy: Array,
    spec: NetworkSize,
    rng: np.random.Generator,
) -> tuple[Array, Array, Array]:
    """Draw ordinary posts: mostly between friends, some on one's own wall, some to others of the community."""
    link = _weighted(keen, spec.cells, rng)
    turn = rng.random(link.size) < 0.5
    wall, poster = (
        np.where(turn, links[0, link], links[1, link]),
        np.where(turn, links[1, link], links[0, link]),
    )
    kind = rng.random(link.size)
    poster = np.where(kind < 0.025, wall, np.where(kind < 0.075, _mates(crowd, wall, rng), poster))
    near = np.rint(busy[link] + rng.laplace(0, spec.days / 30, link.size)).astype(np.int64)
    inside = (near >= 0) & (near < spec.days) & (rng.random(link.size) < 0.5)
    return wall, poster, np.where(inside, near, _draw_days(link.size, spec.days, rng))


def _draw_days(count: int, days: int, rng: np.random.Generator) -> Array:
    """Draw days with growth over time and a weekly rhythm."""
    day = np.arange(days)
    weekday = (LAST_DAY - days + 1 + day + 3) % 7  # the first of January 1970 was a Thursday
    return _weighted(((day + 1) / days) ** 2.5 * np.array(_WEEK)[weekday], count, rng)


def _write_wall(
    path: Path, names: Array, cells: Array, counts: Array, first: int, rng: np.random.Generator
) -> None:
    wall, poster, day = np.repeat(cells, counts, axis=1)
    seconds = (_DAY * rng.beta(3, 2, wall.size)).astype(np.int64)  # more in the evening
    owners, posters, times = names[wall], names[poster], (first + day) * _DAY + seconds
    order = np.lexsort((times, posters, owners))
    write_table(path, [owners[order], posters[order], times[order]], "\t")


def _write_links(
    path: Path, names: Array, links: Array, first: int, days: int, rng: np.random.Generator
) -> None:
    """Write each link in both directions, with its time where it is known."""
    time = (first + _draw_days(links.shape[1], days, rng)) * _DAY + rng.integers(
        0, _DAY, links.shape[1]
    )
    known = rng.random(links.shape[1]) < 0.6
    text = np.where(known, time.astype(str), r"\N")
    both = np.concatenate([links, links[::-1]], axis=1)
    users, friends, times = names[both[0]], names[both[1]], np.concatenate([text, text])
    order = np.lexsort((friends, users))
    write_table(path, [users[order], friends[order], times[order]], "\t")
