"""Tables whose lines are rows: the features of things, and the labels of a mode with facts about them."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.errors import ScoupError
from scoup.raw import arrays
from scoup.raw.labels import array_of
from scoup.raw.table import Head, ending, read_head
from scoup.text import open_text

Array = NDArray[Any]
UNKNOWN = ("", "na", "nan", "none", "null")


def read_wide(
    path: str, columns: Sequence[str] | None = None
) -> tuple[tuple[str, str], tuple[Array, Array], Array]:
    """Read a matrix of which each line is a row: its label, then numbers, NaN where a cell says nothing.

    Return the names of the axes, their labels, and the values (rows, columns).
    """
    head = read_head(path)
    label, *numeric = columns or head.names
    if not numeric or not {label, *numeric} <= set(head.names):
        got = ", ".join(head.names)
        raise ScoupError.expected(
            f"{path}, line 1", "a column of labels and columns of numbers", got
        )
    cells = _cells(path, head)
    values = np.column_stack([_numbers(path, name, *cells[name]) for name in numeric])
    labels = [str(text).strip() for text in cells[label][1]]
    where = f"{path}, column {label!r}"
    ids = array_of(where, labels)
    if len(np.unique(ids)) != ids.size:
        twice = next(one for n, one in enumerate(labels) if one in labels[:n])
        raise ScoupError.expected(
            where, "each label once", f"{twice!r} again", "is it a table in long form?"
        )
    return (label, "column"), (ids, array_of(path, list(numeric))), values


def _cells(path: str, head: Head) -> dict[str, tuple[Sequence[int], Sequence[Any]]]:
    """Line numbers and cells of each column."""
    if ending(path) in (".parquet", ".pq"):
        import pandas as pd

        with arrays.told(path, "a whole Parquet file"):
            frame = pd.read_parquet(path)
        return {name: (range(1, len(frame) + 1), frame[name].tolist()) for name in head.names}
    lines, rows = [], []
    for number, row in text_rows(path, head):
        lines.append(number)
        rows.append(row)
    if not rows:
        raise ScoupError.expected(path, "lines below the heading", "none")
    return {
        name: (lines, column)
        for name, column in zip(head.names, zip(*rows, strict=True), strict=True)
    }


def _numbers(path: str, name: str, lines: Sequence[int], cells: Sequence[Any]) -> Array:
    """Return a column as numbers, or raise for the first cell that is none."""
    numbers = np.full(len(cells), np.nan)
    for place, cell in enumerate(cells):
        text = str(cell).strip()
        try:
            numbers[place] = np.nan if text.lower() in UNKNOWN else float(text)
        except ValueError:
            where = f"{path}, line {lines[place]}, column {name!r}"
            raise ScoupError.expected(
                where, "a number", repr(text[:40]), "is it a table in long form?"
            ) from None
    return numbers


def text_rows(path: str, head: Head) -> Iterator[tuple[int, list[str]]]:
    """Yield number and cells of each line below the heading; each must have all columns."""
    with open_text(Path(path)) as file, arrays.told(path, "a whole text file"):
        for number, line in enumerate(file, start=1):
            try:
                row = next(csv.reader([line.decode()], delimiter=head.delimiter), [])
            except (UnicodeDecodeError, csv.Error):
                raise ScoupError.expected(
                    f"{path}, line {number}", "text in UTF-8", "other bytes"
                ) from None
            if row and number > head.headed:
                if len(row) != len(head.names):
                    raise ScoupError.expected(
                        f"{path}, line {number}", f"{len(head.names)} columns", len(row)
                    )
                yield number, row


def read_labels(path: str) -> tuple[Array, dict[str, Array]]:
    """Read the labels of a mode in its order: one a line, or a table with the labels first and facts beside them."""
    if ending(path) == ".npy":
        with arrays.told(path, "a whole .npy file of labels"):
            ids = np.load(path, allow_pickle=False)
        if ids.ndim != 1 or ids.dtype.kind not in "biufU":
            raise ScoupError.expected(path, "a list of labels", f"shape {ids.shape} of {ids.dtype}")
        return ids, {}
    if ending(path) == ".txt":
        with open_text(Path(path)) as file, arrays.told(path, "a whole text file"):
            lines = file.read().decode("utf-8-sig", "replace").splitlines()
        return array_of(path, [line.strip() for line in lines if line.strip()]), {}
    head = read_head(path)
    rows = [row for _, row in text_rows(path, head)]
    if not rows:
        raise ScoupError.expected(path, "lines below the heading", "none")
    columns = [
        array_of(path, [cell.strip() for cell in column]) for column in zip(*rows, strict=True)
    ]
    return columns[0], dict(zip(head.names[1:], columns[1:], strict=True))
