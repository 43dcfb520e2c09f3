"""Simulate Facebook: wall posts and friendships, written as the published text files.

Users belong to communities and have heavy-tailed activity; most links stay inside a community, most
posts go between friends, and days grow busier with a weekly rhythm. On some days a user writes to
many friends, or many friends write on one wall. Some events are planted for the methods to find:
see :mod:`scoup.datasets.facebook.planted`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np

from scoup.datasets.facebook import LINKS_FILE, SIZES, WALL_FILE, NetworkSize
from scoup.datasets.facebook.couple import DAY_SECONDS
from scoup.datasets.facebook.planted import Event, Friends, draw_events
from scoup.records import Array
from scoup.seeds import generator
from scoup.simulate import WEEKDAY_WEIGHTS, write_planted, write_table

LAST_DAY = (date(2009, 1, 22) - date(1970, 1, 1)).days  # of the published posts
# Of ordinary busy days: how many friends take part at least, and how fast larger ones get rare.
MIN_SPREE_PARTNERS, SPREE_TAIL = 3, 3.0


@dataclass(frozen=True, eq=False)
class Crowd:
    """Users ordered by community: ``starts[c]:starts[c + 1]`` are those of community c."""

    community: Array
    starts: Array
    activity: Array

    @property
    def users(self) -> int:
        """Number of users."""
        return self.community.size


def simulate(folder: Path, size: str, seed: int) -> None:
    """Write the wall file, the links file and the planted events."""
    spec = SIZES[size]
    crowd = draw_crowd(spec.users, generator(seed, "facebook", "crowd"))
    links = draw_links(crowd, spec.links, generator(seed, "facebook", "links"))
    planting = generator(seed, "facebook", "planted")
    events = draw_events(crowd.community, links, spec.days, spec.plant, planting)
    cells, counts = draw_posts(crowd, links, events, spec, generator(seed, "facebook", "posts"))
    # Shuffled, so that ids tell nothing about communities.
    names = 1 + generator(seed, "facebook", "names").permutation(spec.users)
    first_day = LAST_DAY - spec.days + 1
    rng = generator(seed, "facebook", "times")
    _write_wall(folder / WALL_FILE, names, cells, counts, first_day, rng)
    _write_links(folder / LINKS_FILE, names, links, first_day, spec.days, rng)
    planted = {
        "first_day": first_day,
        "planted": [event.summary(names) for event in events],
        "community": crowd.community[np.argsort(names)],
    }
    write_planted(folder, planted)


def draw_crowd(users: int, rng: np.random.Generator) -> Crowd:
    """Return users in communities of heavy-tailed size, with heavy-tailed activity."""
    count = max(3, users // 100)
    weights = np.arange(1, count + 1) ** -0.7
    community = np.sort(rng.choice(count, users, p=weights / weights.sum()))
    starts = np.searchsorted(community, np.arange(count + 1))
    return Crowd(community, starts, np.exp(1.1 * rng.standard_normal(users)))


def draw_links(crowd: Crowd, count: int, rng: np.random.Generator) -> Array:
    """Return distinct undirected links (2, count), smaller index first, at least one per user."""
    everybody = np.arange(crowd.users)
    first = _pairs(everybody, _draw_neighbours(crowd, everybody, rng), crowd.users)
    lonely = np.setdiff1d(everybody, np.concatenate(np.divmod(first, crowd.users)))
    lonely_pairs = _pairs(lonely, (lonely + 1) % crowd.users, crowd.users)
    required = np.unique(np.concatenate([first, lonely_pairs]))
    others = np.empty(0, dtype=np.int64)
    while required.size + others.size < count:
        user = _draw_weighted(crowd.activity, 2 * count, rng)
        far = rng.random(user.size) < 0.25
        anybody = _draw_weighted(crowd.activity, user.size, rng)
        friend = np.where(far, anybody, _draw_neighbours(crowd, user, rng))
        pairs = _pairs(user, friend, crowd.users)
        others = np.setdiff1d(np.concatenate([others, pairs]), required)
    chosen = rng.permutation(others)[: count - required.size]
    return np.array(np.divmod(np.sort(np.concatenate([required, chosen])), crowd.users))


def _draw_weighted(weights: Array, count: int, rng: np.random.Generator) -> Array:
    """Draw indices with probability proportional to ``weights``."""
    total = np.cumsum(weights)
    index = np.searchsorted(total, rng.random(count) * total[-1], side="right")
    return np.minimum(index, weights.size - 1)


def _draw_neighbours(crowd: Crowd, user: Array, rng: np.random.Generator) -> Array:
    """Draw for each user a member of the same community, perhaps the user, by activity."""
    total = np.concatenate([[0.0], np.cumsum(crowd.activity)])
    low, high = crowd.starts[crowd.community[user]], crowd.starts[crowd.community[user] + 1]
    level = total[low] + rng.random(user.size) * (total[high] - total[low])
    return np.clip(np.searchsorted(total, level, side="right") - 1, low, high - 1)


def _pairs(user: Array, friend: Array, users: int) -> Array:
    """Return the undirected pairs of different users as sorted distinct numbers."""
    low, high = np.minimum(user, friend), np.maximum(user, friend)
    return np.unique((low * users + high)[low != high])


def draw_posts(
    crowd: Crowd,
    links: Array,
    events: Sequence[Event],
    spec: NetworkSize,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Return distinct cells (3, n) of (wall, poster, day), events included, and their posts."""
    shape = (crowd.users, crowd.users, spec.days)
    planted = [np.ravel_multi_index(event.cells, shape) for event in events]
    # The first and the last day have posts.
    ends = np.ravel_multi_index(([0, 1], [1, 0], [0, spec.days - 1]), shape)
    # How eagerly two friends talk, and when they do most of it.
    eagerness = np.exp(1.5 * rng.standard_normal(links.shape[1]))
    eagerness *= np.sqrt(crowd.activity[links].prod(axis=0))
    sprees = np.ravel_multi_index(_draw_sprees(crowd, links, eagerness, spec, rng), shape)
    required = np.unique(np.concatenate([*planted, ends, sprees]))
    others = np.empty(0, dtype=np.int64)
    busy_day = _draw_days(links.shape[1], spec.days, rng)
    while required.size + others.size < spec.cells:
        drawn = _draw_cells(crowd, links, eagerness, busy_day, spec, rng)
        numbers = np.ravel_multi_index(drawn, shape)
        others = np.setdiff1d(np.concatenate([others, numbers]), required)
    chosen = rng.permutation(others)[: spec.cells - required.size]
    cells = np.sort(np.concatenate([required, chosen]))
    extra = np.zeros(cells.size, dtype=np.int64)
    for event, numbers in zip(events, planted, strict=True):
        np.add.at(extra, np.searchsorted(cells, numbers), event.more)
    talkativeness = np.exp(1.2 * rng.standard_normal(cells.size))
    remaining = max(spec.posts - cells.size - int(extra.sum()), 0)
    extra += np.bincount(_draw_weighted(talkativeness, remaining, rng), minlength=cells.size)
    return np.array(np.unravel_index(cells, shape)), 1 + extra


