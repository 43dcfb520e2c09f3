"""Text files, plain or gzipped: parsed by pyarrow in blocks of whole lines.

Memory is that of one block. Nothing is guessed: a line that is not as expected is refused in a
sentence that names it.
"""

import gzip
import os
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np

from scoup.errors import ScoupError
from scoup.records import Array

Parsed = TypeVar("Parsed")
Explanation = tuple[str, str, str]  # column (or nothing), what was expected, what came
LONGEST_LINE_BYTES = 1 << 16
BLOCK_BYTES = 1 << 22
LARGEST_EXACT = 2**53  # whole numbers up to here are exact in a float64
MIN_EXPANDED_BYTES, MAX_EXPANSION = 1 << 28, 100
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SPACES = bytes.maketrans(b"\t\r", b"  ")


@dataclass(frozen=True)
class Columns:
    """What each line must hold: ``what`` in words for the error, and the number of columns (None:
    as the first line, but at least 2).

    The last column may be real (``real``), or missing as ``\\N`` (``unknown``); all others are
    whole numbers from ``lowest``.
    """

    what: str
    count: int | None = None
    lowest: int = 0
    real: bool = False
    unknown: bool = False


def read_columns(path: str | PathLike[str], columns: Columns, skip: int = 0) -> Iterator[Array]:
    """Yield float64 arrays (lines, columns) of numbers between blanks; ``\\N`` comes out as -1.

    Blank lines and lines that begin with ``#`` or ``%`` do not count; the first ``skip`` lines are
    not read.
    """
    count, is_empty = columns.count or count_columns(path), True

    def explain(line: bytes) -> Explanation:
        shown = line.decode("ascii", "backslashreplace").rstrip("\r")
        return "", columns.what, repr(shown if len(shown) <= 60 else shown[:57] + "...")

    for table in parse(path, lambda block: _numbers(block, columns, count), explain, skip):
        if len(table):
            is_empty = False
            yield table
    if is_empty:
        raise ScoupError.expected(str(path), f"lines of {columns.what}", "an empty file")


def _numbers(block: bytes, columns: Columns, count: int) -> Array:
    """Return the numbers of some lines, or raise ValueError if any line is not as expected."""
    import pyarrow as pa

    text = block.translate(_SPACES)
    if b"#" in text or b"%" in text:
        lines = text.split(b"\n")
        text = b"\n".join(line for line in lines if line.lstrip(b" ")[:1] not in (b"#", b"%"))
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    text = text.replace(b"\n ", b"\n").replace(b" \n", b"\n").lstrip(b" ")
    if text.translate(None, b"0123456789+-.eE \n" + b"\\N" * columns.unknown):
        raise ValueError("letters")
    if not text.strip():
        return np.empty((0, count))
    if count < (columns.count or 2):
        raise ValueError("columns")
    names = [str(position) for position in range(count)]
    kinds = dict.fromkeys(names, pa.int64()) | ({names[-1]: pa.float64()} if columns.real else {})
    parsed = to_arrow(text, names, kinds, " ", quote=False, null="\\N" if columns.unknown else None)
    table = np.column_stack([column.fill_null(-1).to_numpy() for column in parsed.columns])
    table = table.astype(np.float64, copy=False)
    whole = table[:, :-1] if columns.real or columns.unknown else table
    if not np.isfinite(table).all() or (whole < columns.lowest).any():
        raise ValueError("range")
    if (whole > LARGEST_EXACT).any() or (columns.unknown and (table[:, -1] < -1).any()):
        raise ValueError("range")
    return table


def to_arrow(
    block: bytes,
    names: Sequence[str],
    kinds: Mapping[str, Any],
    delimiter: str,
    quote: bool = True,
    null: str | None = None,
) -> Any:
    """Return the columns ``kinds`` (name: type) as an Arrow table, or raise ValueError."""
    import pyarrow as pa
    from pyarrow import csv

    return csv.read_csv(
        pa.BufferReader(block),
        csv.ReadOptions(column_names=list(names), block_size=len(block) + 1, use_threads=False),
        csv.ParseOptions(delimiter=delimiter, quote_char='"' if quote else False),
        csv.ConvertOptions(
            column_types=dict(kinds),
            include_columns=list(kinds),
            null_values=[] if null is None else [null],
            strings_can_be_null=False,
        ),
    )


def parse(
    path: str | PathLike[str],
    parse_block: Callable[[bytes], Parsed],
    explain: Callable[[bytes], Explanation],
    skip: int = 0,
    longest: int = LONGEST_LINE_BYTES,
) -> Iterator[Parsed]:
    """Yield ``parse_block(block)`` for each block of lines after the first ``skip``.

    Where it raises ValueError, the first line at fault is looked for, and ``explain(line)`` says
    what is wrong with it.
    """
    for before, block in blocks(path, skip, longest):
        try:
            parsed = parse_block(block)
        except ScoupError:
            raise
        except ValueError:
            raise _first_bad_line(path, before, block, parse_block, explain, longest) from None
        yield parsed


