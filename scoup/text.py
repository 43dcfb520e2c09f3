"""Strict and fast reading of text tables: whole numbers (and perhaps one real number) in columns.

Text is read in pieces of whole lines, so memory is that of the numbers. Nothing is guessed: a line that is
not exactly what was asked for is an error that names the file, the line and what was found there.
"""

from __future__ import annotations

import gzip
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from scoup.errors import ScoupError

Array = NDArray[Any]
LONGEST_LINE = 1 << 16
_PIECE = 1 << 22
_EXACT = 2**53  # whole numbers up to here are exact in a float64
_NEWLINE = ord("\n")
_AGAIN = "fetch it again"

_BLANK = np.zeros(256, dtype=bool)
_BLANK[list(b" \t\r\n")] = True
_DIGIT = np.zeros(256, dtype=bool)
_DIGIT[list(b"0123456789")] = True
_REAL = _DIGIT.copy()
_REAL[list(b"+-.eE")] = True


@dataclass(frozen=True)
class Columns:
    """What each line must hold: ``what`` in words for the error, and the number of columns (None: as the first line).

    The last column may be real (``real``), or missing as ``\\N`` (``unknown``); all others are whole numbers
    from ``lowest``. ``fewest`` is the smallest number of columns when it is not given.
    """

    what: str
    count: int | None = None
    lowest: int = 0
    real: bool = False
    unknown: bool = False
    fewest: int = 2


def read_columns(path: str | PathLike[str], columns: Columns, after: int = 0) -> Iterator[Array]:
    """Yield float64 arrays (lines, columns) of a text table, plain or gzipped; ``\\N`` comes out as -1.

    Blank lines and lines that begin with ``#`` or ``%`` are skipped, and all lines up to number ``after``.
    """
    count, number, seen = columns.count, 0, False
    for piece in _pieces(Path(path)):
        if number < after:
            piece = _without_first(piece, after - number)  # noqa: PLW2901
        try:
            table = _parse(piece, columns, count)
        except ValueError:
            raise _first_bad_line(path, piece, number, columns, count) from None
        number += piece.count(b"\n")
        if len(table):
            count, seen = table.shape[1], True
            yield table
    if not seen:
        raise ScoupError.expected(str(path), f"lines of {columns.what}", "an empty file")


def _without_first(piece: bytes, lines: int) -> bytes:
    """Blank the first lines of a piece, so that the others keep their numbers."""
    parts = piece.split(b"\n", lines)
    return (
        b"\n" * (len(parts) - 1) + parts[-1] if len(parts) > lines else b"\n" * piece.count(b"\n")
    )


def first_line(path: str | PathLike[str]) -> tuple[int, list[bytes]]:
    """Return number and words of the first line that is neither blank nor a comment; no words if there is none."""
    number = 0
    for piece in _pieces(Path(path)):
        for line in piece.split(b"\n")[:-1]:
            number += 1
            words = line.split()
            if words and words[0][:1] not in (b"#", b"%"):
                return number, words
    return number, []


def count_columns(path: str | PathLike[str]) -> int:
    """Return the number of words on the first line that is neither blank nor a comment, or 0 if there is none."""
    return len(first_line(path)[1])


def count_lines(path: str | PathLike[str]) -> int:
    """Return the number of lines of a text, plain or gzipped: at least as many as it has lines with something on."""
    return sum(piece.count(b"\n") for piece in _pieces(Path(path)))


def _pieces(path: Path) -> Iterator[bytes]:
    """Yield the text in runs of whole lines, each ending in a newline."""
    rest, lines = b"", 0
    try:
        with open_text(path) as file:
            while block := file.read(_PIECE):
                whole, newline, tail = (rest + block).rpartition(b"\n")
                lines += whole.count(b"\n") + len(newline)
                if len(tail) > LONGEST_LINE:
                    raise _too_long(path, lines + 1)
                rest = tail
                if newline:
                    yield whole + newline
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ScoupError.expected(
            str(path), "a whole gzip file", f"a damaged one ({error})", "fetch it again"
        ) from None
    if rest:
        yield rest + b"\n"


