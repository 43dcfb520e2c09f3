"""Matrix Market files. scipy's reader is not used: a malformed file can end its process."""

from typing import NamedTuple

import numpy as np

from scoup.errors import ScoupError
from scoup.formats import Cells, Content, Head, Source
from scoup.records import Array
from scoup.tensor import MAX_MODE_SIZE
from scoup.text import Columns, first_line, lines, read_columns

ENDINGS = (".mtx",)
DESCRIPTION = "Matrix Market, for matrices"
GZIPPED = True
FIRST_INDEX = 1
MAX_MODES = 2
FORMS = ("coordinate", "array")
FIELDS = ("real", "integer", "pattern")
SYMMETRIES = ("general", "symmetric")


class _Header(NamedTuple):
    """What the lines before the numbers state: form, field and symmetry, sizes, and how many lines
    they are.
    """

    is_sparse: bool
    is_pattern: bool
    is_symmetric: bool
    sizes: list[int]
    lines: int

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self.sizes[:2]
        return (max(rows, columns),) * 2 if self.is_symmetric else (rows, columns)


def read(source: Source) -> Content:
    """Read ``coordinate`` as listed cells and ``array`` as a dense matrix."""
    header = _header(source.file)
    return Content((_coordinate if header.is_sparse else _array)(source.file, header))


def peek(source: Source) -> Head:
    """Return the sizes that the header states."""
    header = _header(source.file)
    return Head(2, header.is_sparse, header.shape)


def _header(path: str) -> _Header:
    words = next(lines(path), (1, b""))[1].decode("latin1").lower().split()
    known = (("%%matrixmarket",), ("matrix",), FORMS, FIELDS, SYMMETRIES)
    if len(words) != 5 or any(word not in some for word, some in zip(words, known, strict=True)):
        choices = " ".join("|".join(some) for some in known[2:])
        raise ScoupError.expected(
            f"{path}, line 1", f"%%MatrixMarket matrix {choices}", repr(" ".join(words)[:60])
        )
    is_sparse = words[2] == "coordinate"
    number, stated = first_line(path)
    sizes = [int(word) for word in stated if word.isdigit() and int(word) <= MAX_MODE_SIZE]
    if not len(sizes) == len(stated) == 2 + is_sparse or min(sizes[:2]) < 1:
        what = "rows, columns and cells" if is_sparse else "rows and columns"
        got = repr(b" ".join(stated).decode("latin1"))
        raise ScoupError.expected(f"{path}, line {number}", f"the numbers of {what}", got)
    return _Header(is_sparse, words[3] == "pattern", words[4] == "symmetric", sizes, number)


def _coordinate(path: str, header: _Header) -> Cells:
    what = "row and column from 1" + ("" if header.is_pattern else " and a value")
    columns = Columns(what, 2 + (not header.is_pattern), lowest=1, real=not header.is_pattern)
    table = np.empty((0, 3))
    if header.sizes[2]:
        table = np.concatenate(list(read_columns(path, columns, header.lines)))
    _check_count(path, len(table), header.sizes[2])
    if (table[:, :2] > header.sizes[:2]).any():
        rows, count = header.sizes[:2]
        raise ScoupError.expected(path, f"cells within {rows} x {count}", "one outside of them")
    coords = table[:, :2].T.astype(np.int32) - 1
    values = np.ones(len(table)) if header.is_pattern else table[:, 2]
    if header.is_symmetric:
        off_diagonal = coords[0] != coords[1]
        coords = np.concatenate([coords, coords[::-1, off_diagonal]], axis=1)
        values = np.concatenate([values, values[off_diagonal]])
    return Cells(coords, values, header.shape)


def _array(path: str, header: _Header) -> Array:
    """Return columns one after the other; of a symmetric matrix, each from its diagonal on."""
    rows, columns = header.shape
    value = Columns("a value", 1, real=True)
    numbers = np.concatenate(list(read_columns(path, value, header.lines)))[:, 0]
    if not header.is_symmetric:
        _check_count(path, len(numbers), rows * columns)
        return np.ascontiguousarray(numbers.reshape(columns, rows).T)
    _check_count(path, len(numbers), rows * (rows + 1) // 2)
    whole = np.zeros((rows, rows))
    upper = np.triu_indices(rows)
    whole[upper] = whole.T[upper] = numbers
    return whole


def _check_count(path: str, count: int, stated: int) -> None:
    if count != stated:
        raise ScoupError.expected(path, f"{stated} numbers, as stated", count)


def write(path: str, array: Array) -> None:
    """Write the non-zeros of a matrix."""
    from scipy import io, sparse

    io.mmwrite(path, sparse.coo_array(array))