def _first_bad_line(
    path: str | PathLike[str],
    before: int,
    block: bytes,
    parse_block: Callable[[bytes], Any],
    explain: Callable[[bytes], Explanation],
    longest: int,
) -> ScoupError:
    lines = block.split(b"\n")[:-1]

    def fails(count: int) -> bool:
        try:
            parse_block(b"\n".join(lines[:count]) + b"\n")
        except ValueError:
            return True
        return False

    position = bisect_left(range(1, len(lines) + 1), True, key=fails)
    if len(lines[position]) > longest:
        return _too_long(path, before + position + 1, longest)
    column, expected, got = explain(lines[position])
    where = f"{path}, line {before + position + 1}" + (f", column {column!r}" if column else "")
    return ScoupError.expected(where, expected, got)


def _too_long(path: str | PathLike[str], number: int, longest: int) -> ScoupError:
    expected = f"at most {longest} characters"
    return ScoupError.expected(f"{path}, line {number}", expected, "a longer line")


def blocks(
    path: str | PathLike[str], skip: int = 0, longest: int = LONGEST_LINE_BYTES
) -> Iterator[tuple[int, bytes]]:
    """Yield the text after the first ``skip`` lines in runs of whole lines, with the number of
    lines before each.
    """
    before, rest, total = skip, b"", 0
    try:
        with open_text(path) as file:
            for _ in range(skip):
                file.readline()
            while block := file.read(BLOCK_BYTES):
                total += len(block)
                check_expansion(path, total)
                if total == len(block) and not skip:
                    block = block.removeprefix(BYTE_ORDER_MARK)
                whole, newline, rest = (rest + block).rpartition(b"\n")
                lines = whole.count(b"\n") + len(newline)
                if len(rest) > longest:
                    raise _too_long(path, before + lines + 1, longest)
                if newline:
                    yield before, whole + newline
                before += lines
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ScoupError.expected(
            str(path), "a whole gzip file", f"a damaged one ({error})", "fetch it again"
        ) from None
    except OSError as error:
        raise ScoupError.expected(str(path), "a readable file", error.strerror) from None
    if rest:
        yield before, rest + b"\n"


def lines(
    path: str | PathLike[str], skip: int = 0, longest: int = LONGEST_LINE_BYTES
) -> Iterator[tuple[int, bytes]]:
    """Yield number and content of each line after the first ``skip``."""
    for before, block in blocks(path, skip, longest):
        yield from enumerate(block.split(b"\n")[:-1], start=before + 1)


def first_line(path: str | PathLike[str]) -> tuple[int, list[bytes]]:
    """Return number and words of the first line that is neither blank nor a comment; no words if
    there is none.
    """
    number = 0
    for number, line in lines(path):
        words = line.split()
        if words and words[0][:1] not in (b"#", b"%"):
            return number, words
    return number, []


def count_columns(path: str | PathLike[str]) -> int:
    """Return the number of words on the first line that is neither blank nor a comment, or 0 if
    there is none.
    """
    return len(first_line(path)[1])


def expansion_limit(path: str | PathLike[str]) -> int:
    """Return how many bytes a file may take in memory.

    Sizes that a file declares, and what it unpacks to, may be far beyond what it can mean.
    """
    return max(MIN_EXPANDED_BYTES, MAX_EXPANSION * os.stat(path).st_size)


def check_expansion(path: str | PathLike[str], need: int) -> None:
    """Refuse a file that would take more bytes than :func:`expansion_limit`."""
    if need > (limit := expansion_limit(path)):
        raise ScoupError.expected(
            str(path),
            f"at most {limit / 1e6:.1f} MB of content",
            f"{need / 1e6:.1f} MB for a file of {os.stat(path).st_size:,} bytes",
            "number the indices without gaps, or save it uncompressed",
        )


def open_text(path: str | PathLike[str]) -> gzip.GzipFile | BinaryIO:
    """Open a text file for reading bytes, unpacked if it is gzipped."""
    try:
        with open(path, "rb") as file:
            is_packed = file.read(2) == b"\x1f\x8b"
    except (FileNotFoundError, IsADirectoryError):
        raise ScoupError.expected(str(path), "a text file", "no such file") from None
    except (OSError, ValueError) as error:
        raise ScoupError.expected(str(path), "a readable file", error) from None
    if is_packed or Path(path).suffix != ".gz":
        return gzip.open(path, "rb") if is_packed else open(path, "rb")
    raise ScoupError.expected(
        str(path), "a gzip file", "something else", "fetch it again, or drop the ending .gz"
    )
