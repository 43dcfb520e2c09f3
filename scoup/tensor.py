"""Sparse tensors of any order, in coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import prod
from operator import index as as_index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scoup.errors import ScoupError
from scoup.machine import require_dense
from scoup.records import Array

MAX_MODE_SIZE = 2**31 - 1
# Cells that are looked at in one go where all at once would take too much memory.
SORTED_STEP_CELLS = 1 << 20


def check_shape(shape: Sequence[int], name: str = "shape") -> tuple[int, ...]:
    """Return ``shape`` as a tuple of positive ints.

    >>> check_shape([2, np.int64(3)])
    (2, 3)
    """
    try:
        sizes = tuple(as_index(size) for size in shape)
    except TypeError:
        raise ScoupError.expected(name, "one integer per mode", repr(shape)) from None
    if not sizes or any(size < 1 or size > MAX_MODE_SIZE for size in sizes):
        raise ScoupError.expected(name, f"sizes from 1 to {MAX_MODE_SIZE}", sizes)
    return sizes


def can_number(shape: Sequence[int]) -> bool:
    """Whether the cells of a shape can be numbered in 64 bits.

    >>> can_number((2**31, 2**31)), can_number((2**31, 2**31, 2))
    (True, False)
    """
    return prod(shape) < 2**63


def ravel(coords: Array, shape: Sequence[int]) -> NDArray[np.int64]:
    """Number the cells: row-major position of each column of ``coords`` (N, nnz).

    There must be fewer than 2^63 cells, see :func:`can_number`.

    >>> ravel(np.array([[0, 1], [2, 0]]), (2, 3)).tolist()
    [2, 3]
    """
    flat = np.zeros(coords.shape[1], dtype=np.int64)
    for row, size in zip(coords, shape, strict=True):
        flat *= size
        flat += row
    return flat


def check_indices(indices: Sequence[Any], sizes: Sequence[int]) -> list[Array]:
    """Return index arrays, one per mode or factor, whose entries lie in the range of each.

    >>> check_indices([[0, 2]], (3,))
    [array([0, 2])]
    """
    arrays = [np.asarray(chosen) for chosen in indices]
    if len(arrays) != len(sizes) or any(array.ndim != 1 for array in arrays):
        raise ScoupError.expected("indices", f"{len(sizes)} vectors", f"{len(arrays)} arrays")
    for number, (array, size) in enumerate(zip(arrays, sizes, strict=True)):
        valid = array.dtype.kind in "iu" and array.min(initial=0) >= 0
        if array.size and (not valid or array.max() >= size):
            expected = f"integers from 0 to {size - 1}"
            raise ScoupError.expected(f"indices[{number}]", expected, "others")
    return arrays


def as_real(name: str, values: Any) -> Array:
    """Return values as float64, or as float32 if they are; refuse text, dates and complex numbers.

    >>> as_real("tensor", [1, 2]).dtype.name
    'float64'
    """
    if np.ma.is_masked(values):
        raise ScoupError.expected(name, "numbers", "masked ones", "pass a mask or NaN instead")
    try:
        array = np.asarray(values)
    except ValueError:  # lists of different lengths
        raise ScoupError.expected(name, "an array of numbers", type(values).__name__) from None
    if array.dtype == np.float32:
        return array
    if array.dtype.kind in "buifO":
        with suppress(TypeError, ValueError, OverflowError):
            return array.astype(np.float64, copy=False)
    raise ScoupError.expected(name, "real numbers", f"dtype {array.dtype}")


@dataclass(frozen=True, eq=False, repr=False)
class SparseTensor:
    """An N-way tensor that stores only its non-zeros.

    ``coords`` has shape (N, nnz), ``values`` (nnz,): ``X[coords[:, t]] = values[t]``. Cells are
    sorted row-major, duplicates are summed and zeros dropped; ``zero_coords`` lists those, since
    in a mask a cell counts whatever its value.

    >>> X = SparseTensor([[0, 0, 1], [1, 1, 0], [2, 2, 0]], [1.0, 2.0, 5.0], (2, 2, 3))
    >>> X, X.values.tolist()
    (SparseTensor(2 x 2 x 3, 2 non-zeros), [3.0, 5.0])
    >>> float(X.to_dense()[0, 1, 2])
    3.0
    """

    coords: Array
    values: Array
    shape: tuple[int, ...]
    zero_coords: Array = field(init=False)

    def __post_init__(self) -> None:
        shape = check_shape(self.shape)
        coords = check_coords(self.coords, shape)
        values = _check_values(self.values, coords.shape[1])
        object.__setattr__(self, "shape", shape)
        coords, values, zero_coords = _canonical(coords, values, shape)
        object.__setattr__(self, "zero_coords", zero_coords)
        for array in (coords, values, zero_coords):
            array.setflags(write=False)
        object.__setattr__(self, "coords", coords)
        object.__setattr__(self, "values", values)

    def __repr__(self) -> str:
        return f"SparseTensor({' x '.join(map(str, self.shape))}, {self.nnz:,} non-zeros)"

    def __getitem__(self, rows: Any) -> SparseTensor:
        """Refuse rows, which scikit-learn's searches ask for: of a sparse tensor, cells may be."""
        expected = "Cells(CoupledData(tensor, tensor_mask=Observed(cells)))"
        hint = "select() takes a part of it"
        raise ScoupError.expected("samples", expected, "a SparseTensor", hint)

    @property
    def ndim(self) -> int:
        """Number of modes."""
        return len(self.shape)

    @property
    def nnz(self) -> int:
        """Number of stored cells."""
        return self.values.size

    @property
    def dtype(self) -> np.dtype:
        """Type of the values: float64 or float32."""
        return self.values.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of coordinates and values."""
        return self.coords.nbytes + self.values.nbytes

    @classmethod
    def from_dense(cls, array: ArrayLike) -> SparseTensor:
        """Keep the non-zeros of a dense array.

        >>> SparseTensor.from_dense(np.eye(2)[None]).nnz
        2
        """
        dense = np.atleast_1d(as_real("array", array))
        coords = np.nonzero(dense)
        return cls(np.array(coords), dense[coords], dense.shape)

    @classmethod
    def from_owned_arrays(cls, coords: Array, values: Array, shape: Sequence[int]) -> SparseTensor:
        """Sort arrays in place and keep them uncopied, to save memory; the caller must drop them.

        >>> coords, values = np.array([[1, 0], [0, 0]], np.int32), np.array([1.0, 2.0])
        >>> SparseTensor.from_owned_arrays(coords, values, (2, 1)).values.tolist()
        [2.0, 1.0]
        """
        shape = check_shape(shape)
        coords, values = _sort_in_place(
            check_coords(coords, shape), _check_values(values, coords.shape[1]), shape
        )
        for array in (*_bases(coords), *_bases(values)):
            array.setflags(write=False)
        return cls(coords, values, shape)

    def to_dense(self) -> Array:
        """Return the dense array, or refuse if it would not fit in memory."""
        require_dense("tensor", self.shape, self.dtype)
        dense = np.zeros(self.shape, dtype=self.dtype)
        dense[tuple(self.coords)] = self.values
        return dense

    def with_values(self, values: Array) -> SparseTensor:
        """Return a tensor with the same cells and other values; cells of value zero are dropped."""
        return SparseTensor(self.coords, values, self.shape)

    def select(self, indices: Sequence[Array]) -> SparseTensor:
        """Return the sub-tensor ``X(I, J, K, ...)``, ordered as ``indices``, one array per mode.

        >>> X = SparseTensor.from_dense(np.arange(8.0).reshape(2, 2, 2))
        >>> part = X.select([np.array([1]), np.array([1, 0]), np.array([0, 1])])
        >>> part.to_dense().ravel().tolist()
        [6.0, 7.0, 4.0, 5.0]
        """
        from scoup.kernels import select_cells  # numba takes longer to load than small jobs

        chosen = check_indices(indices, self.shape)
        coords, values = select_cells(self.coords, self.values, self.shape, chosen)
        return SparseTensor.from_owned_arrays(coords, values, tuple(map(len, chosen)))

    def contains(self, coords: Array) -> NDArray[np.bool_]:
        """Return for each column of ``coords`` (N, n) whether that cell is stored."""
        return self._find(check_coords(coords, self.shape))[1]

    def at(self, coords: Array) -> Array:
        """Return the values at the columns of ``coords`` (N, n), zero where nothing is stored."""
        positions, stored = self._find(check_coords(coords, self.shape))
        values = np.zeros(stored.size, dtype=self.dtype)
        values[stored] = self.values[positions[stored]]
        return values

    def _find(self, coords: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Return for each column its position among the stored cells, and whether it is one."""
        stored, wanted = _numbers([self.coords, coords], self.shape)
        if not self.nnz:
            return np.zeros(wanted.size, np.int64), np.zeros(wanted.size, dtype=bool)
        positions = np.minimum(np.searchsorted(stored, wanted), self.nnz - 1)
        return positions, stored[positions] == wanted


