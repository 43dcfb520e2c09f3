"""Guess from the files that a user names which is the tensor, which are matrices, and how they hang together.

The first file is the tensor, the others are matrices. ``FILE:MODE`` says which mode (by name or number) a matrix is on;
else it is the mode with the same labels, or with as many indices as the matrix has rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from scoup.errors import ScoupError
from scoup.preprocess.files import places
from scoup.raw.files import Content, Source, read
from scoup.raw.table import VALUE_NAMES, ending, is_table, read_head
from scoup.raw.wide import text_rows

LIKELY_VALUES = (*VALUE_NAMES, "values", "counts", "rating", "weight", "score", "amount", "val", "n")
LOOKED_AT = 200  # lines


def guess(
    files: Sequence[str], columns: Sequence[str] | None = None, value: str | None = None
) -> tuple[dict[str, Any], Content]:
    """Return the options of a data set made of ``files``, and what the tensor's file holds.

    ``columns`` and ``value`` are those of the tensor's table. What is guessed stands in the options, so that a user
    can see and change it.
    """
    first, *others = files
    tensor = _source(first, columns, value)
    content = read(Source.of("tensor", tensor))
    if len(content.names) < 3:
        hint = "name the file of the tensor first; the others are matrices"
        raise ScoupError.expected(first, "a tensor of three modes or more", f"{len(content.names)} modes", hint)
    matrices = [_matrix(*_named_mode(file, content.names), content) for file in others]
    return {"tensor": tensor, **({"matrices": matrices} if matrices else {})}, content


def _named_mode(file: str, names: Sequence[str]) -> tuple[str, str | int | None]:
    """Split ``FILE:MODE``.

    >>> _named_mode("links.csv:1", ["wall", "poster", "day"]), _named_mode("links.csv", ["wall"])
    (('links.csv', 'poster'), ('links.csv', None))
    """
    path, colon, mode = file.rpartition(":")
    if not colon:
        return file, None
    if mode.isdigit() and int(mode) < len(names):
        return path, names[int(mode)]
    if mode not in names:
        raise ScoupError.expected(file, f"a mode among {', '.join(names)} behind the colon", repr(mode))
    return path, mode


def _source(file: str, columns: Sequence[str] | None, value: str | None) -> dict[str, Any]:
    """The settings of the tensor's file: its columns are written out where they are the user's."""
    source: dict[str, Any] = {"file": file}
    if not is_table(file):
        return source | ({"columns": list(columns)} if columns else {})
    names = read_head(file).names
    value = value or _likely_value(file, [name for name in names if name not in (columns or ())])
    modes = list(columns) if columns else [name for name in names if name != value]
    return source | {"columns": modes} | ({"value": value} if value else {})


def _likely_value(file: str, names: Sequence[str]) -> str | None:
    """A column with a telling name, or the only one of numbers with decimal points."""
    telling = [name for name in names if name.lower() in LIKELY_VALUES]
    real = [name for name in names if _is_real(file, name)]
    return telling[0] if telling else real[0] if len(real) == 1 else None


def _is_real(file: str, name: str) -> bool:
    if ending(file) in (".parquet", ".pq"):
        from pyarrow import parquet, types

        return bool(types.is_floating(parquet.read_schema(file).field(name).type))
    cells = _column(file, name)
    return any("." in cell for cell in cells) and all(_is_number(cell) for cell in cells)


def _column(file: str, name: str) -> list[str]:
    head = read_head(file)
    place = head.names.index(name)
    return [row[place].strip() for _, row in islice(text_rows(file, head), LOOKED_AT)]


def _is_number(text: str) -> bool:
    try:
        return np.isfinite(float(text))
    except ValueError:
        return False


def _matrix(file: str, mode: str | int | None, tensor: Content) -> dict[str, Any]:
    """The settings of a matrix: its layout, and the mode that it is on."""
    source: dict[str, Any] = {"file": file} | ({"layout": "wide"} if _is_wide(file) else {})
    content = read(Source.of(file, source))
    if len(content.names) != 2:
        raise ScoupError.expected(file, "a matrix: two columns of labels, or two axes", f"{len(content.names)}")
    if content.keyed:
        found = mode or _same_labels(file, content, tensor)
        return source | {"mode": found}
    rows, columns = (len(ids) for ids in content.ids)
    found = mode or _same_size(file, rows, columns, tensor)
    size = len(tensor.ids[tensor.names.index(str(found))])
    return source | {"mode": found} | ({"transpose": True} if rows != size and columns == size else {})


def _is_wide(file: str) -> bool:
    """Whether each line of a table is a row: a label that comes once, then nothing but numbers."""
    if not is_table(file):
        return False
    names = read_head(file).names
    if ending(file) in (".parquet", ".pq"):
        return len(names) > 3
    first, *rest = (_column(file, name) for name in names)
    numeric = all(cell == "" or _is_number(cell) for column in rest for cell in column)
    return len(names) > 2 and numeric and len(set(first)) == len(first)


def _same_labels(file: str, matrix: Content, tensor: Content) -> str:
    """The mode called like the matrix's first column, or else the first with nearly as many of its labels as any."""
    if matrix.names[0] in tensor.names:
        return matrix.names[0]
    if not tensor.keyed and len(matrix.ids[0]) in map(len, tensor.ids):
        return tensor.names[[len(ids) for ids in tensor.ids].index(len(matrix.ids[0]))]
    shared = [int(np.count_nonzero(places(matrix.ids[0], ids) >= 0)) for ids in tensor.ids]
    if not any(shared):
        hint = f"write {file}:MODE with the mode that its rows are"
        raise ScoupError.expected(file, f"labels of a mode ({', '.join(tensor.names)})", matrix.ids[0][:3], hint)
    return tensor.names[next(mode for mode, count in enumerate(shared) if count >= 0.8 * max(shared))]


def _same_size(file: str, rows: int, columns: int, tensor: Content) -> str:
    sizes = [len(ids) for ids in tensor.ids]
    for size in (rows, columns):
        if size in sizes:
            return tensor.names[sizes.index(size)]
    hint = f"write {file}:MODE with the mode that its rows are"
    raise ScoupError.expected(file, f"as many rows as a mode has indices ({sizes})", f"{rows} x {columns}", hint)
