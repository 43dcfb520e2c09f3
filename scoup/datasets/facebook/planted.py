"""Events planted in the simulated Facebook for the methods to find."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scoup.datasets.facebook import Plant
from scoup.records import Array


@dataclass(frozen=True, eq=False)
class Event:
    """One planted event: cells (3, n) of (wall, poster, day), each with 1 + ``more`` posts."""

    kind: str
    cells: tuple[Array, Array, Array]
    more: Array = field(default_factory=lambda: np.array(0))

    def summary(self, names: Array) -> dict[str, Any]:
        """Return the kind of event, its users and days, and its number of posts."""
        wall, poster, day = self.cells
        return {
            "kind": self.kind,
            "walls": np.unique(names[wall]),
            "posters": np.unique(names[poster]),
            "days": np.unique(day),
            "posts": int(np.size(wall) + np.broadcast_to(self.more, np.shape(wall)).sum()),
        }


def draw_events(
    community: Array, links: Array, days: int, plant: Plant, rng: np.random.Generator
) -> list[Event]:
    """Draw spammers, birthdays, floods, conversations and groups; nobody leads two events."""
    friends = Friends(links, community.size)
    popular = np.argsort(-friends.degree, kind="stable")[: max(4 * plant.birthdays, 8)]
    hosts = rng.choice(popular, plant.birthdays, replace=False)
    others = rng.permutation(np.setdiff1d(np.arange(community.size), hosts))
    starts = np.cumsum([plant.spammers, plant.floods, plant.talks])
    spammers, flooders, talkers, _ = np.split(others, starts)
    events = [_spam(user, friends, days, plant.walls, rng) for user in spammers]
    events += [_birthday(host, friends, days, plant.guests, rng) for host in hosts]
    events += [_flood(user, friends, days, rng) for user in flooders]
    events += [_talk(user, friends, days, plant.talk_days, rng) for user in talkers]
    largest = np.argsort(-np.bincount(community), kind="stable")[: 3 * plant.groups]
    for chosen in rng.permutation(largest)[: plant.groups]:
        events.append(_group(np.flatnonzero(community == chosen), plant.members, days, rng))
    return events


class Friends:
    """The friends of each user, from links (2, n): those of u are ``starts[u]:starts[u + 1]``.

    ``order`` says which link, listed in both directions, each place of ``friend`` comes from.
    """

    def __init__(self, links: Array, users: int) -> None:
        both = np.concatenate([links, links[::-1]], axis=1)
        self.order = np.argsort(both[0], kind="stable")
        self.friend = both[1][self.order]
        self.starts = np.searchsorted(both[0][self.order], np.arange(users + 1))
        self.degree = np.diff(self.starts)

    def of(self, user: int) -> Array:
        """Return the friends of one user."""
        return self.friend[self.starts[user] : self.starts[user + 1]]


def _draw_size(bounds: tuple[int, int], rng: np.random.Generator) -> int:
    return int(rng.integers(bounds[0], bounds[1] + 1))


def _draw_late_day(days: int, rng: np.random.Generator) -> int:
    return int(rng.integers(days // 2, days))


def _spam(
    user: int, friends: Friends, days: int, bounds: tuple[int, int], rng: np.random.Generator
) -> Event:
    """One poster writes twice on many walls on one day, those of friends first."""
    count = _draw_size(bounds, rng)
    known = rng.permutation(friends.of(user))
    everybody = np.arange(friends.degree.size)
    strangers = rng.permutation(np.setdiff1d(everybody, np.append(known, user)))
    walls = np.concatenate([known, strangers])[:count]
    day = np.full(count, _draw_late_day(days, rng))
    return Event("spammer", (walls, np.full(count, user), day), np.ones(count, dtype=int))


def _birthday(
    host: int, friends: Friends, days: int, bounds: tuple[int, int], rng: np.random.Generator
) -> Event:
    """Many friends write on one wall on one day."""
    guests = rng.permutation(friends.of(host))[: _draw_size(bounds, rng)]
    day = np.full(guests.size, _draw_late_day(days, rng))
    return Event("birthday", (np.full(guests.size, host), guests, day))


def _flood(user: int, friends: Friends, days: int, rng: np.random.Generator) -> Event:
    """One poster writes many times on one wall on one day."""
    wall = rng.choice(friends.of(user), 1)
    day = np.array([_draw_late_day(days, rng)])
    return Event("flood", (wall, np.array([user]), day), rng.integers(15, 30, 1))


def _talk(
    user: int, friends: Friends, days: int, bounds: tuple[int, int], rng: np.random.Generator
) -> Event:
    """Two friends write to each other on many days."""
    friend = rng.choice(friends.of(user))
    day = np.sort(rng.choice(days, _draw_size(bounds, rng), replace=False))
    turn = rng.random(day.size) < 0.5
    return Event("conversation", (np.where(turn, user, friend), np.where(turn, friend, user), day))


def _group(community: Array, count: int, days: int, rng: np.random.Generator) -> Event:
    """Some members of one community write on each other's walls for ten days."""
    members = rng.choice(community, min(count, community.size), replace=False)
    first_day = int(rng.integers(days // 2, days - 10))
    axes = np.meshgrid(members, members, first_day + np.arange(10), indexing="ij")
    wall, poster, day = (axis.reshape(-1) for axis in axes)
    written = (wall != poster) & (rng.random(wall.size) < 0.12)
    return Event("community", (wall[written], poster[written], day[written]))
