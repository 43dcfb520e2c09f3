"""Read the raw files of Facebook: wall posts and friendship links, as gzipped text."""

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike

import numpy as np

from scoup.datasets.facebook import ColumnOrder
from scoup.errors import ScoupError
from scoup.records import Array
from scoup.text import Columns, count_columns, read_columns

FilePath = str | PathLike[str]
LARGEST_ID = 2**31 - 1
CENTURY_SECONDS = 36_525 * 86_400


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


def read_wall(path: FilePath, order: ColumnOrder = "owner_poster") -> Wall:
    """Read wall posts; ``order`` says what the first two columns are."""
    names = order.replace("_", ", ")
    columns = Columns(f"three whole numbers from 1 ({names}, unix time)", 3, lowest=1)
    first, second, time = _columns(path, read_columns(path, columns), 3)
    if time.max() - time.min() > CENTURY_SECONDS:
        got = f"{time.min()} to {time.max()}"
        raise ScoupError.expected(f"{path}: time", "unix times in seconds, within one century", got)
    return Wall(first, second, time) if order == "owner_poster" else Wall(second, first, time)


def read_links(path: FilePath) -> Links:
    """Read friendships: two users and, in some files, the time of the link, which is not used."""
    count = count_columns(path)
    timed = count == 3
    line = "two whole numbers from 1 (user, user)" + (" and a unix time or \\N" if timed else "")
    columns = Columns(line, min(max(count, 2), 3), lowest=1, unknown=timed)
    return Links(*_columns(path, read_columns(path, columns), 2))


def _columns(path: FilePath, tables: Iterator[Array], count: int) -> list[Array]:
    """Join the pieces of the first ``count`` columns: two of ids (int32), then the time (int64)."""
    dtypes = (np.int32, np.int32, np.int64)[:count]
    pieces = []
    for table in tables:
        largest = table[:, :2].max()
        if largest > LARGEST_ID:
            raise ScoupError.expected(str(path), f"user ids up to {LARGEST_ID}", int(largest))
        pieces.append([table[:, column].astype(dtype) for column, dtype in enumerate(dtypes)])
    return [np.concatenate(column) for column in zip(*pieces, strict=True)]
