"""The raw files of Facebook: wall posts and friendship links, as gzipped text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.errors import ScoupError
from scoup.text import Columns, count_columns, read_columns

Array = NDArray[Any]
Path_ = str | PathLike[str]
ORDERS = ("owner_poster", "poster_owner")
LARGEST_ID = 2**31 - 1
_CENTURY = 36_525 * 86_400  # seconds


@dataclass(frozen=True, eq=False)
class Wall:
    """Wall posts: user ``poster[t]`` wrote on the wall of ``owner[t]`` at unix time ``time[t]``."""

    owner: Array
    poster: Array
    time: Array


@dataclass(frozen=True, eq=False)
class Links:
    """Friendships as listed: ``friend[t]`` appeared in the friend list of ``user[t]``."""

    user: Array
    friend: Array


def read_wall(path: Path_, order: str = "owner_poster") -> Wall:
    """Read wall posts; ``order`` says what the first two columns are (the published file: owner, poster)."""
    if order not in ORDERS:
        raise ScoupError.expected("columns", f"one of {', '.join(ORDERS)}", repr(order))
    names = order.replace("_", ", ")
    columns = Columns(f"three whole numbers from 1 ({names}, unix time)", 3, lowest=1)
    first, second, time = _columns(path, read_columns(path, columns), 3)
    if time.max() - time.min() > _CENTURY:
        got = f"{time.min()} to {time.max()}"
        raise ScoupError.expected(f"{path}: time", "unix times in seconds, within one century", got)
    return Wall(first, second, time) if order == "owner_poster" else Wall(second, first, time)


def read_links(path: Path_) -> Links:
    """Read friendships: two users, and perhaps the time of the link (or ``\\N``), which is not used."""
    count = count_columns(path)
    what = "two whole numbers from 1 (user, user)" + (
        " and a unix time or \\N" if count == 3 else ""
    )
    columns = Columns(what, min(max(count, 2), 3), lowest=1, unknown=count == 3)
    user, friend = _columns(path, read_columns(path, columns), 2)
    return Links(user, friend)


def _columns(path: Path_, tables: Iterator[Array], count: int) -> list[Array]:
    """Join the pieces of the first ``count`` columns: ids (int32), then the time (int64)."""
    kinds = (np.int32, np.int32, np.int64)[:count]
    parts = []
    for table in tables:
        if table[:, :2].max() > LARGEST_ID:
            raise ScoupError.expected(
                str(path), f"user ids up to {LARGEST_ID}", int(table[:, :2].max())
            )
        parts.append([table[:, column].astype(kind) for column, kind in enumerate(kinds)])
    return [np.concatenate(column) for column in zip(*parts, strict=True)]
