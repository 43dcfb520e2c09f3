"""Lossless compression of one long dense mode.

The unfolding ``X_(L)`` (n x q) has rank at most q. With ``Z = [X_(L), Y_L, start]`` and a root R of
its Gram matrix, ``Z = U R`` with orthonormal U, so every least-squares update of the long factor
lies in the span of U, and ALS on ``U' Z = R`` makes the same iterates with n replaced by at most q
rows. Only the Gram matrix and one product at the end touch the long mode.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np
from scipy.linalg import lapack

from scoup import kernels
from scoup.block import Block
from scoup.coupled import CoupledData
from scoup.records import Array

# Directions whose share of the squared norm is below this are rounding, not data.
_SMALLEST_SHARE = 1e-15
# Smallest pivot, relative to its diagonal, of a Gram matrix without such directions.
MIN_PIVOT = 1e-10


@dataclass(frozen=True, eq=False)
class Compression:
    """Data with one mode replaced by coordinates in a basis of it, and the way back.

    >>> data = CoupledData(np.arange(60.0).reshape(2, 15, 2))
    >>> short = compress(data, mode=1)
    >>> short.data.shape[1] <= 4
    True
    """

    data: CoupledData
    mode: int
    starts: tuple[Array, ...]
    _tensor: Array
    _columns: Array
    _back: Callable[[Array], Array]

    def expand(self, factor: Array) -> Array:
        """Turn coordinates (k, F) of the long mode's factor into its rows (n, F): ``U M_c``."""
        coefficients = self._back(factor)
        count = self._tensor.shape[0] * self._tensor.shape[2]
        inner = coefficients[:count].reshape(self._tensor.shape[0], self._tensor.shape[2], -1)
        rows = kernels.spread(self._tensor, np.ascontiguousarray(inner, dtype=self._tensor.dtype))
        return rows + (self._columns @ coefficients[count:]).astype(rows.dtype, copy=False)


def longest(data: CoupledData) -> int | None:
    """Return the longest mode if it can be compressed, else None.

    Plain least squares only: the tensor and the matrices on that mode are dense and complete.

    >>> longest(CoupledData(np.ones((2, 15, 2))))
    1
    """
    mode = int(np.argmax(data.shape))
    blocks = [block for block in data.blocks if mode in block.factors]
    return None if any(block.is_sparse or block.mask is not None for block in blocks) else mode


def pays(data: CoupledData, mode: int, rank: int, sweeps: int) -> bool:
    """Tell whether the shorter mode is worth the Gram matrix.

    It costs n q^2 multiplications in one fast product; each sweep saves 4 n q F at memory speed.

    >>> pays(CoupledData(np.ones((6, 5000, 4))), mode=1, rank=3, sweeps=100)
    True
    """
    length = data.shape[mode]
    columns = [block.shape[1] for block in data.blocks[1:] if mode in block.factors]
    width = prod(data.shape) // length + sum(columns)
    return length >= 2 * (width + rank) and width <= 8 * rank * sweeps


def chosen_mode(data: CoupledData, setting: str | bool, rank: int, sweeps: int) -> int | None:
    """Return the mode to compress under the setting ``"auto"``, True or False; None for none.

    >>> data = CoupledData(np.ones((2, 15, 2)))
    >>> [chosen_mode(data, way, rank=3, sweeps=9) for way in ("auto", True, False)]
    [1, 1, None]
    """
    mode = None if setting is False else longest(data)
    if mode is None or setting is True or pays(data, mode, rank, sweeps):
        return mode
    return None


