"""Facebook: wall x poster x day, with the friendships of the wall's owners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.coupled import CoupledData, Dataset
from scoup.errors import ScoupError
from scoup.raw.facebook import ORDERS, Links, Wall
from scoup.records import Labels, Provenance
from scoup.tensor import SparseTensor

Array = NDArray[Any]
VALUES = ("counts", "binary", "log")
_DAY = 86_400


@dataclass(frozen=True)
class FacebookOptions:
    """How posts become numbers.

    ``columns``: the first two columns of the wall file (published: ``owner_poster``). ``value``: ``counts`` of
    posts, ``binary``, or ``log`` (log of 1 + count). ``coupled``: tensor modes that the friendships are coupled
    to, 0 (wall) and 1 (poster) being users.
    """

    columns: str = "owner_poster"
    value: str = "counts"
    coupled: Sequence[int] = (0,)

    def __post_init__(self) -> None:
        if self.columns not in ORDERS:
            raise ScoupError.expected("columns", f"one of {', '.join(ORDERS)}", repr(self.columns))
        if self.value not in VALUES:
            raise ScoupError.expected("value", f"one of {', '.join(VALUES)}", repr(self.value))
        if sorted(self.coupled) not in ([], [0], [1], [0, 1]):
            raise ScoupError.expected(
                "coupled", "modes among 0 (wall) and 1 (poster)", list(self.coupled)
            )


def couple_facebook(
    wall: Wall, links: Links, options: FacebookOptions, provenance: Provenance | None = None
) -> Dataset:
    """Return posts as a (users, users, days) tensor and friendships as a symmetric 0/1 matrix."""
    users = np.unique(
        np.concatenate(
            [np.unique(ids) for ids in (wall.owner, wall.poster, links.user, links.friend)]
        )
    )
    day = wall.time // _DAY
    first, count = int(day.min()), int(day.max() - day.min() + 1)
    places = [np.searchsorted(users, wall.owner), np.searchsorted(users, wall.poster), day - first]
    tensor = SparseTensor(np.array(places), np.ones(day.size), (users.size, users.size, count))
    friends = friendship_matrix(
        np.searchsorted(users, links.user), np.searchsorted(users, links.friend), users.size
    )
    data = CoupledData(
        _valued(tensor, options.value), dict.fromkeys(sorted(options.coupled), friends)
    )
    dates = (first + np.arange(count)).astype("datetime64[D]").astype(str)
    days = Labels("day", dates, {"unix_day": first + np.arange(count)})
    sides = (Labels("friend", users) for _ in options.coupled)
    facts = {
        "first_day": first,
        "value": options.value,
        "posts": int(day.size),
        "links": int(links.user.size),
    }
    return Dataset(
        data,
        (Labels("wall", users), Labels("poster", users), days, *sides),
        provenance,
        facts=facts,
    )


def friendship_matrix(user: Array, friend: Array, count: int) -> SparseTensor:
    """Return the symmetric 0/1 matrix of friendships, listed once or twice; nobody is his own friend.

    >>> friendship_matrix(np.array([0, 1, 2]), np.array([1, 0, 2]), 3).to_dense().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    other = user != friend
    rows = np.concatenate([user[other], friend[other]]).astype(np.int64)
    columns = np.concatenate([friend[other], user[other]])
    cells = np.unique(rows * count + columns)
    return SparseTensor(np.array(np.divmod(cells, count)), np.ones(cells.size), (count, count))


def _valued(tensor: SparseTensor, value: str) -> SparseTensor:
    if value == "counts":
        return tensor
    return tensor.with_values(np.ones(tensor.nnz) if value == "binary" else np.log1p(tensor.values))
