"""What a user's file is, told from its head alone: for checks before the first job."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from typing import Any

from numpy.lib import format as npy
from scipy import io as scipy_io

from scoup.errors import ScoupError
from scoup.raw import arrays
from scoup.raw.files import Source, axis_names
from scoup.raw.table import choose, ending, is_table, read_head
from scoup.text import count_columns


@dataclass(frozen=True)
class Peek:
    """What is known of a file without reading it: number of axes, their names, sizes if stated, and if it is sparse."""

    names: tuple[str, ...]
    sparse: bool
    shape: tuple[int, ...] | None = None


def peek(source: Source) -> Peek:
    """Look at a file without reading it."""
    kind = ending(source.file)
    if is_table(source.file):
        names, _ = choose(source.file, read_head(source.file).names, source.columns, source.value)
        long = source.layout == "long"
        return Peek(names if long else (names[0], "column"), long and not source.dense)
    if kind == ".tns":
        order = max(count_columns(source.file) - 1, 0)
        return Peek(axis_names(source, order), not source.dense)
    if kind == ".mtx":
        return Peek(axis_names(source, 2), not source.dense)
    shape, sparse = _shape(source, kind)
    return Peek(
        axis_names(source, len(shape)), sparse and not source.dense, None if sparse else shape
    )


def _shape(source: Source, kind: str) -> tuple[tuple[int, ...], bool]:
    """Sizes that the head of an array file states, and whether the array is sparse; a sparse one's sizes are empty."""
    try:
        if kind == ".npy":
            with open(source.file, "rb") as file:
                return _npy_shape(file), False
        if kind == ".mat":
            found = {name: (shape, what) for name, shape, what in scipy_io.whosmat(source.file)}
            if source.variable is None and set(arrays.MATLAB_PARTS[:2]) <= set(found):
                return (0,) * found["subs"][0][1], True
            shape, what = found[source.variable or next(iter(found))]
            return tuple(shape), what == "sparse"
        with zipfile.ZipFile(source.file) as archive:
            return _npz_shape(archive, source.variable)
    except FileNotFoundError:
        raise ScoupError.expected(source.file, "a file", "no such file") from None
    except Exception as error:
        why = " ".join(str(error).split())[:120]
        raise ScoupError.expected(
            source.file, f"a whole {kind} file", f"another one ({why})"
        ) from None


def _npz_shape(archive: zipfile.ZipFile, variable: str | None) -> tuple[tuple[int, ...], bool]:
    names = [name.removesuffix(".npy") for name in archive.namelist()]
    sizes = {}
    for name in names:
        with archive.open(f"{name}.npy") as file:
            sizes[name] = _npy_shape(file)
    if variable is None and set(arrays.PARTS) <= set(names):
        return (0,) * sizes["shape"][0], True
    if variable is None and "format" in names:
        return (0, 0), True
    return sizes[variable or names[0]], False


def _npy_shape(file: Any) -> tuple[int, ...]:
    version = npy.read_magic(file)
    read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    return read_header(file)[0]
