"""Guess from the files that a user names which is the tensor, which are matrices, and how they are coupled.

The first file is the tensor, the others are matrices. ``FILE:MODE`` says which mode (by name or number) a matrix is on;
otherwise it is the mode with the same labels, or with as many indices as the matrix has rows. What may be meant
otherwise is said in hints.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import Any

import numpy as np

from scoup.datasets.files.couple import positions_among
from scoup.errors import ScoupError
from scoup.formats import VALUE_NAMES, Content, Preview, Source, is_table, preview, read
from scoup.tensor import SparseTensor

LIKELY_VALUES = (*VALUE_NAMES, *"values counts rating weight score amount val n".split())
# Parts of names that make a column of numbers look like values, though not surely enough to take them for values.
VALUE_WORDS = (*LIKELY_VALUES[:-2], *"stars price total num freq votes hits qty quantity size".split())
PREVIEW_LINES = 200
MAX_VALUE_LEVELS = 20  # different numbers of a column that may be values
FULL_SHARE = 0.9  # of the cells listed: a whole array takes less memory than a list, and loses nothing


@dataclass(frozen=True, eq=False)
class Guess:
    """The options of a data set, what the tensor's file holds, and sentences on what may be meant otherwise."""

    options: dict[str, Any]
    content: Content
    hints: list[str] = field(default_factory=list)


