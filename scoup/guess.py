"""Guess from the files that a user names which is the tensor, which are matrices, and how they are
coupled.

The first file is the tensor, the others are matrices. ``FILE:MODE`` says which mode (by name or
number) a matrix is on; otherwise it is the mode with the same labels, or with as many indices as
the matrix has rows. What may be meant otherwise is said in hints.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from scoup.datasets.files.couple import positions_among
from scoup.errors import ScoupError
from scoup.formats import GAPS, VALUE_NAMES, Content, Preview, Source, is_table, preview, read
from scoup.hints import at_missing_labels, at_scales, at_seconds, at_zeros
from scoup.manifest import MANIFEST_FILE
from scoup.roles import RoleGuess, guess_roles, mode_name, settle_roles
from scoup.sharded import ShardedTensor
from scoup.tensor import SparseTensor

LIKELY_VALUES = (
    *VALUE_NAMES, "values", "counts", "rating", "weight", "score", "amount", "val", "n",
)  # fmt: skip
# Parts of names that make a column of numbers look like values, though not surely enough.
VALUE_WORDS = (
    *LIKELY_VALUES[:-2], "stars", "price", "total", "num", "freq", "votes", "hits", "qty",
    "quantity", "size",
)  # fmt: skip
PREVIEW_LINES = 200
MAX_GUESSED_COLUMNS = 8  # of a table in long form; records have more
MAX_VALUE_LEVELS = 20  # different numbers of a column that may be values
FULL_SHARE = (
    0.9  # of the cells listed: a whole array takes less memory than a list, and loses nothing
)


@dataclass(frozen=True, eq=False)
class Guess:
    """The options of a data set, what the tensor's file holds, sentences on what may be meant
    otherwise, and what the modes are.
    """

    options: dict[str, Any]
    content: Content
    hints: list[str] = field(default_factory=list)
    kind: str = "files"
    roles: Sequence[RoleGuess] = ()


def guess(
    files: Sequence[str],
    columns: Sequence[str] | None = None,
    value: str | None = None,
    labels: Mapping[str, str] | None = None,
    roles: Mapping[str, str] | None = None,
) -> Guess:
    """Guess the options of a data set made of ``files``.

    ``columns`` and ``value`` are those of the tensor's table; ``labels`` are files and ``roles``
    are roles by mode. What is guessed is in the options, so that a user can see and change it.
    """
    first, *others = files
    if Path(first, MANIFEST_FILE).exists():
        return _guess_shards(first, others, roles or {})
    tensor = _tensor_source(first, columns, value)
    content = read(Source(**tensor))
    if len(content.names) < 3:
        hint = "name the file of the tensor first; the others are matrices"
        if "value" in tensor and len(content.names) == 2:
            hint += (
                f"; the values are taken from column {tensor['value']!r}, and --columns A,B,C "
                "says otherwise"
            )
        raise ScoupError.expected(
            first, "a tensor of three modes or more", f"{len(content.names)} modes", hint
        )
    hints = [] if columns or value else _hint_at_values(first, tensor)
    if _is_full(content):
        tensor["dense"] = True
        hints += at_zeros(first, content)
    matrices = [_matrix(*_split_mode(file, content.names), content, hints) for file in others]
    guesses = _roles(content, roles or {})
    hints += at_seconds(first, content, guesses)
    hints += at_missing_labels(first, content) + at_scales(first, content)
    options = {
        "tensor": tensor,
        "matrices": matrices,
        "labels": {mode_name(key, content.names): path for key, path in (labels or {}).items()},
        "roles": {guess.mode: guess.role for guess in guesses if guess.is_settled},
    }
    used = {key: part for key, part in options.items() if part}
    return Guess(used, content, hints, roles=guesses)


def _roles(content: Content, stated: Mapping[str, str]) -> list[RoleGuess]:
    return settle_roles(guess_roles(content.names, content.ids, content.keyed), stated)


def _guess_shards(folder: str, others: Sequence[str], roles: Mapping[str, str]) -> Guess:
    """Guess the options of a data set made of a folder of shards and the files of matrices."""
    tensor, hints = ShardedTensor.open(folder), list[str]()
    ids = tuple(map(tensor.labels, range(tensor.ndim)))
    content = Content(tensor, tensor.manifest.names, ids, any(tensor.manifest.labels))
    matrices = [_matrix(*_split_mode(file, content.names), content, hints) for file in others]
    guesses = _roles(content, roles)
    settled = {guess.mode: guess.role for guess in guesses if guess.is_settled}
    options = {"tensor": folder, "matrices": matrices, "roles": settled}
    return Guess(options, content, hints, "shards", guesses)


def _is_full(content: Content) -> bool:
    cells = content.values
    return isinstance(cells, SparseTensor) and cells.nnz >= FULL_SHARE * prod(cells.shape)


def _hint_at_values(file: str, source: Mapping[str, Any]) -> list[str]:
    """Name a column that is taken for a mode and looks like values: by its name, or the last one,
    of few numbers.
    """
    if not is_table(file) or "value" in source or len(source["columns"]) < 4:
        return []
    *_, last = columns = source["columns"]
    table = preview(file, PREVIEW_LINES)
    telling = [name for name in columns if any(word in name.lower() for word in VALUE_WORDS)]
    cells = _column(table, last)
    few = len(set(cells)) <= min(MAX_VALUE_LEVELS, len(cells) // 2)
    likely = telling or ([last] if few else [])
    numbers = [name for name in likely if _mostly_numbers(_column(table, name))]
    words = "is taken for a mode; if it holds the values, say --value"
    return [f"{file}: column {name!r} {words} {name}" for name in numbers[:1]]


def _split_mode(file: str, names: Sequence[str]) -> tuple[str, str | None]:
    """Split ``FILE:MODE``.

    >>> _split_mode("links.csv:1", ["wall", "poster", "day"]), _split_mode("links.csv", ["wall"])
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


