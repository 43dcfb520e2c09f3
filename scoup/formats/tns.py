"""FROSTT text files: N one-based indices and a value on each line."""

from collections.abc import Iterator, Sequence
from os import PathLike

import numpy as np

from scoup import store
from scoup.errors import ScoupError
from scoup.formats import Cells, Content, Head, Source, Stream
from scoup.records import Array
from scoup.tensor import MAX_MODE_SIZE, SparseTensor
from scoup.text import Columns, count_columns, read_columns

ENDINGS = (".tns",)
DESCRIPTION = "FROSTT: one cell per line, indices from 1, then the value"
GZIPPED = True
FIRST_INDEX = 1
_LINE = Columns("indices from 1 and a value, as many on each line", lowest=1, real=True)


def read(source: Source) -> Content:
    """Read the listed cells; the largest indices are the sizes."""
    coords, values = parse_tns(source.file)
    return Content(Cells(coords, values, tuple(int(index.max()) + 1 for index in coords)))


def peek(source: Source) -> Head:
    """Count the columns of the first line."""
    return Head(max(count_columns(source.file) - 1, 0), True)


def parse_tns(path: str | PathLike[str]) -> tuple[Array, Array]:
    """Return zero-based coords (N, nnz) int32 and values (nnz,) of a file, plain or gzipped."""
    coords, values = zip(*_batches(path), strict=True)
    return np.concatenate(coords, axis=1), np.concatenate(values)


def stream(source: Source) -> Stream:
    """Read the listed cells in batches."""
    return Stream((), False, ((list(coords), values) for coords, values in _batches(source.file)))


def _batches(path: str | PathLike[str]) -> Iterator[tuple[Array, Array]]:
    """Yield zero-based coordinates (N, n) int32 and values (n,)."""
    for table in read_columns(path, _LINE):
        if (largest := table[:, :-1].max()) > MAX_MODE_SIZE:
            raise ScoupError.expected(str(path), f"indices up to {MAX_MODE_SIZE}", int(largest))
        # Copies, or the whole table would be held.
        yield (table[:, :-1].T - 1).astype(np.int32), table[:, -1].copy()


def read_tns(path: str | PathLike[str], shape: Sequence[int] | None = None) -> SparseTensor:
    """Read a sparse tensor; without ``shape`` the largest indices are the sizes."""
    coords, values = parse_tns(path)
    return SparseTensor.from_owned_arrays(coords, values, shape or tuple(coords.max(axis=1) + 1))


def write_tns(path: str | PathLike[str], tensor: SparseTensor) -> None:
    """Write a sparse tensor, gzipped if the name ends in ``.gz``."""
    cells = zip(*(tensor.coords + 1).tolist(), tensor.values.tolist(), strict=True)
    text = "".join(" ".join(map(str, cell)) + "\n" for cell in cells).encode()
    store.write_bytes(path, store.packed(text) if str(path).endswith(".gz") else text)


def write(path: str, array: Array) -> None:
    """Write the non-zeros of an array."""
    write_tns(path, SparseTensor.from_dense(array))
