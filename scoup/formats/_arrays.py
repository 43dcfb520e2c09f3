"""What the formats of arrays share. Nothing is unpickled, and no size is trusted."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from scoup.errors import ScoupError
from scoup.formats import Cells
from scoup.records import Array


@contextmanager
def refusing(path: str, expected: str) -> Iterator[None]:
    """Turn whatever goes wrong inside a reader into one sentence that names the file."""
    try:
        yield
    except ScoupError:
        raise
    except FileNotFoundError:
        raise ScoupError.expected(path, expected, "no such file") from None
    except Exception as error:  # whatever numpy, scipy, pyarrow or zlib make of foreign bytes
        raise ScoupError.expected(path, expected, f"another one ({shorten(error)})") from None


def shorten(error: Any) -> str:
    """Return the words of an error on one line, at most 120 characters."""
    return " ".join(str(error).split())[:120].rstrip(". ")


def real_array(path: str, array: Any) -> Array:
    """Return an array of real numbers, or refuse it."""
    array = np.asanyarray(array)
    if array.dtype.kind not in "biuf":
        raise ScoupError.expected(path, "an array of real numbers", f"one of {array.dtype}")
    if array.size == 0:
        raise ScoupError.expected(path, "at least one number", f"shape {array.shape}")
    return array


def real_cells(path: str, coords: Any, values: Any, shape: Any) -> Cells:
    """Return listed cells of real numbers, or refuse them."""
    values = np.asarray(values)
    if values.dtype.kind not in "biuf":
        raise ScoupError.expected(path, "real numbers", f"values of {values.dtype}")
    return Cells(np.array(coords), values, tuple(int(size) for size in np.ravel(shape)))


def choose_array(path: str, names: list[str], variable: str | None) -> str:
    """Return the array called ``variable``, or the only one there is."""
    if variable is None and len(names) == 1:
        return names[0]
    if variable is None or variable not in names:
        hint = "say which by 'variable'" if variable is None else ""
        expected = f"an array {variable!r}" if variable else "one array"
        raise ScoupError.expected(path, expected, ", ".join(names) or "none", hint)
    return variable


def npy_head(file: Any) -> tuple[tuple[int, ...], np.dtype]:
    """Return the shape and the type that the head of an open ``.npy`` file states."""
    version = npy_format.read_magic(file)
    first = version == (1, 0)
    read = npy_format.read_array_header_1_0 if first else npy_format.read_array_header_2_0
    shape, _, dtype = read(file)
    return shape, dtype