def _tensor_source(file: str, columns: Sequence[str] | None, value: str | None) -> dict[str, Any]:
    """Return the settings of the tensor's file, with the columns of a table written out."""
    source: dict[str, Any] = {"file": file}
    if not is_table(file):
        return source | ({"columns": list(columns)} if columns else {})
    table = preview(file, PREVIEW_LINES)
    names = table.names
    if not columns:
        _refuse_many(file, names)
    if not columns and not value:
        _refuse_rows(file, table)
    value = value or _likely_value(table, [name for name in names if name not in (columns or ())])
    modes = list(columns) if columns else [name for name in names if name != value]
    return source | {"columns": modes} | ({"value": value} if value else {})


def _refuse_many(file: str, names: Sequence[str]) -> None:
    """A table of records has many columns, of which a few are meant."""
    if len(names) > MAX_GUESSED_COLUMNS:
        raise ScoupError.expected(
            file,
            f"a column of labels for each mode, at most {MAX_GUESSED_COLUMNS} in all",
            f"{len(names)} ({', '.join(names[:4])} ...)",
            "say which are modes by --columns A,B,C, and by --value which holds values, if any",
        )


def _refuse_rows(file: str, table: Preview) -> None:
    """A table with two columns of decimal numbers and none that is called a value is no list of
    cells.
    """
    real = [name for name in table.names if _is_real(_column(table, name))]
    if len(real) > 1 and not any(name.lower() in LIKELY_VALUES for name in table.names):
        shown = ", ".join(real[:4]) + (" ..." if len(real) > 4 else "")
        raise ScoupError.expected(
            file,
            "one cell per line: a column of labels for each mode, and one of values",
            f"numbers with decimal points in {shown}",
            "if it is a matrix, name the tensor's file first; if it has several columns of values, "
            "write each on a line of its own; else say --columns and --value",
        )


def _likely_value(table: Preview, names: Sequence[str]) -> str | None:
    """Return a column with a telling name that holds numbers, or the only one of numbers with
    decimal points.
    """
    likely = [name for name in names if name.lower() in LIKELY_VALUES]
    telling = [name for name in likely if any(map(_is_number, _column(table, name)))]
    real = [name for name in names if _is_real(_column(table, name))]
    return telling[0] if telling else real[0] if len(real) == 1 else None


def _column(table: Preview, name: str) -> list[str]:
    """Return the first cells of a column, as texts."""
    position = table.names.index(name)
    return [row[position] for row in table.rows]


def _is_real(cells: Sequence[str]) -> bool:
    return any("." in cell for cell in cells) and all(map(_is_number, cells))