def check_coords(coords: Any, shape: tuple[int, ...]) -> Array:
    """Return coordinates (N, n) as int32, or refuse those outside of ``shape``."""
    try:
        array = np.asarray(coords)
    except ValueError:  # lists of different lengths
        raise ScoupError.expected("coords", "one row of indices per mode", "ragged rows") from None
    if array.ndim != 2 or array.shape[0] != len(shape):
        raise ScoupError.expected("coords", f"shape ({len(shape)}, nnz)", array.shape)
    if array.size and array.dtype.kind not in "iu":
        raise ScoupError.expected("coords", "integer indices", f"dtype {array.dtype}")
    for mode, (row, size) in enumerate(zip(array, shape, strict=True)):
        if row.size and (row.min() < 0 or row.max() >= size):
            bad = row.min() if row.min() < 0 else row.max()
            raise ScoupError.expected(
                "coords", f"indices from 0 to {size - 1} in mode {mode}", int(bad)
            )
    return array.astype(np.int32, copy=False)


def _check_values(values: Any, count: int) -> Array:
    array = as_real("values", values)
    if array.ndim != 1 or array.size != count:
        raise ScoupError.expected(
            "values", f"{count} numbers, one per column of coords", f"shape {array.shape}"
        )
    if not np.isfinite(array).all():
        raise ScoupError.expected(
            "values",
            "finite numbers",
            "NaN or infinity",
            "list missing cells in tensor_mask instead",
        )
    return array


