"""A tensor and the matrices that share modes with it: the data of a coupled factorization."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scoup.errors import ScoupError, ScoupWarning
from scoup.records import Array, Labels, Provenance, as_labels, as_lists, by_mode
from scoup.streamed import StreamedTensor
from scoup.tensor import SparseTensor, as_real, check_indices, ravel

# A slice lacks many cells if one in so many is hidden.
SCARCE_SHARE = 8
# Smallest sum of squares of a block that is not zero; below it digits are lost.
MIN_SQUARES = float(np.finfo(np.float64).tiny)
# Larger numbers of observed cells count as this one, so that sums of a few do not overflow.
MAX_COUNT = 2**60


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A mask that lists the missing cells: everything else is observed, zeros included.

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


@dataclass(frozen=True, eq=False, repr=False)
class CoupledData:
    """A tensor with matrices on some of its modes.

    The model is ``X = [[A, B, C, ...]]`` and, for a matrix on mode m, ``Y = M S^T`` with M the
    tensor's factor of mode m. Rows of a matrix are the indices of its mode.

    - ``tensor``: ndarray or SparseTensor with N >= 3 modes; NaN in a dense tensor means missing. A
      StreamedTensor, such as a folder of shards, stays on disk.
    - ``matrices``: ``{mode: Y}`` or ``{mode: [Y, ...]}`` (always held as lists), Y of shape
      (size of mode, any), dense or scipy sparse.
    - ``tensor_mask``: 0/1 array (1 = observed) for a dense tensor; ``HeldOut(cells)`` or
      ``Observed(cells)`` for a sparse one (a bare SparseTensor is read as held out).
    - ``matrix_masks``: shaped like ``matrices``, with None where nothing is missing.
    - ``weights``: ``"paper"`` (every block 1), ``"balanced"`` (1 / squared norm of the block), or
      numbers ``[w_tensor, w_matrix, ...]`` in the order tensor, then matrices by mode.
    - ``labels``: what the indices stand for, one entry for each of ``[*modes, *sides]``: ids,
      :class:`Labels` (ids with a name), or None for numbers. They name the rows of factors.

    >>> data = CoupledData(np.ones((2, 3, 4)), {0: np.ones((2, 5))})
    >>> data, data.block_weights
    (CoupledData(tensor: 2 x 3 x 4; matrix0: 2 x 5), (1.0, 1.0))
    >>> named = CoupledData(np.ones((2, 2, 2)), labels=[["cat", "dog"], None, None])
    >>> named.labels[0]
    Labels('mode0': cat, dog)
    """

    tensor: Array | SparseTensor | StreamedTensor
    matrices: Mapping[int, Any] = field(default_factory=dict)
    tensor_mask: Any = None
    matrix_masks: Mapping[int, Any] | None = None
    weights: str | Sequence[float] = "paper"
    labels: Any = ()
    blocks: tuple[Block, ...] = field(init=False)
    block_weights: tuple[float, ...] = field(init=False)

    def __post_init__(self) -> None:
        tensor, mask = _check_block("tensor", self.tensor, self.tensor_mask)
        if len(tensor.shape) < 3:
            raise ScoupError.expected("tensor", "three modes or more", len(tensor.shape))
        matrices = _check_matrices(self.matrices, tensor.shape)
        masks = _check_masks(self.matrix_masks, matrices)
        blocks = [Block("tensor", tensor, mask, tuple(range(len(tensor.shape))))]
        for mode, group in matrices.items():
            for position, matrix in enumerate(group):
                name = f"matrix{mode}" if len(group) == 1 else f"matrix{mode}.{position}"
                values, mask = _check_block(name, matrix, masks[mode][position])
                side = len(tensor.shape) + len(blocks) - 1
                blocks.append(Block(name, values, mask, (mode, side)))
        object.__setattr__(self, "matrices", matrices)
        object.__setattr__(self, "blocks", tuple(blocks))
        object.__setattr__(self, "block_weights", _check_weights(self.weights, blocks))
        object.__setattr__(self, "labels", as_labels(self.labels, self.ndim, self.sizes))
        _check_observed(self.blocks)

    def __repr__(self) -> str:
        return f"CoupledData({'; '.join(map(repr, self.blocks))})"

    def __getitem__(self, rows: Any) -> CoupledData:
        """Refuse rows: scikit-learn's searches would take slices of the tensor for samples."""
        expected = "Cells(data), whose samples are cells, or arrays"
        raise ScoupError.expected("samples", expected, "CoupledData", "select() takes a part of it")

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
    def owners(self) -> list[int]:
        """The mode of each matrix, in the order of the side factors."""
        return [block.factors[0] for block in self.blocks[1:]]

    @cached_property
    def dtype(self) -> np.dtype:
        """Type in which factors are computed: float32 only when every block is."""
        return np.result_type(*(block.values.dtype for block in self.blocks))

    @property
    def is_masked(self) -> bool:
        """Whether any cell of any block is missing."""
        return any(block.mask is not None for block in self.blocks)

    @property
    def nbytes(self) -> int:
        """Bytes of all values and coordinates, without masks."""
        return sum(block.values.nbytes for block in self.blocks)

    def rows_with_mass(self) -> list[NDArray[np.bool_]]:
        """Tell for each of ``[*modes, *sides]`` which of its rows touch a non-zero.

        >>> data = CoupledData(np.ones((2, 2, 2)), {0: np.array([[1.0, 0.0], [0.0, 0.0]])})
        >>> [rows.tolist() for rows in data.rows_with_mass()]
        [[True, True], [True, True], [True, True], [True, False]]
        """
        rows = [np.zeros(size, dtype=bool) for size in self.sizes]
        for block in self.blocks:
            for mode, position in enumerate(block.factors):
                if not rows[position].all():
                    rows[position] |= block.rows_with_mass(mode)
        return rows

    def select(self, indices: Sequence[Array]) -> CoupledData:
        """Return the data restricted to ``indices``, one array for each of ``[*modes, *sides]``.

        The weights stay what they are on the whole data, so that a sample has the same objective.
        A block of which nothing is observed at ``indices`` becomes zeros; a matrix among them
        counts for nothing.
        """
        return self.select_all([indices])[0]

    def select_block(self, number: int, indices: Sequence[Array]) -> tuple[Block, float]:
        """Return one block in memory restricted to ``indices``, and its weight."""
        block = self.blocks[number]
        part = block.select([indices[position] for position in block.factors])
        if part.observed:
            return part, self.block_weights[number]
        weight = 0.0 if number else self.block_weights[0]
        return Block(part.name, part.values, None, part.factors), weight

    def select_all(self, samples: Sequence[Sequence[Array]]) -> list[CoupledData]:
        """Return the data restricted to each of several ``indices``, see :meth:`select`.

        A tensor on disk is read once for all of them.
        """
        samples = [check_indices(indices, self.sizes) for indices in samples]
        tensor, order = self.blocks[0], self.ndim
        if not isinstance(tensor.values, StreamedTensor):
            return [self._with_parts([self.select_block(0, s)], s) for s in samples]
        tensors = tensor.values.select_all([indices[:order] for indices in samples])
        return [self.select_around(tensors.pop(0), indices) for indices in samples]

    def select_around(self, part: SparseTensor, indices: Sequence[Array]) -> CoupledData:
        """Return the data restricted to ``indices``, given its part of the tensor."""
        block = Block(self.blocks[0].name, part, None, self.blocks[0].factors)
        return self._with_parts([(block, self.block_weights[0])], indices)

    def _with_parts(
        self, parts: list[tuple[Block, float]], indices: Sequence[Array]
    ) -> CoupledData:
        """Return a part of the tensor together with the matrices restricted to ``indices``."""
        parts += [self.select_block(number, indices) for number in range(1, len(self.blocks))]
        blocks, weights = zip(*parts, strict=True)
        labels = [label.select(index) for label, index in zip(self.labels, indices, strict=False)]
        return CoupledData.from_blocks(blocks, weights, labels)

    @classmethod
    def from_blocks(
        cls,
        blocks: Sequence[Block],
        weights: str | Sequence[float],
        labels: Sequence[Labels] = (),
    ) -> CoupledData:
        """Rebuild checked data from blocks, tensor first."""
        tensor, *matrices = blocks
        owners = [block.factors[0] for block in matrices]
        values = by_mode([block.values for block in matrices], owners)
        masks = by_mode([block.mask for block in matrices], owners)
        return cls(tensor.values, values, tensor.mask, masks, weights, labels)

    def with_tensor_mask(self, mask: Mask) -> CoupledData:
        """Return the same data with another mask of the tensor."""
        tensor, *matrices = self.blocks
        masked = Block(tensor.name, tensor.values, mask, tensor.factors)
        return CoupledData.from_blocks([masked, *matrices], self.block_weights, self.labels)

    def with_weights(self, weights: str | Sequence[float]) -> CoupledData:
        """Return the same data under other block weights."""
        return CoupledData.from_blocks(self.blocks, weights, self.labels)

    def with_labels(self, labels: Sequence[Any]) -> CoupledData:
        """Return the same data with other labels."""
        named = copy.copy(self)
        object.__setattr__(named, "labels", as_labels(labels, self.ndim, self.sizes))
        return named


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Coupled data with what its indices mean and where it came from.

    ``labels`` has one entry for each of ``[*modes, *sides]``, or is empty. ``extras`` are further
    arrays that belong to the data, such as the voxel grid or the single presentations; ``facts``
    are plain JSON values.
    """

    data: CoupledData
    labels: tuple[Labels, ...] = ()
    provenance: Provenance | None = None
    extras: Mapping[str, Array] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.labels:
            object.__setattr__(self, "data", self.data.with_labels(self.labels))
        object.__setattr__(self, "labels", self.data.labels)

    def __repr__(self) -> str:
        names = ", ".join(label.name for label in self.labels)
        return f"Dataset({self.data!r}; labels: {names})" if names else f"Dataset({self.data!r})"

    def label(self, name: str) -> Labels:
        """Return the labels called ``name``, such as ``noun``."""
        for label in self.labels:
            if label.name == name:
                return label
        names = [label.name for label in self.labels]
        raise ScoupError.expected("labels", f"one called {name!r}", names)


def _check_matrices(matrices: Any, shape: tuple[int, ...]) -> dict[int, list[Any]]:
    if not isinstance(matrices, Mapping):
        raise ScoupError.expected("matrices", "a dict {mode: matrix}", type(matrices).__name__)
    modes = range(len(shape))
    for mode in matrices:
        if isinstance(mode, bool) or not isinstance(mode, (int, np.integer)) or mode not in modes:
            raise ScoupError.expected("matrices", f"modes from 0 to {len(shape) - 1}", repr(mode))
    groups = as_lists(matrices)
    for mode, group in groups.items():
        for position, matrix in enumerate(group):
            size = _shape_of(f"matrices[{mode}]", matrix)
            if len(size) != 2 or size[0] != shape[mode]:
                raise ScoupError.expected(
                    f"matrices[{mode}]" + (f"[{position}]" if position else ""),
                    f"{shape[mode]} rows, one per index of tensor mode {mode}",
                    f"shape {tuple(size)}",
                    "transpose it or couple it to another mode",
                )
    return {mode: [_as_cells(matrix) for matrix in group] for mode, group in groups.items()}


def _shape_of(name: str, values: Any) -> tuple[int, ...]:
    return values.shape if hasattr(values, "shape") else as_real(name, values).shape


def _check_masks(masks: Any, matrices: Mapping[int, list[Any]]) -> dict[int, list[Any]]:
    """Return one mask (or None) per matrix."""
    masks = {} if masks is None else masks
    if not isinstance(masks, Mapping) or set(masks) - set(matrices):
        got = sorted(set(masks) - set(matrices), key=str) if isinstance(masks, Mapping) else masks
        raise ScoupError.expected("matrix_masks", f"modes among {sorted(matrices)}", got)
    checked = {}
    for mode, group in matrices.items():
        mask = masks.get(mode)
        checked[mode] = list(mask) if isinstance(mask, (list, tuple)) else [mask] * len(group)
        if len(checked[mode]) != len(group):
            got = f"{len(checked[mode])} masks"
            raise ScoupError.expected(f"matrix_masks[{mode}]", "one mask (or None) per matrix", got)
    return checked


def _check_weights(weights: Any, blocks: Sequence[Block]) -> tuple[float, ...]:
    if isinstance(weights, str):
        if weights == "paper":
            return (1.0,) * len(blocks)
        if weights == "balanced":
            # A block of zeros has no size; it counts as the largest of the others.
            norms = [block.norm2 for block in blocks]
            return tuple(1.0 / (norm or max(norms) or 1.0) for norm in norms)
        raise ScoupError.expected("weights", "'paper', 'balanced' or numbers", repr(weights))
    expected = f"{len(blocks)} non-negative numbers, tensor first"
    try:
        numbers = as_real("weights", list(weights))
    except (TypeError, ScoupError):
        raise ScoupError.expected("weights", expected, repr(weights)) from None
    if numbers.shape != (len(blocks),) or not np.isfinite(numbers).all() or (numbers < 0).any():
        raise ScoupError.expected("weights", expected, list(weights))
    if numbers[0] == 0:
        raise ScoupError.expected("weights", "a positive weight for the tensor", 0)
    return tuple(float(number) for number in numbers)


def _check_observed(blocks: Sequence[Block]) -> None:
    """Refuse blocks without any observed cell; warn about slices without one."""
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
                f"mode {mode}: nothing is observed for {rows.size} of its {size} indices "
                f"(first: {rows[0]}); their factor rows are set to zero",
                ScoupWarning,
                stacklevel=4,
            )


def _as_cells(matrix: Any) -> Any:
    """Return scipy's sparse matrices as cells, so that the matrices themselves can be released."""
    if not sparse.issparse(matrix):
        return matrix
    coo = matrix.tocoo(copy=False)
    coords = np.empty((2, coo.nnz), np.int32)
    coords[0], coords[1] = coo.row, coo.col
    return SparseTensor.from_owned_arrays(coords, coo.data.copy(), coo.shape)


def _check_listed(name: str, cells: Any) -> SparseTensor:
    """Return the cells that a mask lists, those of value zero included."""
    cells = _as_cells(cells)
    if not isinstance(cells, SparseTensor):
        raise ScoupError.expected(name, "cells as a SparseTensor", type(cells).__name__)
    if not cells.zero_coords.size:
        return cells
    coords = np.hstack([cells.coords, cells.zero_coords])
    return SparseTensor(coords, np.ones(coords.shape[1], cells.dtype), cells.shape)


def _check_block(
    name: str, values: Any, mask: Any
) -> tuple[Array | SparseTensor | StreamedTensor, Mask]:
    """Return values with unobserved cells at zero, and the mask in its one inner form."""
    values = _as_cells(values)
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
