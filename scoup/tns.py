"""FROSTT text files: N one-based indices and a value on each line."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.errors import ScoupError
from scoup.text import Columns, count_lines, read_columns

_LINE = Columns("indices from 1 and a value, as many on each line", lowest=1, real=True)
_LARGEST = 2**31 - 1


def parse_tns(path: str | PathLike[str]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return zero-based coords (N, nnz) int32 and values (nnz,) of a ``.tns`` file, plain or gzipped.

    Cells may be listed in any order; a line that is not N whole numbers from 1 and a finite value is refused.
    Lines are counted first, so that memory is that of the result and not of its pieces as well.
    """
    lines, count = count_lines(path), 0
    for table in read_columns(path, _LINE):
        if count == 0:
            coords, values = np.empty((table.shape[1] - 1, lines), np.int32), np.empty(lines)
        if table[:, :-1].max() > _LARGEST:
            raise ScoupError.expected(
                str(path), f"indices up to {_LARGEST}", int(table[:, :-1].max())
            )
        here = slice(count, count + len(table))
        np.subtract(table[:, :-1].T, 1, out=coords[:, here], casting="unsafe")
        values[here] = table[:, -1]
        count += len(table)
    return coords[:, :count], values[:count]
