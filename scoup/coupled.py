"""A tensor and the matrices that share modes with it: the data of a coupled factorization."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scoup.block import Block, HeldOut, Mask, Observed
from scoup.errors import ScoupError, ScoupWarning
from scoup.records import Labels, Provenance, nest
from scoup.tensor import SparseTensor, as_real

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class CoupledData:
    """A tensor with matrices on some of its modes.

    The model is ``X = [[A, B, C, ...]]`` and, for a matrix on mode m, ``Y = M S^T`` with M the
    tensor's factor of mode m. Rows of a matrix are the indices of its mode.

    - ``tensor``: ndarray or SparseTensor with N >= 3 modes; NaN in a dense tensor means missing.
    - ``matrices``: ``{mode: Y}``, Y of shape (size of mode, any), dense or scipy sparse, or a list of them.
    - ``tensor_mask``: 0/1 array (1 = observed) for a dense tensor; ``HeldOut(cells)`` or
      ``Observed(cells)`` for a sparse one (a bare SparseTensor is read as held out).
    - ``matrix_masks``: shaped like ``matrices``, with None where nothing is missing.
    - ``weights``: ``"paper"`` (every block 1), ``"balanced"`` (1 / squared norm of the block), or
      numbers ``[w_tensor, w_matrix, ...]`` in the order tensor, then matrices by mode.

    >>> data = CoupledData(np.ones((2, 3, 4)), {0: np.ones((2, 5))})
    >>> [block.name for block in data.blocks], data.block_weights
    (['tensor', 'matrix0'], (1.0, 1.0))
    """

    tensor: Array | SparseTensor
    matrices: Mapping[int, Any] = field(default_factory=dict)
    tensor_mask: Any = None
    matrix_masks: Mapping[int, Any] | None = None
    weights: str | Sequence[float] = "paper"
    blocks: tuple[Block, ...] = field(init=False, repr=False)
    block_weights: tuple[float, ...] = field(init=False)

    def __post_init__(self) -> None:
        tensor, mask = _check_block("tensor", self.tensor, self.tensor_mask)
        if len(tensor.shape) < 3:
            raise ScoupError.expected("tensor", "three modes or more", len(tensor.shape))
        matrices = _check_matrices(self.matrices, tensor.shape)
        blocks = [Block("tensor", tensor, mask, tuple(range(len(tensor.shape))))]
        for side, (mode, position, matrix) in enumerate(_walk(matrices)):
            name = (
                f"matrix{mode}"
                if not isinstance(matrices[mode], (list, tuple))
                else f"matrix{mode}.{position}"
            )
            given = _mask_of(self.matrix_masks, mode, position, matrices)
            values, matrix_mask = _check_block(name, matrix, given)
            blocks.append(Block(name, values, matrix_mask, (mode, len(tensor.shape) + side)))
        object.__setattr__(self, "matrices", matrices)
        object.__setattr__(self, "blocks", tuple(blocks))
        object.__setattr__(self, "block_weights", _check_weights(self.weights, blocks))
        _check_observed(self.blocks)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the tensor's modes."""
        return self.blocks[0].shape

    @property
    def ndim(self) -> int:
        """Number of the tensor's modes."""
        return len(self.shape)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows of each factor in the flat list ``[*modes, *sides]``."""
        return (*self.shape, *(block.shape[1] for block in self.blocks[1:]))

    @property
    def dtype(self) -> np.dtype:
        """Type in which factors are computed: float32 only when every block is."""
        return np.result_type(*(block.values.dtype for block in self.blocks))

    @property
    def is_masked(self) -> bool:
        """Whether any cell of any block is missing."""
        return any(block.mask is not None for block in self.blocks)

    @property
    def nbytes(self) -> int:
        """Bytes of all values and coordinates, masks apart."""
        return sum(block.values.nbytes for block in self.blocks)

    def nest_sides(self, sides: Sequence[Any]) -> dict[int, Any]:
        """Give a flat list, one item a matrix, the shape of ``matrices``."""
        return nest(sides, self.matrices)

    def select(self, indices: Sequence[Array]) -> CoupledData:
        """Return the data restricted to ``indices``, one array for each of ``[*modes, *sides]``.

        The weights stay what they are on the whole data, so that a sample has the same objective.
        """
        parts = [
            block.select([indices[position] for position in block.factors]) for block in self.blocks
        ]
        return CoupledData.from_blocks(parts, self.matrices, self.block_weights)

    @classmethod
    def from_blocks(
        cls, blocks: Sequence[Block], like: Mapping[int, Any], weights: Sequence[float]
    ) -> CoupledData:
        """Rebuild checked data from blocks, with matrices arranged as in ``like``."""
        matrices = nest([block.values for block in blocks[1:]], like)
        masks = nest([block.mask for block in blocks[1:]], like)
        return cls(blocks[0].values, matrices, blocks[0].mask, masks, tuple(weights))

    def with_weights(self, weights: str | Sequence[float]) -> CoupledData:
        """Return the same data under other block weights."""
        masks = nest([block.mask for block in self.blocks[1:]], self.matrices)
        matrices = nest([block.values for block in self.blocks[1:]], self.matrices)
        return CoupledData(self.blocks[0].values, matrices, self.blocks[0].mask, masks, weights)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Coupled data with what its indices mean and where it came from.

    ``labels`` has one entry for each of ``[*modes, *sides]``, or is empty. ``extras`` are further arrays that
    belong to the data, such as the voxel grid or the single presentations; ``facts`` are plain JSON values.
    """

    data: CoupledData
    labels: tuple[Labels, ...] = ()
    provenance: Provenance | None = None
    extras: Mapping[str, Array] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))
        if self.labels and tuple(map(len, self.labels)) != self.data.sizes:
            got = [f"{label.name}: {len(label)}" for label in self.labels]
            raise ScoupError.expected(
                "labels", f"one entry a factor, of sizes {self.data.sizes}", got
            )

    def label(self, name: str) -> Labels:
        """Return the labels called ``name``, such as ``noun``."""
        for label in self.labels:
            if label.name == name:
                return label
        raise ScoupError.expected(
            "labels", f"one called {name!r}", [label.name for label in self.labels]
        )


