"""Long tables of a user's own: CSV and its kin, plain or gzipped, and Parquet; one column a mode, labels of any type.

A table is read in pieces; of each column only the codes of its labels are kept, so memory is that of the numbers.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.errors import ScoupError
from scoup.raw.labels import Coder, sorted_labels
from scoup.text import open_text

Array = NDArray[Any]
VALUE_NAMES = ("value", "count")
_BLOCK = 1 << 22
_DELIMITERS = "\t;, "
_DAMAGED = (gzip.BadGzipFile, EOFError, zlib.error)


@dataclass(frozen=True, eq=False)
class Table:
    """Cells in long form: line t says ``values[t]`` at labels ``ids[n][coords[n, t]]``, one for each of ``names``.

    Labels are sorted, as numbers where all of a column are numbers.
    """

    names: tuple[str, ...]
    ids: tuple[Array, ...]
    coords: Array
    values: Array


@dataclass(frozen=True)
class Head:
    """The columns of a table, and how its text is laid out; a first line of numbers alone is no heading."""

    names: tuple[str, ...]
    delimiter: str = ","
    headed: bool = True


def is_table(path: str | PathLike[str]) -> bool:
    """Whether a file is a table by the ending of its name.

    >>> is_table("posts.csv.gz"), is_table("posts.tns")
    (True, False)
    """
    return ending(path) in (".csv", ".tsv", ".txt", ".parquet", ".pq")


def ending(path: str | PathLike[str]) -> str:
    """The ending of a file's name, in small letters and without ``.gz``.

    >>> ending("a/Posts.CSV.gz")
    '.csv'
    """
    return Path(str(path).lower().removesuffix(".gz")).suffix


def read_head(path: str | PathLike[str]) -> Head:
    """Return the columns of a table without reading the rest of it."""
    if ending(path) in (".parquet", ".pq"):
        return Head(tuple(_parquet(path).schema_arrow.names))
    try:
        with open_text(Path(path)) as file:
            line = file.readline(1 << 16).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ScoupError.expected(
            f"{path}, line 1", "text in UTF-8", f"other bytes ({error.reason})"
        ) from None
    except _DAMAGED as error:
        raise _damaged(path, error) from None
    return _head_of(path, line.rstrip("\r\n"))


def _head_of(path: str | PathLike[str], line: str) -> Head:
    delimiter = (
        "\t"
        if ending(path) == ".tsv"
        else next((mark for mark in _DELIMITERS if mark in line.strip()), ",")
    )
    try:
        names = [
            name.strip()
            for name in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
        ]
    except csv.Error as error:
        raise ScoupError.expected(
            f"{path}, line 1", "the names of the columns", f"{line[:40]!r} ({error})"
        ) from None
    if not any(names):
        raise ScoupError.expected(f"{path}, line 1", "the names of the columns", "an empty line")
    if all(_is_number(name) for name in names):
        return Head(tuple(f"column{n}" for n in range(1, len(names) + 1)), delimiter, headed=False)
    if "" in names or len(set(names)) != len(names):
        raise ScoupError.expected(
            f"{path}, line 1", "a name of its own for each column", ", ".join(map(repr, names))
        )
    return Head(tuple(names), delimiter)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def choose(
    path: str | PathLike[str],
    names: Sequence[str],
    columns: Sequence[str] | None,
    value: str | None,
) -> tuple[tuple[str, ...], str | None]:
    """Return the columns of the modes, and that of the values or None where lines are counted.

    Without ``value`` it is a column called value or count, if there is one; without ``columns``, all others are modes.

    >>> choose("t.csv", ["wall", "poster", "day", "count"], None, None)
    (('wall', 'poster', 'day'), 'count')
    """
    for name in (*(columns or ()), *([value] if value else [])):
        if name not in names:
            raise ScoupError.expected(f"{path}, line 1", f"a column {name!r}", ", ".join(names))
    if value is None:
        value = next(
            (name for name in names if name.lower() in VALUE_NAMES and name not in (columns or ())),
            None,
        )
    modes = tuple(columns) if columns else tuple(name for name in names if name != value)
    if len(set(modes)) != len(modes) or value in modes:
        raise ScoupError.expected(
            f"{path}: columns", "each column once", ", ".join([*modes, str(value)])
        )
    return modes, value


def read_table(
    path: str | PathLike[str], columns: Sequence[str] | None = None, value: str | None = None
) -> Table:
    """Read a long table; each line counts 1 where there is no column of values."""
    head = read_head(path)
    modes, value = choose(path, head.names, columns, value)
    coders, codes, numbers = [Coder() for _ in modes], list[list[Array | None]](), list[Array]()
    for batch in _batches(path, head, modes, value):
        codes.append(
            [coder.code(batch.column(name)) for coder, name in zip(coders, modes, strict=True)]
        )
        numbers.append(_numbers(batch.column(value)) if value else np.ones(batch.num_rows))
        if any(code is None for code in codes[-1]) or not np.isfinite(numbers[-1]).all():
            raise _first_bad_line(path, head, modes, value, "an empty cell")
    if not codes:
        raise ScoupError.expected(str(path), "lines below the heading", "none")
    return _joined(path, modes, coders, codes, numbers)


def _joined(
    path: Any,
    modes: Sequence[str],
    coders: Sequence[Coder],
    codes: list[list[Any]],
    numbers: list[Array],
) -> Table:
    """Lay the pieces side by side, codes in the order of the sorted labels; each is let go once it is laid."""
    coords = np.empty((len(modes), sum(map(len, numbers))), np.int32)
    ids = []
    for mode, (name, coder) in enumerate(zip(modes, coders, strict=True)):
        labels, place = sorted_labels(f"{path}, column {name!r}", list(coder.known))
        ids.append(labels)
        first = 0
        for piece in codes:
            last = first + len(piece[mode])
            coords[mode, first:last] = place[piece[mode]]
            piece[mode], first = None, last
    return Table(tuple(modes), tuple(ids), coords, np.concatenate(numbers))


def _numbers(column: Any) -> Array:
    import pyarrow as pa

    return column.cast(pa.float64()).to_numpy(zero_copy_only=False)


def _batches(path: Any, head: Head, modes: Sequence[str], value: str | None) -> Iterator[Any]:
    """Yield the wanted columns in pieces, or raise the error of the first line that is not as it should be."""
    import pyarrow as pa

    wanted = [*modes, *([value] if value else [])]
    try:
        if ending(path) in (".parquet", ".pq"):
            yield from _parquet(path).iter_batches(1 << 20, columns=wanted)
        else:
            with open_text(Path(path)) as file:
                yield from _csv_reader(file, head, modes, wanted)
    except (pa.ArrowException, ValueError, TypeError) as error:
        if isinstance(error, ScoupError):
            raise
        raise _first_bad_line(path, head, modes, value, str(error)) from None
    except (*_DAMAGED, OSError) as error:
        raise _damaged(path, error) from None


def _csv_reader(file: Any, head: Head, modes: Sequence[str], wanted: Sequence[str]) -> Any:
    from pyarrow import csv as arrow
    from pyarrow import dictionary, float64, int32, string

    text = dictionary(int32(), string())
    kinds = {name: text if name in modes else float64() for name in wanted}
    return arrow.open_csv(
        file,
        arrow.ReadOptions(
            block_size=_BLOCK, column_names=list(head.names), skip_rows=int(head.headed)
        ),
        arrow.ParseOptions(delimiter=head.delimiter),
        arrow.ConvertOptions(
            column_types=kinds,
            include_columns=list(wanted),
            null_values=[],
            strings_can_be_null=False,
        ),
    )


def _parquet(path: Any) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return parquet.ParquetFile(path)
    except FileNotFoundError:
        raise ScoupError.expected(str(path), "a Parquet file", "no such file") from None
    except (pa.ArrowException, OSError, ValueError) as error:
        raise ScoupError.expected(
            str(path), "a whole Parquet file", f"another one ({_short(error)})"
        ) from None


def _damaged(path: Any, error: Any) -> ScoupError:
    return ScoupError.expected(str(path), "a whole file", f"a damaged one ({_short(error)})")


def _short(text: Any) -> str:
    words = " ".join(str(text).split()).rstrip(".")
    return words if len(words) <= 120 else words[:117] + "..."


def _first_bad_line(
    path: Any, head: Head, modes: Sequence[str], value: str | None, why: str
) -> ScoupError:
    """Find the line and the column that made a table fail, by reading it line by line."""
    if ending(path) not in (".parquet", ".pq"):
        with open_text(Path(path)) as file:
            for number, row in _rows(file, head.delimiter):
                found = _bad(row, head, modes, value) if number > head.headed else None
                if found:
                    column, wanted, got = found
                    where = f"{path}, line {number}" + (f", column {column!r}" if column else "")
                    return ScoupError.expected(where, wanted, got)
    wanted = "labels without gaps" + (f" and finite numbers in column {value!r}" if value else "")
    return ScoupError.expected(str(path), wanted, _short(why))


def _rows(file: Any, delimiter: str) -> Iterator[tuple[int, list[str] | None]]:
    """Yield number and cells of each line; None for cells that are no text."""
    for number, line in enumerate(file, start=1):
        try:
            row = next(
                csv.reader(
                    [line.decode("utf-8-sig" if number == 1 else "utf-8")], delimiter=delimiter
                ),
                [],
            )
        except (UnicodeDecodeError, csv.Error):
            yield number, None
            continue
        if row:
            yield number, row


def _bad(
    row: list[str] | None, head: Head, modes: Sequence[str], value: str | None
) -> tuple[str, str, str] | None:
    """What is wrong with a line: column, what was expected, what came."""
    if row is None:
        return "", "text in UTF-8", "other bytes"
    if len(row) != len(head.names):
        return "", f"{len(head.names)} columns ({', '.join(head.names)})", f"{len(row)}"
    for name, cell in zip(head.names, row, strict=True):
        if name in modes and not cell.strip():
            return name, "a label", "nothing"
        if name == value and not (_is_number(cell) and np.isfinite(float(cell))):
            return name, "a finite number", repr(cell[:40]) if cell.strip() else "nothing"
    return None
