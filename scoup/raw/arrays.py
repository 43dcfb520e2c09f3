"""Arrays of a user's own: NumPy and MATLAB 5 files. Nothing is unpickled, no size is believed."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import io as scipy_io
from scipy import sparse

from scoup.errors import ScoupError
from scoup.raw import mat5
from scoup.tensor import SparseTensor

Array = NDArray[Any]
Path_ = str | PathLike[str]
# The names that a sparse tensor's parts have in an archive: NumPy people count from 0, MATLAB people from 1.
PARTS, MATLAB_PARTS = ("coords", "values", "shape"), ("subs", "vals", "size")


def read_npy(path: Path_) -> Array:
    """Map a ``.npy`` file of real numbers into memory."""
    with told(path, "a whole .npy file of numbers"):
        return _real(path, np.load(path, mmap_mode="r", allow_pickle=False))


def read_npz(path: Path_, variable: str | None = None) -> Array | SparseTensor:
    """Read an ``.npz`` file: one array, or coords, values and shape of a sparse one, or a matrix saved by scipy."""
    with told(path, "a whole .npz file of numbers"), np.load(path, allow_pickle=False) as archive:
        names = list(archive.files)
        if "format" in names and variable is None:
            return _scipy(path, archive)
        if variable is None and set(PARTS) <= set(names):
            shape = tuple(int(size) for size in archive["shape"])
            return _cells(path, archive["coords"], archive["values"], shape)
        return _real(path, archive[_choose(path, names, variable)])


def _scipy(path: Path_, archive: Any) -> SparseTensor:
    parts = {name: archive[name] for name in archive.files}
    kind, shape = (
        bytes(parts["format"].item()).decode(),
        tuple(int(size) for size in parts["shape"]),
    )
    if kind == "coo":
        coords = parts["coords"] if "coords" in parts else np.vstack([parts["row"], parts["col"]])
        return _cells(path, coords, parts["data"], shape)
    if kind not in ("csr", "csc"):
        raise ScoupError.expected(str(path), "a matrix in the form coo, csr or csc", kind)
    make = sparse.csr_array if kind == "csr" else sparse.csc_array
    matrix = make((parts["data"], parts["indices"], parts["indptr"]), shape=shape)
    # Without this a wrong pointer would lead scipy outside its arrays.
    matrix.check_format(full_check=True)
    coo = matrix.tocoo()
    return _cells(path, np.vstack(coo.coords), coo.data, shape)


def read_mat(path: Path_, variable: str | None = None) -> Array | SparseTensor:
    """Read a MATLAB 5 file: one array, or subs, vals and size of a sparse one (as of a ``sptensor``)."""
    content = _bytes(path)
    if content[:10] == b"MATLAB 7.3" or content[:4] == b"\x89HDF":
        raise ScoupError.expected(
            str(path), "a MATLAB 5 file", "one of version 7.3", "save it with the option -v7"
        )
    try:
        mat5.check(content)
    except mat5.DamagedError as error:
        raise ScoupError.expected(
            str(path), "a whole MATLAB 5 file", f"another one ({error})"
        ) from None
    with told(path, "a whole MATLAB 5 file"):
        found = scipy_io.loadmat(io.BytesIO(content))
        arrays = {name: value for name, value in found.items() if not name.startswith("__")}
        if variable is None and set(MATLAB_PARTS[:2]) <= set(arrays):
            return _subs(path, arrays)
        array = arrays[_choose(path, list(arrays), variable)]
        return _coo(path, array) if sparse.issparse(array) else _real(path, array)


def _subs(path: Path_, arrays: Mapping[str, Array]) -> SparseTensor:
    coords = np.asarray(arrays["subs"])
    if (
        coords.ndim != 2
        or not coords.size
        or not ((coords == np.floor(coords)) & (np.abs(coords) < 2**31)).all()
    ):
        raise ScoupError.expected(
            f"{path}: subs", "whole numbers from 1, a row for each cell", f"shape {coords.shape}"
        )
    coords = coords.T.astype(np.int64) - 1
    shape = tuple(int(size) for size in np.ravel(arrays.get("size", coords.max(axis=1) + 1)))
    return _cells(path, coords, np.ravel(arrays["vals"]), shape)


def _coo(path: Path_, matrix: Any) -> SparseTensor:
    coo = sparse.coo_array(matrix)
    return _cells(path, np.vstack(coo.coords), coo.data, coo.shape)


def _cells(path: Path_, coords: Any, values: Any, shape: tuple[int, ...]) -> SparseTensor:
    values = np.asarray(values)
    if values.dtype.kind not in "biuf":
        raise ScoupError.expected(str(path), "real numbers", f"values of {values.dtype}")
    try:
        return SparseTensor(np.asarray(coords), values, shape)
    except ScoupError as error:
        raise ScoupError(f"{path}: {error}") from None


def _real(path: Path_, array: Any) -> Array:
    array = np.asanyarray(array)
    if array.dtype.kind not in "biuf":
        raise ScoupError.expected(str(path), "an array of real numbers", f"one of {array.dtype}")
    if array.size == 0:
        raise ScoupError.expected(str(path), "at least one number", f"shape {array.shape}")
    return array


def _choose(path: Path_, names: list[str], variable: str | None) -> str:
    """The array that was asked for, or the only one there is."""
    if variable is None and len(names) == 1:
        return names[0]
    if variable not in names:
        hint = "say which by 'variable'" if variable is None else ""
        wanted = f"an array {variable!r}" if variable else "one array"
        raise ScoupError.expected(str(path), wanted, ", ".join(names) or "none", hint)
    return str(variable)


def _bytes(path: Path_) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ScoupError.expected(str(path), "a file", str(error.strerror).lower()) from None


@contextmanager
def told(path: Path_, wanted: str) -> Iterator[None]:
    """Turn whatever goes wrong inside a reader into one sentence that names the file."""
    try:
        yield
    except ScoupError:
        raise
    except FileNotFoundError:
        raise ScoupError.expected(str(path), wanted, "no such file") from None
    except (
        Exception
    ) as error:  # whatever numpy, scipy, zlib or a tokenizer makes of bytes that are none of theirs
        why = " ".join(str(error).split()).rstrip(".")[:120]
        raise ScoupError.expected(str(path), wanted, f"another one ({why})") from None
