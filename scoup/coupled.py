"""A tensor and the matrices that share modes with it: the data of a coupled factorization."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.block import Block, Mask, as_cells, check_block
from scoup.errors import ScoupError, ScoupWarning
from scoup.records import Array, Labels, Provenance, as_labels, as_lists, by_mode
from scoup.streamed import StreamedTensor
from scoup.tensor import SparseTensor, as_real, check_indices


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
        tensor, mask = check_block("tensor", self.tensor, self.tensor_mask)
        if len(tensor.shape) < 3:
            raise ScoupError.expected("tensor", "three modes or more", len(tensor.shape))
        matrices = _check_matrices(self.matrices, tensor.shape)
        masks = _check_masks(self.matrix_masks, matrices)
        blocks = [Block("tensor", tensor, mask, tuple(range(len(tensor.shape))))]
        for mode, group in matrices.items():
            for position, matrix in enumerate(group):
                name = f"matrix{mode}" if len(group) == 1 else f"matrix{mode}.{position}"
                values, mask = check_block(name, matrix, masks[mode][position])
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
        return self.with_blocks(blocks, weights, labels)

    def with_blocks(
        self, blocks: Sequence[Block], weights: tuple[float, ...], labels: Sequence[Labels] = ()
    ) -> CoupledData:
        """Return parts of this data as data; complete ones without a pass that checks them again.

        >>> data = CoupledData(np.ones((2, 2, 2)))
        >>> data.with_blocks([data.blocks[0].select([np.array([0])] * 3)], (1.0,))
        CoupledData(tensor: 1 x 1 x 1)
        """
        if any(block.mask is not None or not min(block.shape) for block in blocks):
            return CoupledData.from_blocks(blocks, weights, labels)
        part, owners = copy.copy(self), self.owners
        values = {
            "tensor": blocks[0].values,
            "matrices": by_mode([block.values for block in blocks[1:]], owners),
            "tensor_mask": None,
            "matrix_masks": None,
            "weights": weights,
            "blocks": tuple(blocks),
            "block_weights": weights,
        }
        for name, value in values.items():
            object.__setattr__(part, name, value)
        object.__setattr__(part, "labels", as_labels(labels, part.ndim, part.sizes))
        return part

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
    return {mode: [as_cells(matrix) for matrix in group] for mode, group in groups.items()}


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
