"""Simulate events at any size: blocks of users are drawn, sorted and written one after the other.

Users belong to communities and have heavy-tailed activity; a community has pages and days that it
prefers, other events go to popular pages, and days grow busier with a weekly rhythm. Some events
are planted: groups of users who act together, and stars. Each block of users has its own random
numbers, so the cells do not depend on the shards they are written to.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scoup import store
from scoup.datasets.events import LIKES_FILE, SIZES, EventsSize
from scoup.records import Array
from scoup.seeds import generator
from scoup.shard import SHARD_CELLS, Cells, Modes, write_shards
from scoup.simulate import WEEKDAY_WEIGHTS, write_planted

BLOCK_USERS = 1 << 14
COMMUNITIES = 64
# Shares of events within the pages, and near the busy days, of a community.
COMMUNITY_PAGE_SHARE, COMMUNITY_DAY_SHARE = 0.5, 0.3
MIN_MEMBERS, MAX_MEMBERS = 20, 200
# Pages and days on which a group acts, and pages on which a star acts in one day.
GROUP_PAGES, GROUP_DAYS, STAR_PAGES = 8, 12, 100


@dataclass(frozen=True, eq=False)
class Planted:
    """Users who each act ``posts`` times on each of some pages on each of some days."""

    kind: str
    users: Array
    pages: Array
    days: Array
    posts: int

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.users.size * self.pages.size * self.days.size


def simulate(folder: Path, size: str, seed: int) -> None:
    """Write the shards of the events, the likes and what was planted."""
    write_events(folder, SIZES[size], seed)


def write_events(folder: Path, size: EventsSize, seed: int, shard_cells: int = SHARD_CELLS) -> None:
    """Write events of any size; memory is that of a shard and a block of users."""
    planted = draw_planted(size, seed)
    names = Modes(("user", "page", "day"), (None,) * 3)
    shape = (size.users, size.pages, size.days)
    write_shards(event_blocks(size, seed, planted), shape, folder, shard_cells, names)
    coords = draw_likes(size, seed)
    likes = {"coords": coords, "values": np.ones(coords.shape[1], np.float32)}
    store.write_npz(folder / LIKES_FILE, likes | {"shape": np.array([size.users, size.pages])})
    write_planted(folder, {"planted": [vars(event) for event in planted]})


def draw_planted(size: EventsSize, seed: int) -> list[Planted]:
    """Draw groups of 20 to 200 users, and stars.

    The more cells there are, the more often a group acts, so that its share of the squares stays
    about the same.
    """
    rng, posts = generator(seed, "events", "planted"), 2 + round((size.cells / 1e5) ** 0.5)
    most = min(MAX_MEMBERS, size.users // 10)
    members = np.geomspace(most, MIN_MEMBERS, size.groups).round().astype(int)
    counts = [(GROUP_PAGES, GROUP_DAYS)] * size.groups + [(STAR_PAGES, 1)] * size.stars
    users = np.split(
        rng.choice(size.users, members.sum() + size.stars, replace=False),
        np.cumsum([*members, *[1] * size.stars])[:-1],
    )
    return [
        Planted(
            "group" if len(chosen) > 1 else "star",
            np.sort(chosen),
            np.sort(rng.choice(size.pages, pages, replace=False)),
            np.sort(rng.choice(size.days, days, replace=False)),
            posts,
        )
        for chosen, (pages, days) in zip(users, counts, strict=True)
    ]


def event_blocks(size: EventsSize, seed: int, planted: Sequence[Planted]) -> Iterator[Cells]:
    """Yield the cells of each block of users, sorted and unique, and how often each came."""
    days = np.cumsum(_day_weights(size.days))
    ordinary_cells = size.cells - sum(event.cells for event in planted)
    for first in range(0, size.users, BLOCK_USERS):
        last = min(first + BLOCK_USERS, size.users)
        rng = generator(seed, "events", "block", first)
        group = draw_communities(first, last, seed)
        ordinary = _draw_block(
            first, group, size, days / days[-1], ordinary_cells / size.users, rng
        )
        parts = [ordinary, *(_cells_of(event, first, last) for event in planted)]
        repeats = [1, *(event.posts for event in planted)]
        flat = [np.ravel_multi_index(part, (last, size.pages, size.days)) for part in parts]
        weights = np.repeat(repeats, [numbers.size for numbers in flat])
        cells, inverse = np.unique(np.concatenate(flat), return_inverse=True)
        counts = np.bincount(inverse, weights).astype(np.float32)
        coords = np.unravel_index(cells, (last, size.pages, size.days))
        yield np.array(coords, np.int32), counts


def draw_communities(first: int, last: int, seed: int) -> Array:
    """Draw the community of each user of a block."""
    return generator(seed, "events", "community", first).integers(0, COMMUNITIES, last - first)


def draw_likes(size: EventsSize, seed: int) -> Array:
    """Return (user, page) of likes: one page of the user's community each."""
    pages = []
    for first in range(0, size.users, BLOCK_USERS):
        last = min(first + BLOCK_USERS, size.users)
        rng = generator(seed, "events", "likes", first)
        pages.append(_community_pages(draw_communities(first, last, seed), size.pages, rng))
    return np.array([np.arange(size.users), np.concatenate(pages)], np.int32)


def _draw_block(
    first: int,
    communities: Array,
    size: EventsSize,
    days: Array,
    mean_events: float,
    rng: np.random.Generator,
) -> tuple[Array, Array, Array]:
    """Draw the ordinary events of a block of users."""
    activity = rng.lognormal(-0.5, 1.0, communities.size)  # of mean 1
    number = np.repeat(np.arange(communities.size), rng.poisson(mean_events * activity))
    user, group = number + first, communities[number]
    popular = (size.pages * rng.random(user.size) ** 3).astype(np.int64)
    is_near = rng.random(user.size) < COMMUNITY_PAGE_SHARE
    page = np.where(is_near, _community_pages(group, size.pages, rng), popular)
    day = np.searchsorted(days, rng.random(user.size), side="right")
    span = max(size.days // 20, 1)
    busy = (group * size.days // COMMUNITIES + rng.integers(0, span, user.size)) % size.days
    is_busy = rng.random(user.size) < COMMUNITY_DAY_SHARE
    return user, page, np.where(is_busy, busy, np.minimum(day, size.days - 1))


def _community_pages(group: Array, pages: int, rng: np.random.Generator) -> Array:
    """Draw pages near the first page of each community, the first ones more often."""
    width = max(pages // 32, 1)
    return (
        group * pages // COMMUNITIES + (width * rng.random(group.size) ** 2).astype(int)
    ) % pages


def _cells_of(event: Planted, first: int, last: int) -> tuple[Array, Array, Array]:
    """Return the cells of what is planted among the users of a block."""
    users = event.users[(event.users >= first) & (event.users < last)]
    grid = np.meshgrid(users, event.pages, event.days, indexing="ij")
    user, page, day = (axis.ravel() for axis in grid)
    return user, page, day


def _day_weights(days: int) -> Array:
    """Growth over time and a weekly rhythm."""
    day = np.arange(days)
    return (1 + day / days) * WEEKDAY_WEIGHTS[day % 7]
