"""Parquet tables: labels keep their types, numbers and dates among them."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from scoup.errors import ScoupError
from scoup.formats import Content, Head, Preview, Source, Stream, _table
from scoup.formats._arrays import refusing, shorten
from scoup.records import Array
from scoup.text import check_expansion

ENDINGS = (".parquet", ".pq")
DESCRIPTION = "a table as in `.csv`, in either layout"
BATCH_LINES = 1 << 20
_WHOLE_FILE = "a whole Parquet file"
_UNNAMED_INDEX = re.compile(r"__index_level_\d+__")  # what pandas calls one, which is no column


def read(source: Source) -> Content:
    """Read the table in batches."""
    return _table.read(source, _names(source.file), partial(_batches, source.file))


def stream(source: Source) -> Stream:
    """Read the table in long form in batches; columns ``index0``, ``index1``, ... are positions."""
    table = _table.stream(source, _names(source.file), partial(_batches, source.file))
    if table.names != tuple(f"index{mode}" for mode in range(len(table.names))):
        return table
    positions = (([index.to_numpy() for index in labels], v) for labels, v in table.batches)
    return Stream((), False, positions)


def peek(source: Source) -> Head:
    """Return what the names of the columns tell."""
    return _table.peek(source, _names(source.file))


def preview(path: str, count: int | None) -> Preview:
    """Return the columns and the cells of the first ``count`` lines (None: of all lines)."""
    rows: list[list[str]] = []
    names = _names(path)
    with refusing(path, _WHOLE_FILE):
        file = _open(path)
        total = file.metadata.num_rows if count is None else count
        for batch in file.iter_batches(max(min(total, BATCH_LINES), 1), columns=names):
            if len(rows) >= total:
                break
            columns = [[_text(cell) for cell in column.to_pylist()] for column in batch.columns]
            rows += map(list, zip(*columns, strict=True))
    return Preview(names, rows[:total])


def _text(cell: Any) -> str:
    return "" if cell is None or str(cell) == "nan" else str(cell).strip()


def _open(path: str) -> Any:
    from pyarrow import parquet

    file = parquet.ParquetFile(path)
    head = file.metadata
    unpacked = sum(head.row_group(n).total_byte_size for n in range(head.num_row_groups))
    check_expansion(path, max(unpacked, 8 * head.num_rows * head.num_columns))
    return file


def _names(path: str) -> tuple[str, ...]:
    with refusing(path, _WHOLE_FILE):
        names = _open(path).schema_arrow.names
    return tuple(name for name in names if not _UNNAMED_INDEX.fullmatch(name))


def _batches(path: str, request: _table.Request) -> Iterator[_table.Batch]:
    with refusing(path, _WHOLE_FILE):
        columns = [*request.labels, *request.numbers]
        for batch in _open(path).iter_batches(BATCH_LINES, columns=columns):
            labels = [batch.column(name) for name in request.labels]
            numbers = [_numbers(path, name, batch, request.gaps) for name in request.numbers]
            yield labels, numbers, batch.num_rows


def _numbers(path: str, name: str, batch: Any, gaps: bool) -> Array:
    from pyarrow import ArrowException

    try:
        return _table.numbers_of(batch.column(name), gaps)
    except (ValueError, ArrowException) as error:
        expected = "numbers" if gaps else "finite numbers"
        raise ScoupError.expected(
            f"{path}, column {name!r}", expected, f"others ({shorten(error)})"
        ) from None


def write(path: str, array: Array) -> None:
    """Write the non-zeros of an array, one per line."""
    import pyarrow as pa
    from pyarrow import parquet

    coords = np.nonzero(array)
    columns = {f"mode{mode}": index for mode, index in enumerate(coords)}
    parquet.write_table(pa.table(columns | {"value": array[coords]}), path)