def compress(data: CoupledData, mode: int, starts: Sequence[Array] = ()) -> Compression:
    """Compress ``mode``; ``starts`` are (n, F) arrays whose columns the basis must span as well.

    >>> data = CoupledData(np.random.default_rng(0).standard_normal((2, 15, 2)))
    >>> short = compress(data, mode=1)
    >>> core = np.moveaxis(short.data.tensor, 1, 0).reshape(4, 4)
    >>> unfolded = np.moveaxis(data.tensor, 1, 0).reshape(15, 4)
    >>> np.allclose(short.expand(core), unfolded)
    True
    """
    tensor = data.blocks[0].values
    assert isinstance(tensor, np.ndarray)
    shape = tensor.shape
    cube = tensor.reshape(prod(shape[:mode]), shape[mode], prod(shape[mode + 1 :]))
    coupled = [n for n, block in enumerate(data.blocks) if n and mode in block.factors]
    matrices = [np.asarray(data.blocks[n].values) for n in coupled]
    columns = np.hstack([*matrices, *starts, np.zeros((shape[mode], 0))])
    gram, scale = _scaled_gram(cube, columns, [matrix.shape[1] for matrix in matrices])
    root, solve = _square_root(gram)
    core = root / scale
    count = cube.shape[0] * cube.shape[2]
    ends = np.cumsum([count, *(array.shape[1] for array in [*matrices, *starts])])
    parts = np.split(core, ends[:-1], axis=1)
    blocks = _core_blocks(data, mode, parts[: 1 + len(coupled)], coupled)
    small = data.with_blocks(blocks, data.block_weights)
    coordinates = tuple(part.astype(data.dtype) for part in parts[1 + len(coupled) :])
    return Compression(
        small, mode, coordinates, cube, columns, lambda factor: solve(factor) * scale[:, None]
    )


def _scaled_gram(cube: Array, columns: Array, widths: Sequence[int]) -> tuple[Array, Array]:
    """``Z' Z`` with each part of Z at unit norm, so that a small matrix keeps its digits."""
    count = cube.shape[0] * cube.shape[2]
    size = count + columns.shape[1]
    gram = np.zeros((size, size))
    gram[:count, :count] = kernels.long_gram(cube)
    if columns.shape[1]:
        cross = kernels.contract(cube, np.ascontiguousarray(columns, dtype=cube.dtype)).reshape(
            count, -1
        )
        gram[:count, count:], gram[count:, :count] = cross, cross.T
        gram[count:, count:] = columns.T @ columns
    ends = [0, count, *(count + np.cumsum(widths)), size]
    scale = np.ones(size)
    for start, end in pairwise(ends):
        norm = np.sqrt(np.trace(gram[start:end, start:end])) if end > start else 0.0
        scale[start:end] = 1.0 / norm if norm > 0 else 1.0
    gram *= scale
    gram *= scale[:, None]
    return gram, scale


def _square_root(gram: Array) -> tuple[Array, Callable[[Array], Array]]:
    """Return R (k, n) with ``R' R = G``, and the function that solves ``R C = M`` for C.

    By Cholesky, or, if G is close to singular, by eigenvectors, which take ten times as long.
    """
    try:
        root = np.linalg.cholesky(gram).T
    except np.linalg.LinAlgError:
        root = np.zeros_like(gram)
    if (root.diagonal() ** 2 > MIN_PIVOT * gram.diagonal()).all():
        # LAPACK as it is: scipy's checks around it take longer.
        return root, lambda factor: lapack.dtrtrs(root, factor)[0]
    values, vectors = np.linalg.eigh(gram)
    keep = values > _SMALLEST_SHARE * values[-1]
    roots, vectors = np.sqrt(values[keep]), vectors[:, keep]
    return (vectors * roots).T, lambda factor: (vectors / roots) @ factor


def _core_blocks(
    data: CoupledData, mode: int, parts: Sequence[Array], coupled: Sequence[int]
) -> list[Block]:
    """The blocks with the long mode's rows replaced by the core's; other blocks stay."""
    shape = data.shape
    rest = shape[:mode] + shape[mode + 1 :]
    blocks = list(data.blocks)
    tensor = blocks[0]
    core = np.moveaxis(parts[0].reshape(-1, *rest), 0, mode)
    blocks[0] = Block(
        "tensor", np.ascontiguousarray(core, dtype=tensor.values.dtype), None, tensor.factors
    )
    for number, part in zip(coupled, parts[1:], strict=True):
        old = data.blocks[number]
        blocks[number] = Block(
            old.name, np.ascontiguousarray(part, dtype=old.values.dtype), None, old.factors
        )
    return blocks