def _numbers(groups: Sequence[Array], shape: Sequence[int]) -> list[NDArray[np.int64]]:
    """Number the cells of each group of coordinates, in row-major order.

    Where 64 bits are too few for all cells of the shape, only those in the groups are numbered.
    """
    if can_number(shape):
        return [ravel(coords, shape) for coords in groups]
    numbers = np.zeros(sum(coords.shape[1] for coords in groups), np.int64)
    for rows, size in zip(zip(*groups, strict=True), shape, strict=True):
        numbers = np.unique(numbers, return_inverse=True)[1] * size + np.concatenate(rows)
    return np.split(numbers, np.cumsum([coords.shape[1] for coords in groups])[:-1])


def _canonical(coords: Array, values: Array, shape: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Sort row-major (unless the cells are sorted already), sum duplicates, split off zeros."""
    if not _is_sorted(coords, shape):
        (flat,) = _numbers([coords], shape)
        order = np.argsort(flat, kind="stable")
        flat = flat[order]
        first = np.concatenate([[True], flat[1:] != flat[:-1]])
        coords = coords[:, order[first]]
        values = np.add.reduceat(values[order], np.flatnonzero(first)).astype(
            values.dtype, copy=False
        )
    zero_coords = coords[:, :0].copy()
    if np.count_nonzero(values) < values.size:
        zero_coords = coords[:, values == 0]
        coords, values = coords[:, values != 0], values[values != 0]
    return _copy_unless_read_only(coords), _copy_unless_read_only(values), zero_coords


def _sort_in_place(coords: Array, values: Array, shape: Sequence[int]) -> tuple[Array, Array]:
    """Sort row-major and sum duplicates; coordinates are recomputed from cell numbers, if any."""
    if _is_sorted(coords, shape) or not can_number(shape):
        return coords, values  # sorted later, if need be
    flat = ravel(coords, shape)
    # Half the size that argsort returns: this is the peak of memory when a long file is read.
    order = np.argsort(flat, kind="stable").astype(np.int32 if flat.size < 2**31 else np.int64)
    flat = flat[order]
    if values.flags.writeable:
        values[:] = values[order]
    else:
        values = values[order]
    del order
    first = np.concatenate([[True], flat[1:] != flat[:-1]])
    if not first.all():
        values = np.add.reduceat(values, np.flatnonzero(first))
        flat = flat[first]
    coords = (
        np.ascontiguousarray(coords)
        .reshape(-1)[: len(shape) * flat.size]
        .reshape(len(shape), flat.size)
    )
    for mode in reversed(range(len(shape))):
        np.remainder(flat, shape[mode], out=coords[mode], casting="unsafe")
        flat //= shape[mode]
    return coords, values


def _is_sorted(coords: Array, shape: Sequence[int]) -> bool:
    """Whether the cells are sorted row-major without duplicates."""
    for first in range(0, coords.shape[1], SORTED_STEP_CELLS):
        (flat,) = _numbers([coords[:, first : first + SORTED_STEP_CELLS + 1]], shape)
        if (flat[1:] <= flat[:-1]).any():
            return False
    return True


def _copy_unless_read_only(array: Array) -> Array:
    """Return the array if it is C-contiguous and nobody can write to it, else a copy."""
    writeable = any(base.flags.writeable for base in _bases(array))
    return np.array(array, order="C") if writeable or not array.flags.c_contiguous else array


def _bases(array: Array) -> list[Array]:
    """Return the array and those whose memory it shares."""
    return [array, *(_bases(array.base) if isinstance(array.base, np.ndarray) else [])]