def guess(
    files: Sequence[str],
    columns: Sequence[str] | None = None,
    value: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> Guess:
    """Guess the options of a data set made of ``files``.

    ``columns`` and ``value`` are those of the tensor's table; ``labels`` are files by mode. What is guessed stands in
    the options, so that a user can see and change it.
    """
    first, *others = files
    tensor = _source(first, columns, value)
    content = read(Source.of("tensor", tensor))
    if len(content.names) < 3:
        hint = "name the file of the tensor first; the others are matrices"
        if "value" in tensor and len(content.names) == 2:
            hint += f"; the values are taken from column {tensor['value']!r}, and --columns A,B,C says otherwise"
        raise ScoupError.expected(
            first, "a tensor of three modes or more", f"{len(content.names)} modes", hint
        )
    hints = [] if columns or value else _values_meant(first, tensor)
    if _is_full(content):
        tensor["dense"] = True
        hints += _zeros_meant(first, content)
    matrices = [_matrix(*_named_mode(file, content.names), content, hints) for file in others]
    options = {"tensor": tensor, "matrices": matrices, "labels": dict(labels or {})}
    return Guess({key: part for key, part in options.items() if part}, content, hints)


def _is_full(content: Content) -> bool:
    cells = content.values
    return isinstance(cells, SparseTensor) and cells.nnz >= FULL * prod(cells.shape)


def _zeros_meant(file: str, content: Content) -> list[str]:
    """Most cells are listed, but not all: are the others zero?"""
    cells = content.values
    assert isinstance(cells, SparseTensor)
    open_ = 1 - cells.nnz / prod(cells.shape)
    if open_ == 0:
        return []
    return [
        f"{file}: {100 * open_:.2g} % of the cells are not listed, or are 0, and count as 0; "
        "'observed: listed' in the configuration makes those that are not listed missing"
    ]


def _values_meant(file: str, source: Mapping[str, Any]) -> list[str]:
    """Name a column that is taken for a mode and looks like values: by its name, or the last one, of few numbers."""
    if not is_table(file) or "value" in source or len(source["columns"]) < 4:
        return []
    *_, last = columns = source["columns"]
    telling = [name for name in columns if any(word in name.lower() for word in VALUE_WORDS)]
    cells = _column(file, last)
    likely = telling or ([last] if len(set(cells)) <= min(FEW, len(cells) // 2) else [])
    numbers = [name for name in likely if _mostly_numbers(_column(file, name))]
    words = "is taken for a mode; if it holds the values, say --value"
    return [f"{file}: column {name!r} {words} {name}" for name in numbers[:1]]


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
        raise ScoupError.expected(
            file, f"a mode among {', '.join(names)} behind the colon", repr(mode)
        )
    return path, mode


def _source(file: str, columns: Sequence[str] | None, value: str | None) -> dict[str, Any]:
    """The settings of the tensor's file: its columns are written out where they are the user's."""
    source: dict[str, Any] = {"file": file}
    if not is_table(file):
        return source | ({"columns": list(columns)} if columns else {})
    names = read_head(file).names
    if not columns and not value:
        _refuse_rows(file, names)
    value = value or _likely_value(file, [name for name in names if name not in (columns or ())])
    modes = list(columns) if columns else [name for name in names if name != value]
    return source | {"columns": modes} | ({"value": value} if value else {})


def _refuse_rows(file: str, names: Sequence[str]) -> None:
    """A table with two columns of decimal numbers and none that is called a value is no list of cells."""
    real = [name for name in names if _is_real(file, name)]
    if len(real) > 1 and not any(name.lower() in LIKELY_VALUES for name in names):
        got = (
            f"numbers with decimal points in {', '.join(real[:4])}{' ...' if len(real) > 4 else ''}"
        )
        hint = "if it is a matrix, name the tensor's file first; else say --columns and --value"
        raise ScoupError.expected(
            file, "a cell a line: a column of labels for each mode, and one of values", got, hint
        )


def _likely_value(file: str, names: Sequence[str]) -> str | None:
    """A column with a telling name that holds numbers, or the only one of numbers with decimal points."""
    telling = [
        name
        for name in names
        if name.lower() in LIKELY_VALUES and any(map(_is_number, _column(file, name)))
    ]
    real = [name for name in names if _is_real(file, name)]
    return telling[0] if telling else real[0] if len(real) == 1 else None


def _is_real(file: str, name: str) -> bool:
    if ending(file) in (".parquet", ".pq"):
        from pyarrow import parquet, types

        return bool(types.is_floating(parquet.read_schema(file).field(name).type))
    cells = _column(file, name)
    return any("." in cell for cell in cells) and all(_is_number(cell) for cell in cells)


def _mostly_numbers(cells: Sequence[str]) -> bool:
    """Whether a column holds numbers, though one of them may be misspelt."""
    return sum(map(_is_number, cells)) >= 0.9 * len(cells)


def _column(file: str, name: str) -> list[str]:
    """The first cells of a column, as texts."""
    if ending(file) in (".parquet", ".pq"):
        from pyarrow import parquet

        batch = next(parquet.ParquetFile(file).iter_batches(LOOKED_AT, columns=[name]), None)
        return (
            []
            if batch is None
            else ["" if cell is None else str(cell) for cell in batch.column(0).to_pylist()]
        )
    head = read_head(file)
    place = head.names.index(name)
    return [row[place].strip() for _, row in islice(text_rows(file, head), LOOKED_AT)]


def _is_number(text: str) -> bool:
    try:
        return np.isfinite(float(text))
    except ValueError:
        return False


def _matrix(file: str, mode: str | int | None, tensor: Content, hints: list[str]) -> dict[str, Any]:
    """The settings of a matrix: its layout, and the mode that it is on."""
    source = _matrix_source(file)
    content = read(Source.of(file, source))
    if len(content.names) != 2:
        hint = "if it is the tensor, name it first" + (
            "; else leave out other columns" if is_table(file) else ""
        )
        got = f"{len(content.names)} ({', '.join(content.names)})"
        raise ScoupError.expected(file, "a matrix: two columns of labels, or two axes", got, hint)
    source |= {"dense": True} if _is_full(content) else {}
    found = [mode] if mode is not None else _fitting(file, content, tensor)
    if len(found) > 1:
        both = " and ".join(map(str, found))
        hints.append(
            f"{file}: it fits the modes {both} and is put on the first; {file}:{found[1]} says otherwise"
        )
    rows, columns = (len(ids) for ids in content.ids)
    size = len(tensor.ids[tensor.names.index(str(found[0]))])
    turned = not content.keyed and rows != size and columns == size
    return source | {"mode": found[0]} | ({"transpose": True} if turned else {})


def _matrix_source(file: str) -> dict[str, Any]:
    """How a matrix's file is read; the third column of a long table can be nothing but values."""
    if not is_table(file):
        return {"file": file}
    if _is_wide(file):
        return {"file": file, "layout": "wide"}
    names = read_head(file).names
    value = _likely_value(file, names)
    if value is None and len(names) == 3 and all(map(_is_number, _column(file, names[2]))):
        value = names[2]
    return {"file": file} | ({"value": value} if value else {})


def _fitting(file: str, matrix: Content, tensor: Content) -> list[str]:
    """The modes that a matrix can be on, likely ones first."""
    if matrix.keyed:
        return _same_labels(file, matrix, tensor)
    return _same_size(file, len(matrix.ids[0]), len(matrix.ids[1]), tensor)


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


def _same_labels(file: str, matrix: Content, tensor: Content) -> list[str]:
    """The mode called like the matrix's first column, or else those with nearly as many of its labels as any."""
    if matrix.names[0] in tensor.names:
        return [matrix.names[0]]
    if not tensor.keyed and len(matrix.ids[0]) in map(len, tensor.ids):
        rows = len(matrix.ids[0])
        return [
            name for name, ids in zip(tensor.names, tensor.ids, strict=True) if len(ids) == rows
        ]
    shared = [int(np.count_nonzero(places(matrix.ids[0], ids) >= 0)) for ids in tensor.ids]
    if not any(shared):
        hint = f"write {file}:MODE with the mode that its rows are"
        raise ScoupError.expected(
            file, f"labels of a mode ({', '.join(tensor.names)})", matrix.ids[0][:3], hint
        )
    return [
        name for name, count in zip(tensor.names, shared, strict=True) if count >= 0.8 * max(shared)
    ]


def _same_size(file: str, rows: int, columns: int, tensor: Content) -> list[str]:
    sizes = [len(ids) for ids in tensor.ids]
    found = [
        name
        for size in (rows, columns)
        for name, own in zip(tensor.names, sizes, strict=True)
        if own == size
    ]
    if found:
        return list(dict.fromkeys(found))
    hint = f"write {file}:MODE with the mode that its rows are"
    raise ScoupError.expected(
        file, f"as many rows as a mode has indices ({sizes})", f"{rows} x {columns}", hint
    )
