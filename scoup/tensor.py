"""A sparse tensor of any order, in coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from scoup.errors import ScoupError
from scoup.memory import require_dense

Array = NDArray[Any]
LARGEST_MODE = 2**31 - 1


def check_shape(shape: Sequence[int], name: str = "shape") -> tuple[int, ...]:
    """Return ``shape`` as a tuple of positive ints whose cells can be numbered in 64 bits.

    >>> check_shape([2, np.int64(3)])
    (2, 3)
    """
    sizes = tuple(int(size) for size in shape)
    if not sizes or any(size < 1 or size > LARGEST_MODE for size in sizes):
        raise ScoupError.expected(name, f"sizes from 1 to {LARGEST_MODE}", sizes)
    if prod(sizes) >= 2**63:
        raise ScoupError(
            f"{name}: the {len(sizes)} modes {sizes} span 2^63 cells or more, so their indices overflow; "
            "drop unused indices or split the tensor."
        )
    return sizes


def ravel(coords: Array, shape: Sequence[int]) -> NDArray[np.int64]:
    """Number the cells: row-major position of each column of ``coords`` (N, nnz).

    >>> ravel(np.array([[0, 1], [2, 0]]), (2, 3)).tolist()
    [2, 3]
    """
    flat = np.zeros(coords.shape[1], dtype=np.int64)
    for index, size in zip(coords, shape, strict=True):
        flat *= size
        flat += index
    return flat


def as_real(name: str, values: Any) -> Array:
    """Return values as float32, if they are, or float64; refuse words, and complex numbers rather than halve them.

    >>> as_real("tensor", [1, 2]).dtype.name
    'float64'
    """
    array = np.asarray(values)
    if array.dtype == np.float32:
        return array
    if not np.iscomplexobj(array):
        with suppress(TypeError, ValueError):
            return array.astype(np.float64, copy=False)
    raise ScoupError.expected(name, "real numbers", f"dtype {array.dtype}")


@dataclass(frozen=True, eq=False)
class SparseTensor:
    """An N-way tensor that stores only its non-zeros.

    ``coords`` has shape (N, nnz), ``values`` (nnz,): ``X[coords[:, t]] = values[t]``. Cells
    come out sorted row-major; duplicates are summed and zeros dropped.

    >>> X = SparseTensor([[0, 0, 1], [1, 1, 0], [2, 2, 0]], [1.0, 2.0, 5.0], (2, 2, 3))
    >>> X.nnz, X.values.tolist(), X.shape
    (2, [3.0, 5.0], (2, 2, 3))
    >>> float(X.to_dense()[0, 1, 2])
    3.0
    """

    coords: Array
    values: Array
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        shape = check_shape(self.shape)
        coords = _check_coords(self.coords, shape)
        values = _check_values(self.values, coords.shape[1])
        object.__setattr__(self, "shape", shape)
        coords, values = _canonical(coords, values, shape)
        for array in (coords, values):
            array.setflags(write=False)
        object.__setattr__(self, "coords", coords)
        object.__setattr__(self, "values", values)

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
        dense = np.asarray(array)
        coords = np.nonzero(dense)
        return cls(np.array(coords), dense[coords], dense.shape)

    @classmethod
    def from_coo(cls, array: Any) -> SparseTensor:
        """Take over a ``sparse.COO`` array (the `sparse` package), or anything with coords, data, shape."""
        for name in ("coords", "data", "shape"):
            if not hasattr(array, name):
                raise ScoupError.expected("array", "a sparse.COO array", type(array).__name__)
        if getattr(array, "fill_value", 0) != 0:
            raise ScoupError.expected("array", "a fill value of 0", array.fill_value)
        return cls(np.asarray(array.coords), np.asarray(array.data), tuple(array.shape))

    @classmethod
    def from_slices(cls, slices: Sequence[Any]) -> SparseTensor:
        """Stack K scipy sparse matrices of one shape (I, J) into an (I, J, K) tensor: ``X[:, :, k] = slices[k]``.

        >>> SparseTensor.from_slices([sparse.eye_array(2), sparse.eye_array(2)]).shape
        (2, 2, 2)
        """
        matrices = [sparse.coo_array(matrix) for matrix in slices]
        if not matrices or len({matrix.shape for matrix in matrices}) != 1:
            raise ScoupError.expected(
                "slices",
                "one or more sparse matrices of one shape",
                [matrix.shape for matrix in matrices],
            )
        coords = [np.vstack([*m.coords, np.full(m.nnz, k)]) for k, m in enumerate(matrices)]
        values = np.concatenate([matrix.data for matrix in matrices])
        return cls(np.concatenate(coords, axis=1), values, (*matrices[0].shape, len(matrices)))

    @classmethod
    def taken(cls, coords: Array, values: Array, shape: Sequence[int]) -> SparseTensor:
        """Take over arrays that nobody else holds: sorted in place and not copied, for the sake of memory.

        >>> SparseTensor.taken(np.array([[1, 0], [0, 0]], np.int32), np.array([1.0, 2.0]), (2, 1)).values.tolist()
        [2.0, 1.0]
        """
        shape = check_shape(shape)
        coords, values = _sorted_in_place(
            _check_coords(coords, shape), _check_values(values, coords.shape[1]), shape
        )
        for array in (*_bases(coords), *_bases(values)):
            array.setflags(write=False)
        return cls(coords, values, shape)

    def to_dense(self) -> Array:
        """Return the dense array; refused beforehand when it would not fit in memory."""
        require_dense("tensor", self.shape, self.dtype)
        dense = np.zeros(self.shape, dtype=self.dtype)
        dense[tuple(self.coords)] = self.values
        return dense

    def with_values(self, values: Array) -> SparseTensor:
        """Return a tensor with the same cells and other values (zeros among them are dropped)."""
        return SparseTensor(self.coords, values, self.shape)

    def select(self, indices: Sequence[Array]) -> SparseTensor:
        """Return the sub-tensor ``X(I, J, K, ...)`` in the order of ``indices``, one array a mode.

        >>> X = SparseTensor.from_dense(np.arange(8.0).reshape(2, 2, 2))
        >>> X.select([np.array([1]), np.array([1, 0]), np.array([0, 1])]).to_dense().ravel().tolist()
        [6.0, 7.0, 4.0, 5.0]
        """
        places = []
        for index, size in zip(indices, self.shape, strict=True):
            place = np.full(size, -1, dtype=np.int32)
            place[index] = np.arange(len(index), dtype=np.int32)
            places.append(place)
        keep = _kept(self.coords, places)
        coords = np.empty((self.ndim, keep.size), np.int32)
        for row, coord, place in zip(coords, self.coords, places, strict=True):
            np.take(place, coord[keep], out=row)
        return SparseTensor.taken(coords, self.values[keep], tuple(len(index) for index in indices))

    def contains(self, coords: Array) -> NDArray[np.bool_]:
        """Tell for each column of ``coords`` (N, n) whether that cell is stored."""
        mine, asked = ravel(self.coords, self.shape), ravel(coords, self.shape)
        place = np.minimum(np.searchsorted(mine, asked), max(self.nnz - 1, 0))
        return mine[place] == asked if self.nnz else np.zeros(asked.size, dtype=bool)

    def at(self, coords: Array) -> Array:
        """Return the values at the columns of ``coords`` (N, n), zero where nothing is stored."""
        mine, asked = ravel(self.coords, self.shape), ravel(coords, self.shape)
        if not self.nnz:
            return np.zeros(asked.size, dtype=self.dtype)
        place = np.minimum(np.searchsorted(mine, asked), self.nnz - 1)
        return np.where(mine[place] == asked, self.values[place], self.dtype.type(0))


def _check_coords(coords: Any, shape: tuple[int, ...]) -> Array:
    array = np.asarray(coords)
    if array.ndim != 2 or array.shape[0] != len(shape):
        raise ScoupError.expected("coords", f"shape ({len(shape)}, nnz)", array.shape)
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise ScoupError.expected("coords", "integer indices", f"dtype {array.dtype}")
    for mode, (index, size) in enumerate(zip(array, shape, strict=True)):
        if index.size and (index.min() < 0 or index.max() >= size):
            bad = index.min() if index.min() < 0 else index.max()
            raise ScoupError.expected(
                "coords", f"indices from 0 to {size - 1} in mode {mode}", int(bad)
            )
    return array.astype(np.int32, copy=False)


def _check_values(values: Any, count: int) -> Array:
    array = as_real("values", values)
    if array.ndim != 1 or array.size != count:
        raise ScoupError.expected(
            "values", f"{count} numbers, one a column of coords", f"shape {array.shape}"
        )
    if not np.isfinite(array).all():
        raise ScoupError.expected(
            "values",
            "finite numbers",
            "NaN or infinity",
            "list missing cells in tensor_mask instead",
        )
    return array


def _canonical(coords: Array, values: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Sort row-major, sum duplicates, drop zeros. A tensor already in order is not sorted again."""
    if not _ascending(coords, shape):
        flat = ravel(coords, shape)
        order = np.argsort(flat, kind="stable")
        flat = flat[order]
        first = np.concatenate([[True], flat[1:] != flat[:-1]])
        coords = coords[:, order[first]]
        values = np.add.reduceat(values[order], np.flatnonzero(first)).astype(
            values.dtype, copy=False
        )
    if np.count_nonzero(values) < values.size:
        coords, values = coords[:, values != 0], values[values != 0]
    return _private(coords), _private(values)


