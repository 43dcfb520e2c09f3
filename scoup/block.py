"""A block of the objective: the tensor or a matrix, with what is known of its cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scoup.errors import ScoupError
from scoup.records import Array
from scoup.streamed import StreamedTensor
from scoup.tensor import SparseTensor, as_real, ravel

# A slice lacks many cells if one in so many is hidden.
SCARCE_SHARE = 8
# Smallest sum of squares of a block that is not zero; below it digits are lost.
MIN_SQUARES = float(np.finfo(np.float64).tiny)
# Larger numbers of observed cells count as this one, so that sums of a few do not overflow.
MAX_COUNT = 2**60


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A mask that lists the missing cells: everything else is observed, zeros included.

    >>> from scoup.coupled import CoupledData
    >>> cells = SparseTensor([[0], [0], [0]], [1.0], (2, 2, 2))
    >>> data = CoupledData(SparseTensor.from_dense(np.ones((2, 2, 2))), tensor_mask=HeldOut(cells))
    >>> data.blocks[0].observed
    7
    """

    cells: SparseTensor

    def __post_init__(self) -> None:
        object.__setattr__(self, "cells", _check_listed("HeldOut", self.cells))

    def scarce_rows(self, mode: int) -> tuple[Array, SparseTensor]:
        """Return the slices of ``mode`` that lack many cells, and the observed cells of these.

        Slices are numbered in their order; the observed cells are at most
        :data:`SCARCE_SHARE` times as many as the hidden ones.

        >>> cells = SparseTensor([[1, 1], [0, 1]], [1.0, 1.0], (2, 3))
        >>> rows, observed = HeldOut(cells).scarce_rows(0)
        >>> rows.tolist(), observed.coords.tolist(), observed.shape
        ([1], [[0], [2]], (1, 3))
        """
        shape, coords = self.cells.shape, self.cells.coords
        hidden = np.bincount(coords[mode], minlength=shape[mode])
        rows = np.flatnonzero(SCARCE_SHARE * hidden >= prod(shape) // shape[mode])
        if not rows.size:
            return rows, self.cells
        number = np.full(shape[mode], -1)
        number[rows] = np.arange(rows.size)
        inside = coords[:, number[coords[mode]] >= 0].copy()
        inside[mode] = number[inside[mode]]
        small = (*shape[:mode], rows.size, *shape[mode + 1 :])
        observed = np.ones(prod(small), dtype=bool)
        observed[ravel(inside, small)] = False
        left = np.array(np.unravel_index(np.flatnonzero(observed), small), dtype=np.int32)
        return rows, SparseTensor(left, np.ones(left.shape[1], self.cells.dtype), small)


@dataclass(frozen=True, eq=False)
class Observed:
    """A mask that lists the observed cells: nothing else is known.

    >>> from scoup.coupled import CoupledData
    >>> cells = SparseTensor([[0, 1], [0, 1], [0, 1]], [1.0, 1.0], (2, 2, 2))
    >>> data = CoupledData(SparseTensor.from_dense(np.ones((2, 2, 2))), tensor_mask=Observed(cells))
    >>> data.blocks[0].observed
    2
    """

    cells: SparseTensor

    def __post_init__(self) -> None:
        object.__setattr__(self, "cells", _check_listed("Observed", self.cells))


Mask = Array | HeldOut | Observed | None


@dataclass(frozen=True, eq=False, repr=False)
class Block:
    """One block of the objective: ``weight * |mask * (values - model)|^2``.

    ``values`` is a dense array or a SparseTensor (a matrix is a block of order 2), ``mask`` a
    boolean array for dense values, ``HeldOut`` or ``Observed`` for sparse ones, or None when every
    cell is observed. Unobserved cells of ``values`` are zero. ``factors`` are the positions of
    the block's factor matrices in the flat list ``[*modes, *sides]``.

    >>> from scoup.coupled import CoupledData
    >>> block = CoupledData(np.ones((2, 3, 4)), {0: np.ones((2, 5))}).blocks[1]
    >>> block.name, block.shape, block.factors, block.norm2
    ('matrix0', (2, 5), (0, 3), 10.0)
    """

    name: str
    values: Array | SparseTensor | StreamedTensor
    mask: Mask
    factors: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of each mode."""
        return self.values.shape

    @property
    def is_sparse(self) -> bool:
        """Whether the values are stored as coordinates."""
        return isinstance(self.values, (SparseTensor, StreamedTensor))

    @property
    def is_streamed(self) -> bool:
        """Whether the values stay on disk."""
        return isinstance(self.values, StreamedTensor)

    @property
    def in_memory(self) -> Array | SparseTensor:
        """The values; those that stay on disk are refused."""
        if isinstance(self.values, StreamedTensor):
            hint = "use solver 'als' and values as they are, or a sample"
            raise ScoupError.expected(self.name, "values in memory", "a tensor on disk", hint)
        return self.values

    @cached_property
    def observed(self) -> int:
        """Number of observed cells."""
        if isinstance(self.mask, HeldOut):
            return prod(self.shape) - self.mask.cells.nnz
        if isinstance(self.mask, Observed):
            return self.mask.cells.nnz
        return prod(self.shape) if self.mask is None else int(np.count_nonzero(self.mask))

    @cached_property
    def norm2(self) -> float:
        """Squared norm of the observed values, accumulated in double precision."""
        values = self.values
        if isinstance(values, StreamedTensor):
            return values.norm2
        flat = values.values if isinstance(values, SparseTensor) else values.reshape(-1)
        with np.errstate(over="ignore", under="ignore"):  # refused below
            if flat.dtype == np.float64:
                squares = float(np.dot(flat, flat))
            else:
                squares = float(sum(np.dot(chunk, chunk) for chunk in _doubles(flat)))
        if not MIN_SQUARES <= squares < np.inf and (squares or np.any(flat)):
            size = f"numbers of size {np.abs(flat).max():.0e}"
            hint = "change the unit of the data"
            raise ScoupError.expected(
                self.name, "numbers whose squares a float64 holds", size, hint
            )
        return squares

    def rows_observed(self, mode: int) -> NDArray[np.int64]:
        """Count the observed cells in each slice of ``mode``."""
        others = min(prod(self.shape) // self.shape[mode], MAX_COUNT)
        if self.mask is None:
            return np.full(self.shape[mode], others)
        if isinstance(self.mask, (HeldOut, Observed)):
            listed = np.bincount(self.mask.cells.coords[mode], minlength=self.shape[mode])
            return listed if isinstance(self.mask, Observed) else others - listed
        return self.mask.sum(axis=self._all_but(mode), dtype=np.int64)

    def rows_with_mass(self, mode: int) -> NDArray[np.bool_]:
        """Tell which slices of ``mode`` hold a non-zero."""
        if isinstance(self.values, StreamedTensor):
            return self.values.densities()[mode] > 0
        if not isinstance(self.values, SparseTensor):
            # A line of cells without a zero tells it all, without a pass over the data.
            line = [slice(None) if n == mode else 0 for n in range(len(self.shape))]
            if self.values[tuple(line)].all():
                return np.ones(self.shape[mode], dtype=bool)
            return np.any(self.values, axis=self._all_but(mode), keepdims=False)
        rows = np.zeros(self.shape[mode], dtype=bool)
        rows[self.values.coords[mode]] = True
        return rows

    def select(self, indices: Sequence[Array]) -> Block:
        """Return the block restricted to ``indices``, one array per mode."""
        values, mask = _select(self.values, indices), _select(self.mask, indices)
        return Block(self.name, values, mask, self.factors)

    def batches(self, cells: int) -> Iterator[tuple[Array, Array]]:
        """Yield coordinates (N, n) and values (n,) of the non-zeros of a sparse block.

        At most ``cells`` of them at a time; those on disk are read once.
        """
        values = self.values
        shards = (
            values.batches()
            if isinstance(values, StreamedTensor)
            else [(cast(SparseTensor, values).coords, cast(SparseTensor, values).values)]
        )
        for coords, numbers in shards:
            for start in range(0, numbers.size, cells):
                yield coords[:, start : start + cells], numbers[start : start + cells]

    def scaled(self, exponent: int) -> Block:
        """Return the block with its values multiplied by ``2^exponent``."""
        values = self.in_memory
        if isinstance(values, SparseTensor):
            scaled: Any = values.with_values(np.ldexp(values.values, exponent))
        else:
            scaled = np.ldexp(values, exponent)
        return Block(self.name, scaled, self.mask, self.factors)

    def to_dense(self) -> tuple[Array, Array | None]:
        """Return the values and the mask of a sparse block as dense arrays."""
        assert isinstance(self.values, SparseTensor)
        if self.mask is None:
            return self.values.to_dense(), None
        assert isinstance(self.mask, (HeldOut, Observed))
        known = np.full(self.shape, isinstance(self.mask, HeldOut))
        known[tuple(self.mask.cells.coords)] = isinstance(self.mask, Observed)
        return self.values.to_dense(), known

    def __repr__(self) -> str:
        words = [f"{self.name}: {' x '.join(map(str, self.shape))}"]
        if isinstance(self.values, (SparseTensor, StreamedTensor)):
            words.append(f"{self.values.nnz:,} non-zeros")
        if self.mask is not None:
            words.append(f"{1 - self.observed / prod(self.shape):.0%} missing")
        return ", ".join(words)

    def _all_but(self, mode: int) -> tuple[int, ...]:
        return tuple(axis for axis in range(len(self.shape)) if axis != mode)


def as_cells(matrix: Any) -> Any:
    """Return scipy's sparse matrices as cells, so that the matrices themselves can be released."""
    if not sparse.issparse(matrix):
        return matrix
    coo = matrix.tocoo(copy=False)
    coords = np.empty((2, coo.nnz), np.int32)
    coords[0], coords[1] = coo.row, coo.col
    return SparseTensor.from_owned_arrays(coords, coo.data.copy(), coo.shape)


def _check_listed(name: str, cells: Any) -> SparseTensor:
    """Return the cells that a mask lists, those of value zero included."""
    cells = as_cells(cells)
    if not isinstance(cells, SparseTensor):
        raise ScoupError.expected(name, "cells as a SparseTensor", type(cells).__name__)
    if not cells.zero_coords.size:
        return cells
    coords = np.hstack([cells.coords, cells.zero_coords])
    return SparseTensor(coords, np.ones(coords.shape[1], cells.dtype), cells.shape)


def check_block(
    name: str, values: Any, mask: Any
) -> tuple[Array | SparseTensor | StreamedTensor, Mask]:
    """Return values with unobserved cells at zero, and the mask in its one inner form."""
    values = as_cells(values)
    if isinstance(values, StreamedTensor):
        if mask is not None:
            hint = "hide cells before it is written"
            raise ScoupError.expected(
                f"{name} mask", "none for a tensor on disk", type(mask).__name__, hint
            )
        return values, None
    if isinstance(values, SparseTensor):
        return _check_sparse(name, values, mask)
    if isinstance(values, np.ma.MaskedArray):
        mask = _without_masked(name, values, mask)
        values = values.filled(0)
    array = as_real(name, values)
    if array.size == 0:
        raise ScoupError.expected(name, "at least one cell", f"shape {array.shape}")
    return _check_dense(name, np.ascontiguousarray(array), mask)


def _without_masked(name: str, values: np.ma.MaskedArray, mask: Any) -> Any:
    """Return a mask of what is observed, without the masked cells of a numpy masked array."""
    known = ~np.ma.getmaskarray(values)
    return known if mask is None else known & _check_mask(name, mask, values.shape)


def _check_dense(name: str, array: Array, mask: Any) -> tuple[Array, Array | None]:
    if mask is not None:
        mask = _check_mask(name, mask, array.shape)
    # One pass tells whether a second is needed: the sum of finite cells is finite or overflows.
    if not np.isfinite(array.sum(dtype=np.float64)):
        known = ~np.isnan(array)
        mask = known if mask is None else mask & known
        if np.isinf(np.where(mask, array, 0)).any():
            raise ScoupError.expected(name, "finite numbers or NaN for missing", "an infinity")
    if mask is None or mask.all():
        return array, None
    return np.where(mask, array, array.dtype.type(0)), mask


def _check_mask(name: str, mask: Any, shape: tuple[int, ...]) -> Array:
    """Return a dense mask as booleans."""
    expected = "only 0 (missing) and 1 (observed)"
    if isinstance(mask, (HeldOut, Observed, SparseTensor)) or sparse.issparse(mask):
        raise ScoupError.expected(f"{name} mask", "a 0/1 array for dense data", type(mask).__name__)
    mask = np.asarray(mask)
    if mask.shape != shape:
        raise ScoupError.expected(f"{name} mask", f"shape {shape}", f"shape {mask.shape}")
    if mask.dtype != bool and not np.isin(mask, (0, 1)).all():
        raise ScoupError.expected(f"{name} mask", expected, "other values")
    return mask.astype(bool)


def _check_sparse(name: str, values: SparseTensor, mask: Any) -> tuple[SparseTensor, Mask]:
    if isinstance(mask, SparseTensor):
        mask = HeldOut(mask)
    if mask is None:
        return values, None
    if not isinstance(mask, (HeldOut, Observed)):
        got = type(mask).__name__
        raise ScoupError.expected(
            f"{name} mask", "HeldOut(cells) or Observed(cells) for sparse data", got
        )
    if mask.cells.shape != values.shape:
        raise ScoupError.expected(
            f"{name} mask", f"shape {values.shape}", f"shape {mask.cells.shape}"
        )
    listed = mask.cells.contains(values.coords)
    keep = ~listed if isinstance(mask, HeldOut) else listed
    if not keep.all():
        values = SparseTensor(values.coords[:, keep], values.values[keep], values.shape)
    return values, (None if isinstance(mask, HeldOut) and mask.cells.nnz == 0 else mask)


def _doubles(flat: Array, step: int = 1 << 20) -> Iterator[Array]:
    return (flat[start : start + step].astype(np.float64) for start in range(0, flat.size, step))


def _select(values: Any, indices: Sequence[Array]) -> Any:
    if values is None:
        return None
    if isinstance(values, (HeldOut, Observed)):
        return type(values)(values.cells.select(indices))
    if isinstance(values, (SparseTensor, StreamedTensor)):
        return values.select(indices)
    from scoup.kernels import extract  # numba takes longer to load than most jobs that select none

    return extract(values, indices)