def _walk(matrices: Mapping[int, Any]) -> list[tuple[int, int, Any]]:
    rows = []
    for mode in sorted(matrices):
        group = matrices[mode] if isinstance(matrices[mode], (list, tuple)) else [matrices[mode]]
        rows += [(mode, position, matrix) for position, matrix in enumerate(group)]
    return rows


def _mask_of(
    masks: Mapping[int, Any] | None, mode: int, position: int, matrices: Mapping[int, Any]
) -> Any:
    unknown = sorted(set(masks or {}) - set(matrices))
    if unknown:
        raise ScoupError.expected("matrix_masks", f"modes among {sorted(matrices)}", unknown)
    group = (masks or {}).get(mode)
    if not isinstance(group, (list, tuple)):
        return group
    if position >= len(group):
        raise ScoupError.expected(
            f"matrix_masks[{mode}]", "one mask (or None) a matrix", f"{len(group)} masks"
        )
    return group[position]


def _check_matrices(matrices: Mapping[int, Any], shape: tuple[int, ...]) -> dict[int, Any]:
    if not isinstance(matrices, Mapping):
        raise ScoupError.expected("matrices", "a dict {mode: matrix}", type(matrices).__name__)
    for mode, position, matrix in _walk(matrices):
        if (
            isinstance(mode, bool)
            or not isinstance(mode, (int, np.integer))
            or not 0 <= mode < len(shape)
        ):
            raise ScoupError.expected("matrices", f"modes from 0 to {len(shape) - 1}", repr(mode))
        size = getattr(matrix, "shape", np.shape(matrix))
        if len(size) != 2 or size[0] != shape[mode]:
            raise ScoupError.expected(
                f"matrices[{mode}]" + (f"[{position}]" if position else ""),
                f"{shape[mode]} rows, one an index of tensor mode {mode}",
                f"shape {tuple(size)}",
                "transpose it or couple it to another mode",
            )
    return {int(mode): _cells(matrices[mode]) for mode in sorted(matrices)}


