"""What is planted in the simulated Facebook for the methods to find."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Plant:
    """How many spammers and birthdays there are, how large they are, and how many days a long conversation takes."""

    spammers: int
    walls: tuple[int, int]
    birthdays: int
    guests: tuple[int, int]
    talk: tuple[int, int]
    floods: int = 3
    talks: int = 5
    groups: int = 3
    members: int = 25


@dataclass(frozen=True, eq=False)
class Event:
    """One planted thing: cells (3, n) of (wall, poster, day), each with one post and ``more``."""

    kind: str
    cells: tuple[Array, Array, Array]
    more: Array = field(default_factory=lambda: np.array(0))

    def truth(self, names: Array) -> dict[str, Any]:
        """Return what goes into the truth file: the kind, and the ids and days that take part."""
        wall, poster, day = self.cells
        who = {
            "walls": np.unique(names[wall]),
            "posters": np.unique(names[poster]),
            "days": np.unique(day),
        }
        return {
            "kind": self.kind,
            **who,
            "posts": int(np.size(wall) + np.broadcast_to(self.more, np.shape(wall)).sum()),
        }


def draw_plants(
    community: Array, links: Array, days: int, plant: Plant, rng: np.random.Generator
) -> list[Event]:
    """Draw spammers, birthdays, floods, long conversations and groups; no user takes two leading parts."""
    friends = _Friends(links, community.size)
    popular = np.argsort(-friends.degree, kind="stable")[: max(4 * plant.birthdays, 8)]
    hosts = rng.choice(popular, plant.birthdays, replace=False)
    others = rng.permutation(np.setdiff1d(np.arange(community.size), hosts))
    spammers, rest = others[: plant.spammers], others[plant.spammers :]
    events = [_spam(user, friends, days, plant.walls, rng) for user in spammers]
    events += [_birthday(host, friends, days, plant.guests, rng) for host in hosts]
    events += [_flood(user, friends, days, rng) for user in rest[: plant.floods]]
    events += [
        _talk(user, friends, days, plant.talk, rng) for user in rest[plant.floods :][: plant.talks]
    ]
    sizes = np.bincount(community)
    large = np.argsort(-sizes, kind="stable")[: 3 * plant.groups]
    chosen = rng.permutation(large)[: plant.groups]
    return events + [
        _group(np.flatnonzero(community == c), plant.members, days, rng) for c in chosen
    ]


class _Friends:
    """The friends of each user, from links (2, n)."""

    def __init__(self, links: Array, users: int) -> None:
        both = np.concatenate([links, links[::-1]], axis=1)
        order = np.argsort(both[0], kind="stable")
        self.friend = both[1][order]
        self.starts = np.searchsorted(both[0][order], np.arange(users + 1))
        self.degree = np.diff(self.starts)

    def of(self, user: int) -> Array:
        return self.friend[self.starts[user] : self.starts[user + 1]]


def _late_day(days: int, rng: np.random.Generator) -> int:
    return int(rng.integers(days // 2, days))


def _spam(
    user: int, friends: _Friends, days: int, size: tuple[int, int], rng: np.random.Generator
) -> Event:
    """One poster writes on many walls on one day: his friends' first, then strangers'."""
    count = int(rng.integers(size[0], size[1] + 1))
    mine = rng.permutation(friends.of(user))
    strangers = rng.permutation(np.setdiff1d(np.arange(friends.degree.size), np.append(mine, user)))
    walls = np.concatenate([mine, strangers])[:count]
    day = np.full(count, _late_day(days, rng))
    return Event("spammer", (walls, np.full(count, user), day), np.ones(count, dtype=int))


def _birthday(
    host: int, friends: _Friends, days: int, size: tuple[int, int], rng: np.random.Generator
) -> Event:
    """Many friends write on one wall on one day."""
    guests = rng.permutation(friends.of(host))[: int(rng.integers(size[0], size[1] + 1))]
    return Event(
        "birthday", (np.full(guests.size, host), guests, np.full(guests.size, _late_day(days, rng)))
    )


def _flood(user: int, friends: _Friends, days: int, rng: np.random.Generator) -> Event:
    """One poster writes many times on one wall on one day."""
    wall = rng.choice(friends.of(user), 1)
    return Event(
        "flood", (wall, np.array([user]), np.array([_late_day(days, rng)])), rng.integers(15, 30, 1)
    )


def _talk(
    user: int, friends: _Friends, days: int, size: tuple[int, int], rng: np.random.Generator
) -> Event:
    """Two friends write to each other on many days."""
    friend = rng.choice(friends.of(user))
    when = np.sort(rng.choice(days, int(rng.integers(size[0], size[1] + 1)), replace=False))
    turn = rng.random(when.size) < 0.5
    return Event("conversation", (np.where(turn, user, friend), np.where(turn, friend, user), when))


def _group(community: Array, members: int, days: int, rng: np.random.Generator) -> Event:
    """Some of one community write on each other's walls for ten days."""
    some = rng.choice(community, min(members, community.size), replace=False)
    start = int(rng.integers(days // 2, days - 10))
    wall, poster, day = (
        part.reshape(-1) for part in np.meshgrid(some, some, start + np.arange(10), indexing="ij")
    )
    keep = (wall != poster) & (rng.random(wall.size) < 0.12)
    return Event("community", (wall[keep], poster[keep], day[keep]))