def _draw_sprees(
    crowd: Crowd, links: Array, eagerness: Array, spec: NetworkSize, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Draw ordinary busy days: one user and many friends, by turns as poster and as wall.

    The number of friends has the tail of a power law, cut at ``spec.partners``.
    """
    friends = Friends(links, crowd.users)
    heat = np.concatenate([eagerness, eagerness])[friends.order]
    users = _draw_weighted(crowd.activity, spec.sprees, rng)
    rarest = (MIN_SPREE_PARTNERS / (spec.partners + 1)) ** SPREE_TAIL
    levels = rng.uniform(rarest, 1, spec.sprees) ** (-1 / SPREE_TAIL)
    counts = (MIN_SPREE_PARTNERS * levels).astype(np.int64)
    partners = []
    for user, count in zip(users, counts, strict=True):
        rows = slice(friends.starts[user], friends.starts[user + 1])
        # The smallest of these keys are a draw without replacement by eagerness.
        keys = rng.exponential(size=heat[rows].size) / heat[rows]
        partners.append(friends.friend[rows][np.argsort(keys)[:count]])
    sizes = [chosen.size for chosen in partners]
    user, partner = np.repeat(users, sizes), np.concatenate(partners)
    day = np.repeat(_draw_days(spec.sprees, spec.days, rng), sizes)
    is_poster = np.repeat(np.arange(spec.sprees) % 2 == 0, sizes)
    return np.where(is_poster, partner, user), np.where(is_poster, user, partner), day


def _draw_cells(
    crowd: Crowd,
    links: Array,
    eagerness: Array,
    busy_day: Array,
    spec: NetworkSize,
    rng: np.random.Generator,
) -> tuple[Array, Array, Array]:
    """Draw ordinary posts: most to friends, some on one's own wall, some within the community."""
    link = _draw_weighted(eagerness, spec.cells, rng)
    turn = rng.random(link.size) < 0.5
    wall = np.where(turn, links[0, link], links[1, link])
    friend = np.where(turn, links[1, link], links[0, link])
    chance = rng.random(link.size)
    neighbour = _draw_neighbours(crowd, wall, rng)
    poster = np.where(chance < 0.025, wall, np.where(chance < 0.075, neighbour, friend))
    shift = rng.laplace(0, spec.days / 30, link.size)
    near = np.rint(busy_day[link] + shift).astype(np.int64)
    is_near = (near >= 0) & (near < spec.days) & (rng.random(link.size) < 0.5)
    return wall, poster, np.where(is_near, near, _draw_days(link.size, spec.days, rng))


def _draw_days(count: int, days: int, rng: np.random.Generator) -> Array:
    """Draw days with growth over time and a weekly rhythm."""
    day = np.arange(days)
    weekday = (LAST_DAY - days + 1 + day + 3) % 7  # 1 January 1970 was a Thursday
    return _draw_weighted(((day + 1) / days) ** 2.5 * WEEKDAY_WEIGHTS[weekday], count, rng)


def _write_wall(
    path: Path, names: Array, cells: Array, counts: Array, first_day: int, rng: np.random.Generator
) -> None:
    wall, poster, day = np.repeat(cells, counts, axis=1)
    seconds = (DAY_SECONDS * rng.beta(3, 2, wall.size)).astype(np.int64)  # more in the evening
    owners, posters = names[wall], names[poster]
    times = (first_day + day) * DAY_SECONDS + seconds
    order = np.lexsort((times, posters, owners))
    write_table(path, [owners[order], posters[order], times[order]], "\t")


def _write_links(
    path: Path, names: Array, links: Array, first_day: int, days: int, rng: np.random.Generator
) -> None:
    """Write each link in both directions, with its time if that is known."""
    count = links.shape[1]
    day = first_day + _draw_days(count, days, rng)
    time = day * DAY_SECONDS + rng.integers(0, DAY_SECONDS, count)
    text = np.where(rng.random(count) < 0.6, time.astype(str), r"\N")
    both = np.concatenate([links, links[::-1]], axis=1)
    users, friends, times = names[both[0]], names[both[1]], np.concatenate([text, text])
    order = np.lexsort((friends, users))
    write_table(path, [users[order], friends[order], times[order]], "\t")