def _too_long(path: Path, number: int) -> ScoupError:
    return ScoupError.expected(
        f"{path}, line {number}", f"at most {LONGEST_LINE} characters", "a longer line"
    )


def open_text(path: Path) -> gzip.GzipFile | BinaryIO:
    """Open a text file for reading bytes, unpacked where it is gzipped."""
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
    except (FileNotFoundError, IsADirectoryError):
        raise ScoupError.expected(str(path), "a text file", "no such file") from None
    if packed or path.suffix != ".gz":
        return gzip.open(path, "rb") if packed else open(path, "rb")
    raise ScoupError.expected(
        str(path), "a gzip file", "something else", "fetch it again, or drop the ending .gz"
    )


def _parse(piece: bytes, columns: Columns, count: int | None) -> Array:
    """Return the numbers of a run of lines, or raise ValueError if any line is not as asked."""
    if b"#" in piece or b"%" in piece:
        piece = b"\n".join(
            b"" if line.lstrip()[:1] in (b"#", b"%") else line for line in piece.split(b"\n")
        )
    if columns.unknown:
        piece = (
            piece.replace(b"\t\\N\n", b"\t-1\n")
            .replace(b" \\N\n", b" -1\n")
            .replace(b"\t\\N\r\n", b"\t-1\r\n")
        )
    text = np.frombuffer(piece, dtype=np.uint8)
    blank = _BLANK[text]
    starts = ~blank
    starts[1:] &= blank[:-1]
    place = np.flatnonzero(starts)
    if not place.size:
        return np.empty((0, count or columns.fewest))
    per_line = np.diff(np.searchsorted(place, np.flatnonzero(text == _NEWLINE)), prepend=0)
    count = count or int(per_line[per_line > 0][0])
    if ((per_line != count) & (per_line != 0)).any() or count < columns.fewest:
        raise ValueError("columns")
    _check_letters(text, blank, place.reshape(-1, count), columns)
    return _check_numbers(_numbers(piece, place.size).reshape(-1, count), columns)


def _check_letters(text: Array, blank: Array, starts: Array, columns: Columns) -> None:
    """Only digits may stand in whole-number columns; the last may be real, or a ``-1`` put there for unknown."""
    odd = np.flatnonzero(~(blank | _DIGIT[text]))
    if not odd.size:
        return
    if not (columns.real or columns.unknown) or not _REAL[text[odd]].all():
        raise ValueError("letters")
    token = np.searchsorted(starts.reshape(-1), odd, side="right") - 1
    if (token % starts.shape[1] != starts.shape[1] - 1).any():
        raise ValueError("letters")


def _numbers(piece: bytes, count: int) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # how numpy says that it stopped early
        try:
            numbers = np.fromstring(piece.decode("ascii"), dtype=np.float64, sep=" ")
        except DeprecationWarning:
            raise ValueError("number") from None
    if numbers.size != count:
        raise ValueError("number")
    return numbers


def _check_numbers(table: Array, columns: Columns) -> Array:
    whole = table[:, :-1] if columns.real or columns.unknown else table
    if (whole < columns.lowest).any() or (whole > _EXACT).any() or not np.isfinite(table).all():
        raise ValueError("range")
    if columns.unknown and ((table[:, -1] < -1) | (table[:, -1] > _EXACT)).any():
        raise ValueError("range")
    return table


def _first_bad_line(
    path: str | PathLike[str], piece: bytes, number: int, columns: Columns, count: int | None
) -> ScoupError:
    """Find the line that made a piece fail, by parsing line by line."""
    for offset, line in enumerate(piece.split(b"\n"), start=1):
        if len(line) > LONGEST_LINE:
            return _too_long(Path(path), number + offset)
        try:
            table = _parse(line + b"\n", columns, count)
        except ValueError:
            shown = line.decode("ascii", "backslashreplace").rstrip("\r")
            shown = repr(shown if len(shown) <= 60 else shown[:57] + "...")
            return ScoupError.expected(f"{path}, line {number + offset}", columns.what, shown)
        count = count or (table.shape[1] if len(table) else None)
    raise AssertionError("a piece failed though each of its lines is right")
