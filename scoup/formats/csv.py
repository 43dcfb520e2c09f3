"""Tables as text: the delimiter is found in the first line, which holds the names of the columns
unless all are numbers.
"""

import csv
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from scoup.errors import ScoupError
from scoup.formats import GAPS, Content, Head, Preview, Source, Stream, _table
from scoup.formats._labels import LONGEST_LABEL
from scoup.records import Array
from scoup.text import Explanation, lines, parse, to_arrow

ENDINGS = (".csv", ".tsv", ".txt")
DESCRIPTION = (
    "one cell per line, with a column of labels for each mode and perhaps one of values "
    "(`--value`; without it lines are counted); a matrix may also have one row per line, "
    "its label first"
)
GZIPPED = True
LONGEST_LINE_BYTES = 1 << 26
_DELIMITERS = "\t;, "


class _Heading(NamedTuple):
    """Names of the columns, the delimiter, and how many lines the heading takes: 1, or 0 if there
    is none.
    """

    names: tuple[str, ...]
    delimiter: str
    lines: int


def read(source: Source) -> Content:
    """Read the table in blocks."""
    heading = _heading(source.file)
    return _table.read(source, heading.names, partial(_batches, source.file, heading))


def stream(source: Source) -> Stream:
    """Read the table in long form, one block after the other."""
    heading = _heading(source.file)
    return _table.stream(source, heading.names, partial(_batches, source.file, heading))


def peek(source: Source) -> Head:
    """Return what the first line tells."""
    return _table.peek(source, _heading(source.file).names)


def preview(path: str, count: int | None) -> Preview:
    """Return the columns and the cells of the first ``count`` lines (None: of all lines)."""
    heading = _heading(path)
    rows = []
    for number, line in islice(lines(path, heading.lines, LONGEST_LINE_BYTES), count):
        if line.strip():
            cells = _cells(line, heading.delimiter)
            if cells is None or len(cells) != len(heading.names):
                _, expected, got = _explain(line, heading, _table.Request([], [], gaps=True))
                raise ScoupError.expected(f"{path}, line {number}", expected, got)
            rows.append([cell.strip() for cell in cells])
    return Preview(heading.names, rows)


def _heading(path: str) -> _Heading:
    line = next(lines(path, longest=LONGEST_LINE_BYTES), (1, b""))[1].rstrip(b"\r")
    text = line.decode("utf-8-sig", "replace")
    marks = "\t" if ".tsv" in path.lower()[-7:] else _DELIMITERS
    delimiter = next((mark for mark in marks if mark in text.strip()), ",")
    cells = _cells(line, delimiter, skipinitialspace=True)
    if cells is None and "\ufffd" in text:
        raise ScoupError.expected(f"{path}, line 1", "text in UTF-8", repr(text[:40]))
    names = tuple(name.strip() for name in cells or [text])
    if len(longest := max(names, key=len)) > LONGEST_LABEL:
        expected = f"names of at most {LONGEST_LABEL} characters"
        raise ScoupError.expected(f"{path}, line 1", expected, repr(longest[:40] + "..."))
    if not any(names):
        raise ScoupError.expected(f"{path}, line 1", "the names of the columns", "an empty line")
    if all(_is_number(name) for name in names):
        return _Heading(tuple(f"column{n + 1}" for n in range(len(names))), delimiter, 0)
    if "" in names or len(set(names)) != len(names):
        raise ScoupError.expected(
            f"{path}, line 1", "a different name for each column", ", ".join(map(repr, names))
        )
    return _Heading(names, delimiter, 1)


def _cells(line: bytes, delimiter: str, **options: Any) -> list[str] | None:
    """Return the cells of a line; None if it is no text."""
    try:
        return next(csv.reader([line.decode("utf-8-sig")], delimiter=delimiter, **options), [])
    except (UnicodeDecodeError, csv.Error):
        return None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _is_right(cell: str, gaps: bool) -> bool:
    """Whether a cell is a number that is finite, or any number or a gap if gaps are allowed."""
    if gaps:
        return cell.lower() in GAPS or _is_number(cell)
    return _is_number(cell) and bool(np.isfinite(float(cell)))


def _batches(path: str, heading: _Heading, request: _table.Request) -> Iterator[_table.Batch]:
    import pyarrow as pa

    # Numbers with gaps are read as texts first: a gap may be written in many ways.
    number = pa.string() if request.gaps else pa.float64()
    kinds = dict.fromkeys(request.labels, pa.dictionary(pa.int32(), pa.string()))
    kinds |= dict.fromkeys(request.numbers, number)

    def parse_block(block: bytes) -> _table.Batch:
        if not block.strip():
            return [], [], 0
        table = to_arrow(block, heading.names, kinds, heading.delimiter).combine_chunks()
        if b'"' in block and table.num_rows != sum(map(bool, map(bytes.strip, block.split(b"\n")))):
            raise ValueError("an open quotation mark swallowed lines")
        labels = [table.column(name).chunk(0) for name in request.labels]
        texts = (text for label in labels for text in label.dictionary.to_pylist())
        if any("\n" in text or not text.strip() for text in texts):
            raise ValueError("a label is missing, or swallowed the end of its line")
        numbers = [
            _table.numbers_of(table.column(name).chunk(0), request.gaps) for name in request.numbers
        ]
        return labels, numbers, table.num_rows

    explain = partial(_explain, heading=heading, request=request)
    batches = parse(path, parse_block, explain, heading.lines, LONGEST_LINE_BYTES)
    return (batch for batch in batches if batch[2])


def _explain(line: bytes, heading: _Heading, request: _table.Request) -> Explanation:
    """Say what is wrong with a line."""
    cells, names = _cells(line, heading.delimiter), heading.names
    if cells is None:
        return "", "text in UTF-8", "other bytes"
    if len(cells) != len(names):
        shown = ", ".join(names if len(names) <= 10 else (*names[:10], "..."))
        return "", f"{len(names)} columns ({shown})", str(len(cells))
    labels, numbers = set(request.labels), set(request.numbers)
    for name, cell in zip(names, map(str.strip, cells), strict=True):
        got = repr(cell[:40]) if cell else "nothing"
        if name in labels and not cell:
            return name, "a label", got
        if name in numbers and not _is_right(cell, request.gaps):
            hint = "; perhaps it is a table in long form" if request.gaps else ""
            return name, "a number" if request.gaps else "a finite number", got + hint
    shown = repr(line[:60].decode("utf-8", "replace"))
    return "", "whole cells between quotation marks, if any", shown


def write(path: str, array: Array) -> None:
    """Write the non-zeros of an array, one per line below a heading."""
    coords = np.nonzero(array)
    names = [*(f"mode{mode}" for mode in range(array.ndim)), "value"]
    mark = "\t" if ".tsv" in path else ","
    table = np.column_stack([*coords, array[coords]])
    np.savetxt(path, table, "%.17g", mark, header=mark.join(names), comments="")