def _cells(group: Any) -> Any:
    """Turn scipy's sparse matrices into cells, which are kept, so that the matrices themselves need not be."""
    if isinstance(group, (list, tuple)):
        return [_cells(matrix) for matrix in group]
    if not sparse.issparse(group):
        return group
    coo = group.tocoo(copy=False)
    coords = np.empty((2, coo.nnz), np.int32)
    coords[0], coords[1] = coo.row, coo.col
    return SparseTensor.from_owned_arrays(coords, coo.data.copy(), coo.shape)


def _check_block(name: str, values: Any, mask: Any) -> tuple[Array | SparseTensor, Mask]:
    """Return values with unobserved cells at zero, and the mask in its one inner form."""
    if sparse.issparse(values):
        coo = sparse.coo_array(values)
        values = SparseTensor(np.vstack(coo.coords), coo.data, coo.shape)
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
    if not isinstance(mask.cells, SparseTensor):
        cells = sparse.coo_array(mask.cells) if sparse.issparse(mask.cells) else None
        if cells is None:
            raise ScoupError.expected(
                f"{name} mask", "cells as a SparseTensor", type(mask.cells).__name__
            )
        mask = type(mask)(SparseTensor(np.vstack(cells.coords), cells.data, cells.shape))
    if mask.cells.shape != values.shape:
        raise ScoupError.expected(
            f"{name} mask", f"shape {values.shape}", f"shape {mask.cells.shape}"
        )
    listed = mask.cells.contains(values.coords)
    keep = ~listed if isinstance(mask, HeldOut) else listed
    if not keep.all():
        values = SparseTensor(values.coords[:, keep], values.values[keep], values.shape)
    return values, (None if isinstance(mask, HeldOut) and mask.cells.nnz == 0 else mask)


def _check_weights(weights: Any, blocks: Sequence[Block]) -> tuple[float, ...]:
    if isinstance(weights, str):
        if weights == "paper":
            return (1.0,) * len(blocks)
        if weights == "balanced":
            return tuple(1.0 / (block.norm2 or 1.0) for block in blocks)
        raise ScoupError.expected("weights", "'paper', 'balanced' or numbers", repr(weights))
    numbers = np.asarray(list(weights), dtype=float)
    if numbers.shape != (len(blocks),) or not np.isfinite(numbers).all() or (numbers < 0).any():
        raise ScoupError.expected(
            "weights", f"{len(blocks)} non-negative numbers, tensor first", list(weights)
        )
    if numbers[0] == 0:
        raise ScoupError.expected("weights", "a positive weight for the tensor", 0)
    return tuple(float(number) for number in numbers)


def _check_observed(blocks: Sequence[Block]) -> None:
    """Refuse blocks without any observed cell; warn of slices that nothing is known about."""
    for block in blocks:
        if block.observed == 0:
            raise ScoupError.expected(
                block.name, "at least one observed cell", "all of them missing"
            )
    for mode, size in enumerate(blocks[0].shape):
        seen = np.zeros(size, dtype=np.int64)
        for block in blocks:
            if mode in block.factors and (block.mask is not None or seen.max(initial=0) == 0):
                seen += block.rows_observed(block.factors.index(mode))
        if (seen == 0).any():
            rows = np.flatnonzero(seen == 0)
            warnings.warn(
                f"mode {mode}: nothing is observed for {rows.size} of its {size} indices (first: {rows[0]}); "
                "their factor rows are set to zero",
                ScoupWarning,
                stacklevel=4,
            )
