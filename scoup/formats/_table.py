"""What the formats of tables share: which columns are read, and what becomes of them.

A table is read in batches, and of each column of labels only the codes are kept: memory is that of
the numbers.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from scoup.errors import ScoupError
from scoup.formats import GAPS, VALUE_NAMES, Cells, Content, Head, Source, Stream
from scoup.formats._arrays import shorten
from scoup.formats._labels import Coder, array_of, sorted_labels, texts_of
from scoup.records import Array


class Request(NamedTuple):
    """The columns to read: labels, and numbers, which must be finite unless gaps are allowed."""

    labels: Sequence[str]
    numbers: Sequence[str]
    gaps: bool


# Columns of labels (Arrow arrays), columns of numbers, and how many lines these are.
Batch = tuple[list[Any], list[Array], int]
Batches = Callable[[Request], Iterator[Batch]]


def numbers_of(column: Any, gaps: bool) -> Array:
    """Return an Arrow column as numbers, NaN for gaps; raise ValueError for a cell that is no
    number.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        text = pc.utf8_lower(pc.utf8_trim_whitespace(column))
        is_unknown = pc.is_in(text, pa.array(GAPS, text.type))
        column = pc.if_else(is_unknown, pa.scalar(None, text.type), text)
    numbers = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    if not gaps and not np.isfinite(numbers).all():
        raise ValueError("a cell that is no finite number")
    return numbers


def choose(
    path: str, names: Sequence[str], columns: Sequence[str] | None, value: str | None
) -> tuple[tuple[str, ...], str | None]:
    """Return the columns of the modes, and that of the values or None if lines are counted.

    >>> choose("t.csv", ["wall", "poster", "day", "count"], None, None)
    (('wall', 'poster', 'day'), 'count')
    """
    for name in (*(columns or ()), *([value] if value else [])):
        if name not in names:
            raise ScoupError.expected(f"{path}, line 1", f"a column {name!r}", ", ".join(names))
    if value is None:
        others = (name for name in names if name not in (columns or ()))
        value = next((name for name in others if name.lower() in VALUE_NAMES), None)
    modes = tuple(columns) if columns else tuple(name for name in names if name != value)
    if len(set(modes)) != len(modes) or value in modes:
        raise ScoupError.expected(
            f"{path}: columns", "each column once", ", ".join([*modes, str(value)])
        )
    return modes, value


def peek(source: Source, names: Sequence[str]) -> Head:
    """Return what the names of the columns tell."""
    if source.layout == "wide":
        return Head(2, False, names=(_wide_columns(source, names)[0], "column"))
    modes, _ = choose(source.file, names, source.columns, source.value)
    return Head(len(modes), True, names=modes)


def read(source: Source, names: Sequence[str], batches: Batches) -> Content:
    """Read a table with the columns ``names`` from ``batches``."""
    if source.layout == "wide":
        return _read_wide(source.file, _wide_columns(source, names), batches)
    return _read_long(
        source.file, *choose(source.file, names, source.columns, source.value), batches
    )


def _read_long(path: str, modes: Sequence[str], value: str | None, batches: Batches) -> Content:
    """Read one cell per line; each line counts 1 if there is no column of values."""
    coders, codes, numbers = [Coder() for _ in modes], list[list[Any]](), list[Array]()
    for labels, values in long_batches(modes, value, batches):
        codes.append(code(path, coders, labels))
        numbers.append(values)
    _check_lines(path, sum(map(len, numbers)))
    coords = np.empty((len(modes), sum(map(len, numbers))), np.int32)
    ids = []
    for mode, (name, coder) in enumerate(zip(modes, coders, strict=True)):
        sorted_ids, position = sorted_labels(f"{path}, column {name!r}", list(coder.known))
        ids.append(sorted_ids)
        first = 0
        for batch in codes:
            last = first + len(batch[mode])
            coords[mode, first:last] = position[batch[mode]]
            batch[mode], first = None, last  # released, so that memory does not double
    cells = Cells(coords, np.concatenate(numbers), tuple(map(len, ids)))
    return Content(cells, tuple(modes), tuple(ids))


def stream(source: Source, names: Sequence[str], batches: Batches) -> Stream:
    """Read a table in long form in batches of labels and values."""
    if source.layout == "wide":
        raise ScoupError.expected(source.file, "a table in long form", "layout: wide")
    modes, value = choose(source.file, names, source.columns, source.value)
    return Stream(modes, True, long_batches(modes, value, batches))


def long_batches(
    modes: Sequence[str], value: str | None, batches: Batches
) -> Iterator[tuple[list[Any], Array]]:
    """Yield labels and values; each line counts 1 if there is no column of values."""
    for labels, values, lines in batches(Request(modes, [value] if value else [], gaps=False)):
        yield labels, values[0] if value else np.ones(lines)


def code(path: str, coders: Sequence[Coder], labels: Sequence[Any]) -> list[Array]:
    """Return the codes of columns of labels, or refuse a line without a label."""
    try:
        return [coder.code(column) for coder, column in zip(coders, labels, strict=True)]
    except ValueError as error:
        raise _no_label(path, error) from None


def _wide_columns(source: Source, names: Sequence[str]) -> Sequence[str]:
    columns = source.columns or names
    if len(columns) < 2 or not set(columns) <= set(names):
        raise ScoupError.expected(
            f"{source.file}, line 1", "a column of labels and columns of numbers", ", ".join(names)
        )
    return columns


def _read_wide(path: str, columns: Sequence[str], batches: Batches) -> Content:
    """Read one row of a matrix per line: its label, then numbers, NaN where a cell says nothing."""
    name, *numeric = columns
    labels, parts = list[str](), list[Array]()
    for columns_of_labels, values, _ in batches(Request([name], numeric, gaps=True)):
        try:
            labels += texts_of(columns_of_labels[0])
        except ValueError as error:
            raise _no_label(f"{path}, column {name!r}", error) from None
        parts.append(np.column_stack(values))
    _check_lines(path, len(labels))
    where = f"{path}, column {name!r}"
    ids = array_of(where, labels)
    if len(np.unique(ids)) != ids.size:
        again = next(label for n, label in enumerate(labels) if label in labels[:n])
        raise ScoupError.expected(
            where, "each label once", f"{again!r} again", "perhaps it is a table in long form"
        )
    return Content(np.concatenate(parts), (name, "column"), (ids, array_of(path, list(numeric))))


def _no_label(where: str, error: ValueError) -> ScoupError:
    return ScoupError.expected(where, "a label on every line", shorten(error))


def _check_lines(path: str, count: int) -> None:
    if not count:
        raise ScoupError.expected(path, "lines below the heading", "none")
