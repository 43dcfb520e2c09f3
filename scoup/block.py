"""One block of coupled data: a tensor or a matrix, its mask, and which factors it involves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scoup.errors import ScoupError
from scoup.records import Array
from scoup.tensor import SparseTensor, as_real


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A mask that lists the missing cells: everything else is observed, zeros included.

    >>> from scoup import CoupledData
    >>> cells = SparseTensor([[0], [0], [0]], [1.0], (2, 2, 2))
    >>> data = CoupledData(SparseTensor.from_dense(np.ones((2, 2, 2))), tensor_mask=HeldOut(cells))
    >>> data.blocks[0].observed
    7
    """

    cells: SparseTensor


@dataclass(frozen=True, eq=False)
class Observed:
    """A mask that lists the observed cells: nothing else is known.

    >>> from scoup import CoupledData
    >>> cells = SparseTensor([[0, 1], [0, 1], [0, 1]], [1.0, 1.0], (2, 2, 2))
    >>> data = CoupledData(SparseTensor.from_dense(np.ones((2, 2, 2))), tensor_mask=Observed(cells))
    >>> data.blocks[0].observed
    2
    """

    cells: SparseTensor


Mask = Array | HeldOut | Observed | None


@dataclass(frozen=True, eq=False)
class Block:
    """One block of the objective: ``weight * |mask * (values - model)|^2``.

    ``values`` is a dense array or a SparseTensor (a matrix is a block of order 2), ``mask`` a
    boolean array for dense values, ``HeldOut`` or ``Observed`` for sparse ones, or None when every
    cell is observed. Unobserved cells of ``values`` are zero. ``factors`` are the positions of
    the block's factor matrices in the flat list ``[*modes, *sides]``.

    >>> from scoup import CoupledData
    >>> block = CoupledData(np.ones((2, 3, 4)), {0: np.ones((2, 5))}).blocks[1]
    >>> block.name, block.shape, block.factors, block.norm2
    ('matrix0', (2, 5), (0, 3), 10.0)
    """

    name: str
    values: Array | SparseTensor
    mask: Mask
    factors: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of each mode."""
        return self.values.shape

    @property
    def is_sparse(self) -> bool:
        """Whether the values are stored as coordinates."""
        return isinstance(self.values, SparseTensor)

    @property
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
        sparse_values = isinstance(self.values, SparseTensor)
        flat = self.values.values if sparse_values else self.values.reshape(-1)
        if flat.dtype == np.float64:
            return float(np.dot(flat, flat))
        return float(sum(np.dot(chunk, chunk) for chunk in _doubles(flat)))

    def rows_observed(self, mode: int) -> NDArray[np.int64]:
        """Count the observed cells in each slice of ``mode``."""
        others = prod(self.shape) // self.shape[mode]
        if self.mask is None:
            return np.full(self.shape[mode], others)
        if isinstance(self.mask, (HeldOut, Observed)):
            listed = np.bincount(self.mask.cells.coords[mode], minlength=self.shape[mode])
            return listed if isinstance(self.mask, Observed) else others - listed
        return self.mask.sum(axis=self._all_but(mode), dtype=np.int64)

    def rows_with_mass(self, mode: int) -> NDArray[np.bool_]:
        """Tell which slices of ``mode`` hold a non-zero."""
        if not isinstance(self.values, SparseTensor):
            return self.values.any(axis=self._all_but(mode))
        rows = np.zeros(self.shape[mode], dtype=bool)
        rows[self.values.coords[mode]] = True
        return rows

    def select(self, indices: Sequence[Array]) -> Block:
        """Return the block restricted to ``indices``, one array per mode."""
        values, mask = _select(self.values, indices), _select(self.mask, indices)
        return Block(self.name, values, mask, self.factors)

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


def check_block(name: str, values: Any, mask: Any) -> tuple[Array | SparseTensor, Mask]:
    """Return values with unobserved cells at zero, and the mask in its one inner form."""
    values = as_cells(values)
    if isinstance(values, SparseTensor):
        return _check_sparse(name, values, mask)
    array = as_real(name, values)
    if array.size == 0:
        raise ScoupError.expected(name, "at least one cell", f"shape {array.shape}")
    return _check_dense(name, np.ascontiguousarray(array), mask)


def _check_dense(name: str, array: Array, mask: Any) -> tuple[Array, Array | None]:
    if isinstance(mask, (HeldOut, Observed, SparseTensor)):
        raise ScoupError.expected(f"{name} mask", "a 0/1 array for dense data", type(mask).__name__)
    if mask is not None:
        mask = np.asarray(mask)
        if mask.shape != array.shape:
            raise ScoupError.expected(f"{name} mask", f"shape {array.shape}", f"shape {mask.shape}")
        if mask.dtype != bool and not np.isin(mask, (0, 1)).all():
            raise ScoupError.expected(
                f"{name} mask", "only 0 (missing) and 1 (observed)", "other values"
            )
        mask = mask.astype(bool)
    # One pass tells whether a second is needed: the sum of finite cells is finite or overflows.
    if not np.isfinite(array.sum(dtype=np.float64)):
        known = ~np.isnan(array)
        mask = known if mask is None else mask & known
        if np.isinf(np.where(mask, array, 0)).any():
            raise ScoupError.expected(name, "finite numbers or NaN for missing", "an infinity")
    if mask is None or mask.all():
        return array, None
    return np.where(mask, array, array.dtype.type(0)), mask


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
    mask = type(mask)(as_cells(mask.cells))
    if not isinstance(mask.cells, SparseTensor):
        got = type(mask.cells).__name__
        raise ScoupError.expected(f"{name} mask", "cells as a SparseTensor", got)
    if mask.cells.shape != values.shape:
        raise ScoupError.expected(
            f"{name} mask", f"shape {values.shape}", f"shape {mask.cells.shape}"
        )
    listed = mask.cells.contains(values.coords)
    keep = ~listed if isinstance(mask, HeldOut) else listed
    if not keep.all():
        values = SparseTensor(values.coords[:, keep], values.values[keep], values.shape)
    return values, (None if isinstance(mask, HeldOut) and mask.cells.nnz == 0 else mask)


def _doubles(flat: Array, step: int = 1 << 20) -> Any:
    return (flat[start : start + step].astype(np.float64) for start in range(0, flat.size, step))


def _select(values: Any, indices: Sequence[Array]) -> Any:
    if values is None:
        return None
    if isinstance(values, (HeldOut, Observed)):
        return type(values)(values.cells.select(indices))
    if isinstance(values, SparseTensor):
        return values.select(indices)
    return np.ascontiguousarray(values[np.ix_(*indices)])
