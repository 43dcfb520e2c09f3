"""Matrix Market files. scipy's own reader is not used: a malformed file can end its process."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.errors import ScoupError
from scoup.tensor import SparseTensor
from scoup.text import Columns, first_line, open_text, read_columns

Array = NDArray[Any]
Path_ = str | PathLike[str]
FORMS, FIELDS, SYMMETRIES = (
    ("coordinate", "array"),
    ("real", "integer", "pattern"),
    ("general", "symmetric"),
)
_LARGEST = 2**31 - 1


def read_mtx(path: Path_) -> Array | SparseTensor:
    """Read a Matrix Market file, plain or gzipped: ``coordinate`` as a sparse matrix, ``array`` as a dense one."""
    form, field, symmetry = _banner(path)
    line, words = first_line(path)
    sizes = [int(word) for word in words if word.isdigit() and int(word) <= _LARGEST]
    wanted = 3 if form == "coordinate" else 2
    if len(sizes) != wanted or len(words) != wanted or min(sizes[:2]) < 1:
        what = "rows, columns and cells" if wanted == 3 else "rows and columns"
        raise ScoupError.expected(
            f"{path}, line {line}",
            f"the numbers of {what}",
            repr(b" ".join(words).decode("latin1")),
        )
    if form == "array":
        return _array(path, line, sizes, symmetry)
    return _coordinate(path, line, sizes, field, symmetry)


def _banner(path: Path_) -> tuple[str, str, str]:
    """Form, field and symmetry that the first line states."""
    with open_text(Path(path)) as file:
        words = file.readline(1000).decode("latin1").lower().split()
    known = (("%%matrixmarket",), ("matrix",), FORMS, FIELDS, SYMMETRIES)
    if len(words) != 5 or any(word not in some for word, some in zip(words, known, strict=True)):
        choices = " ".join("|".join(some) for some in known[2:])
        raise ScoupError.expected(
            f"{path}, line 1", f"%%MatrixMarket matrix {choices}", repr(" ".join(words)[:60])
        )
    return words[2], words[3], words[4]


def _coordinate(
    path: Path_, line: int, sizes: list[int], field: str, symmetry: str
) -> SparseTensor:
    pattern = field == "pattern"
    columns = Columns(
        "row and column from 1" + ("" if pattern else " and a value"),
        2 if pattern else 3,
        lowest=1,
        real=not pattern,
    )
    table = (
        np.concatenate(list(read_columns(path, columns, after=line)))
        if sizes[2]
        else np.empty((0, 3))
    )
    _check_count(path, len(table), sizes[2])
    if len(table) and (table[:, :2].max(axis=0) > sizes[:2]).any():
        raise ScoupError.expected(
            str(path), f"cells within {sizes[0]} x {sizes[1]}", "one outside of them"
        )
    coords, values = (
        table[:, :2].T.astype(np.int64) - 1,
        np.ones(len(table)) if pattern else table[:, 2],
    )
    if symmetry == "symmetric":
        other = coords[0] != coords[1]
        coords = np.concatenate([coords, coords[::-1, other]], axis=1)
        values = np.concatenate([values, values[other]])
        sizes = [max(sizes[:2])] * 2
    return SparseTensor(coords, values, tuple(sizes[:2]))


def _array(path: Path_, line: int, sizes: list[int], symmetry: str) -> Array:
    """Columns one after the other; of a symmetric matrix, each from its diagonal on."""
    rows, columns = sizes
    table = np.concatenate(
        list(read_columns(path, Columns("a value", 1, real=True, fewest=1), after=line))
    )[:, 0]
    if symmetry == "general":
        _check_count(path, len(table), rows * columns)
        return np.ascontiguousarray(table.reshape(columns, rows).T)
    _check_count(path, len(table), rows * (rows + 1) // 2)
    whole = np.zeros((rows, rows))
    upper = np.triu_indices(rows)
    whole[upper] = whole.T[upper] = table
    return whole


def _check_count(path: Path_, found: int, stated: int) -> None:
    if found != stated:
        raise ScoupError.expected(str(path), f"{stated} numbers, as stated", found)