def _mostly_numbers(cells: Sequence[str]) -> bool:
    """Whether a column holds numbers, though some may be misspelt."""
    return sum(map(_is_number, cells)) >= 0.9 * len(cells)


def _is_number(text: str) -> bool:
    try:
        return np.isfinite(float(text))
    except ValueError:
        return False


def _matrix(file: str, mode: str | None, tensor: Content, hints: list[str]) -> dict[str, Any]:
    """Return the settings of a matrix: its layout, and the mode that it is on."""
    source = _matrix_source(file)
    content = read(Source(**source))
    if len(content.names) != 2:
        hint = f"if it is the tensor, name it first{_hint_at_text(file)}"
        got = f"{len(content.names)} ({', '.join(content.names)})"
        raise ScoupError.expected(file, "a matrix: two columns of labels, or two axes", got, hint)
    hints += at_scales(file, content)
    modes = [mode] if mode is not None else _fitting_modes(file, content, tensor)
    if len(modes) > 1:
        hints.append(
            f"{file}: it fits the modes {' and '.join(modes)} and is put on the first; "
            f"{file}:{modes[1]} says otherwise"
        )
    rows, columns = (len(ids) for ids in content.ids)
    size = len(tensor.ids[tensor.names.index(modes[0])])
    source |= {"dense": True} if _is_full(content) else {}
    source |= {"mode": modes[0]}
    is_turned = not content.keyed and rows != size and columns == size
    return source | ({"transpose": True} if is_turned else {})


def _matrix_source(file: str) -> dict[str, Any]:
    """Return how a matrix's file is read; the third column of a long table can be nothing but
    values.
    """
    if not is_table(file):
        return {"file": file}
    table = preview(file, PREVIEW_LINES)
    if _is_wide(table):
        return {"file": file, "layout": "wide"}
    names = table.names
    value = _likely_value(table, names)
    if value is None and len(names) == 3 and all(map(_is_number, _column(table, names[2]))):
        value = names[2]
    return {"file": file} | ({"value": value} if value else {})


def _is_wide(table: Preview) -> bool:
    """Whether each line of a table is a row: a label that comes once, then nothing but numbers."""
    labels = [row[0] for row in table.rows]
    is_unique = len(set(labels)) == len(labels)
    return len(table.names) > 2 and is_unique and not _text_columns(table)


def _text_columns(table: Preview) -> list[str]:
    """List the columns behind the first that hold more than numbers and gaps."""

    def is_numeric(name: str) -> bool:
        cells = (cell.strip().lower() for cell in _column(table, name))
        return all(cell in GAPS or _is_number(cell) for cell in cells)

    return [name for name in table.names[1:] if not is_numeric(name)]


def _hint_at_text(file: str) -> str:
    """Name the columns without which each line of a table would be a row of a matrix."""
    if not is_table(file):
        return ""
    if text := _text_columns(preview(file, PREVIEW_LINES)):
        return f"; if each line is a row, leave out what is no number ({', '.join(text)})"
    return "; else leave out other columns"


def _fitting_modes(file: str, matrix: Content, tensor: Content) -> list[str]:
    """Return the modes that a matrix can be on, likely ones first."""
    sizes, (rows, columns) = list(map(len, tensor.ids)), map(len, matrix.ids)
    hint = f"write {file}:MODE with the mode that its rows are"

    def of_size(size: int) -> list[str]:
        return [name for name, own in zip(tensor.names, sizes, strict=True) if own == size]

    if not matrix.keyed:
        if modes := list(dict.fromkeys([*of_size(rows), *of_size(columns)])):
            return modes
        raise ScoupError.expected(
            file, f"as many rows as a mode has indices ({sizes})", f"{rows} x {columns}", hint
        )
    if matrix.names[0] in tensor.names:
        return [matrix.names[0]]
    if not tensor.keyed and rows in sizes:
        return of_size(rows)
    shared = [int(np.count_nonzero(positions_among(matrix.ids[0], ids) >= 0)) for ids in tensor.ids]
    if not any(shared):
        raise ScoupError.expected(
            file, f"labels of a mode ({', '.join(tensor.names)})", matrix.ids[0][:3], hint
        )
    # Nearly as many labels as the best mode has: users who post and users who are posted to.
    enough = 0.8 * max(shared)
    return [name for name, count in zip(tensor.names, shared, strict=True) if count >= enough]