def _sorted_in_place(coords: Array, values: Array, shape: Sequence[int]) -> tuple[Array, Array]:
    """Sort row-major and sum duplicates, the coordinates written anew from the numbers of their cells."""
    if _ascending(coords, shape):
        return coords, values
    flat = ravel(coords, shape)
    # Half as long as argsort makes it, since it is held beside all else: this is the peak of reading a long file.
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


def _kept(coords: Array, places: Sequence[Array], step: int = 1 << 16) -> Array:
    """Numbers of the cells that have a place in every mode; found in stretches, for the sake of memory."""
    found = [np.empty(0, np.int64)]
    for first in range(0, coords.shape[1], step):
        inside = np.flatnonzero(places[0][coords[0, first : first + step]] >= 0) + first
        for coord, place in zip(coords[1:], places[1:], strict=True):
            inside = inside[place[coord[inside]] >= 0]
        found.append(inside)
    return np.concatenate(found)


def _ascending(coords: Array, shape: Sequence[int], step: int = 1 << 20) -> bool:
    """Whether the cells are in order and no two the same; looked at in stretches, whose numbers take little memory."""
    for first in range(0, coords.shape[1], step):
        flat = ravel(coords[:, first : first + step + 1], shape)
        if (flat[1:] <= flat[:-1]).any():
            return False
    return True


def _private(array: Array) -> Array:
    """A copy that is ours, or the array itself where it is laid out well and nobody can write to it."""
    open_to_others = any(one.flags.writeable for one in _bases(array))
    return np.array(array, order="C") if open_to_others or not array.flags.c_contiguous else array


def _bases(array: Array) -> list[Array]:
    """The array, and those whose memory it looks at."""
    return [array, *(_bases(array.base) if isinstance(array.base, np.ndarray) else [])]
