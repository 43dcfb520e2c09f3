"""One block of coupled data: a tensor or a matrix, with its mask and its place among the factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.tensor import SparseTensor

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A mask that lists the missing cells: everything else is observed, zeros included.

    >>> from scoup.coupled import CoupledData
    >>> cells = SparseTensor([[0], [0], [0]], [1.0], (2, 2, 2))
    >>> CoupledData(SparseTensor.from_dense(np.ones((2, 2, 2))), tensor_mask=HeldOut(cells)).blocks[0].observed
    7
    """

    cells: SparseTensor


@dataclass(frozen=True, eq=False)
class Observed:
    """A mask that lists the observed cells: nothing else is known.

    >>> from scoup.coupled import CoupledData
    >>> cells = SparseTensor([[0, 1], [0, 1], [0, 1]], [1.0, 1.0], (2, 2, 2))
    >>> CoupledData(SparseTensor.from_dense(np.ones((2, 2, 2))), tensor_mask=Observed(cells)).blocks[0].observed
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

    >>> from scoup.coupled import CoupledData
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
        """Whether the values are kept in coordinates."""
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
        flat = (
            self.values.values if isinstance(self.values, SparseTensor) else self.values.reshape(-1)
        )
        if flat.dtype == np.float64:
            return float(np.dot(flat, flat))
        return float(sum(np.dot(part, part) for part in _doubles(flat)))

    def rows_observed(self, mode: int) -> NDArray[np.int64]:
        """Count the observed cells in each slice of ``mode``."""
        others = prod(self.shape) // self.shape[mode]
        if self.mask is None:
            return np.full(self.shape[mode], others)
        if isinstance(self.mask, (HeldOut, Observed)):
            listed = np.bincount(self.mask.cells.coords[mode], minlength=self.shape[mode])
            return listed if isinstance(self.mask, Observed) else others - listed
        axes = tuple(axis for axis in range(len(self.shape)) if axis != mode)
        return self.mask.sum(axis=axes, dtype=np.int64)

    def select(self, indices: Sequence[Array]) -> Block:
        """Return the block restricted to ``indices``, one array a mode."""
        return Block(
            self.name, _select(self.values, indices), _select(self.mask, indices), self.factors
        )


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
