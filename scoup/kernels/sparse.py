"""Products of sparse cells with factors: no Khatri-Rao product is formed, no cell is made dense."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from scoup.kernels.fibres import Array, Fibres, Order, frozen
from scoup.kernels.pool import share

# No flag that lets the compiler assume finite numbers; those given only regroup and fuse.
FAST = {"contract", "reassoc", "nsz"}
# Private copies of a short mode's output: enough to keep eight threads busy, few enough to stay in cache.
COPIES = 8
MODEL_CELLS = 8192


def mttkrp(fibres: Fibres, factors: Sequence[Array], mode: int) -> Array:
    """Matricised tensor times Khatri-Rao product, (I_mode, F).

    ``R[i, f] = sum over cells with index i in mode of x * prod_{n != mode} M_n[i_n, f]``

    >>> from scoup.kernels import arrange
    >>> matrix = arrange(np.array([[0, 1], [1, 0]], np.int32), np.array([2.0, 3.0]), (2, 2))
    >>> mttkrp(matrix, [np.ones((2, 1)), np.array([[5.0], [7.0]])], 0).tolist()
    [[14.0], [15.0]]
    """
    order = fibres.host(mode)
    blocks = tuple(frozen(factors[m], fibres.values.dtype) for m in order.modes)
    if order.modes[0] != mode:
        return _leaf_product(order, blocks)
    out = np.empty((fibres.shape[mode], blocks[0].shape[1]), fibres.values.dtype)
    if len(blocks) == 2:
        _over_rows(_matrix_rows, order, blocks[1], blocks[-1], out)
    elif len(blocks) == 3:
        _over_rows(_three_rows, order, blocks[1], blocks[-1], out)
    else:
        _over_rows(_many_rows, order, blocks[1:-1], blocks[-1], out)
    return out


def row_grams(fibres: Fibres, factors: Sequence[Array], mode: int) -> Array:
    """Gram matrix of the listed cells of each row, (I_mode, F, F); the cells' values play no part.

    ``G[i] = sum over cells with index i in mode of v v^T``, ``v = hadamard_{n != mode} M_n[i_n]``

    >>> from scoup.kernels import arrange
    >>> cells = arrange(np.array([[0, 0], [0, 1]], np.int32), np.ones(2), (2, 2))
    >>> row_grams(cells, [np.ones((2, 1)), np.array([[2.0], [3.0]])], 0).ravel().tolist()
    [13.0, 0.0]
    """
    order = fibres.order(mode)
    blocks = tuple(frozen(factors[m], fibres.values.dtype) for m in order.modes)
    rank = blocks[0].shape[1]
    out = np.empty((fibres.shape[mode], rank, rank), fibres.values.dtype)
    # A matrix has no middle; a factor of one row of ones, never read past it, stands in for the type.
    middle = blocks[1:-1] or (frozen(np.ones((1, rank), out.dtype)),)
    _over_rows(_gram_rows, order, middle, blocks[-1], out)
    return out


def model_at(coords: Array, weights: Array, factors: Sequence[Array]) -> Array:
    """Value of the model at given cells: ``sum_f weights[f] prod_n M_n[coords[n], f]``, (n,).

    >>> model_at(np.array([[0], [1]], np.int32), np.array([2.0]), [np.array([[3.0]]), np.array([[0.0], [5.0]])])
    array([30.])
    """
    dtype = np.result_type(*(factor.dtype for factor in factors))
    cells, scale = frozen(coords, np.int32), frozen(weights, dtype)
    blocks = tuple(frozen(factor, dtype) for factor in factors)
    count = cells.shape[1]
    out = np.empty(count, dtype)
    chunks = -(-count // MODEL_CELLS)
    share(
        chunks,
        lambda a, b: _model_cells(a * MODEL_CELLS, min(b * MODEL_CELLS, count), cells, scale, blocks, out),
        count * scale.size,
    )
    return out


def sparse_densities(coords: Array, values: Array, shape: Sequence[int]) -> list[Array]:
    """Sums of absolute values over all cells of each index, one vector a mode, in float64.

    ``d_n[i] = sum over cells with index i in mode n of |x|``

    >>> [d.tolist() for d in sparse_densities(np.array([[0, 1], [1, 1]]), np.array([-2.0, 3.0]), (2, 2))]
    [[2.0, 3.0], [0.0, 5.0]]
    """
    weights = np.abs(values).astype(np.float64, copy=False)
    return [np.bincount(index, weights, minlength=size) for index, size in zip(coords, shape, strict=True)]


def _over_rows(kernel, order: Order, middle, leaf: Array, out: Array) -> None:
    """Run a kernel that fills ``out`` row by row on the chunks of an order."""
    cells = (order.rows, order.middles, order.starts, order.leaves, order.values)
    bounds = order.bounds.tolist()
    share(
        order.chunks,
        lambda a, b: kernel(bounds[a], bounds[b], cells, middle, leaf, out),
        order.values.size * leaf.shape[1],
    )


def _leaf_product(order: Order, blocks: tuple[Array, ...]) -> Array:
    """Product for the leaf mode: chunks write private copies, added up in the order of the chunks."""
    cells = (order.rows, order.middles, order.starts, order.leaves, order.values)
    groups = min(COPIES, order.chunks)
    bounds = order.bounds[np.linspace(0, order.chunks, groups + 1).astype(int)].tolist()
    copies = np.zeros((groups, *blocks[-1].shape), blocks[-1].dtype)

    def work(first: int, last: int) -> None:
        for group in range(first, last):
            _leaf_rows(bounds[group], bounds[group + 1], cells, blocks[0], blocks[1:-1], copies[group])

    share(groups, work, order.values.size * blocks[0].shape[1])
    return copies.sum(axis=0) if groups > 1 else copies[0]


@njit(cache=True, nogil=True, fastmath=FAST)
def _matrix_rows(first, last, cells, _, leaf, out):
    rows, _, _, leaves, values = cells
    rank = leaf.shape[1]
    total = np.empty(rank, out.dtype)
    for i in range(first, last):
        total[:] = 0
        for t in range(rows[i], rows[i + 1]):
            x, row = values[t], leaf[leaves[t]]
            for f in range(rank):
                total[f] += x * row[f]
        out[i] = total


@njit(cache=True, nogil=True, fastmath=FAST)
def _three_rows(first, last, cells, middle, leaf, out):
    rows, middles, starts, leaves, values = cells
    rank = leaf.shape[1]
    total, inner = np.empty(rank, out.dtype), np.empty(rank, out.dtype)
    for i in range(first, last):
        total[:] = 0
        for s in range(rows[i], rows[i + 1]):
            inner[:] = 0
            for t in range(starts[s], starts[s + 1]):
                x, row = values[t], leaf[leaves[t]]
                for f in range(rank):
                    inner[f] += x * row[f]
            other = middle[middles[0, s]]
            for f in range(rank):
                total[f] += inner[f] * other[f]
        out[i] = total


@njit(cache=True, nogil=True, fastmath=FAST)
def _many_rows(first, last, cells, middle, leaf, out):
    rows, middles, starts, leaves, values = cells
    rank = leaf.shape[1]
    total, inner = np.empty(rank, out.dtype), np.empty(rank, out.dtype)
    for i in range(first, last):
        total[:] = 0
        for s in range(rows[i], rows[i + 1]):
            inner[:] = 0
            for t in range(starts[s], starts[s + 1]):
                x, row = values[t], leaf[leaves[t]]
                for f in range(rank):
                    inner[f] += x * row[f]
            for level in range(len(middle)):
                other = middle[level][middles[level, s]]
                for f in range(rank):
                    inner[f] *= other[f]
            for f in range(rank):
                total[f] += inner[f]
        out[i] = total


@njit(cache=True, nogil=True, fastmath=FAST)
def _leaf_rows(first, last, cells, root, middle, out):
    rows, middles, starts, leaves, values = cells
    rank = root.shape[1]
    inner = np.empty(rank, out.dtype)
    for i in range(first, last):
        for s in range(rows[i], rows[i + 1]):
            inner[:] = root[i]
            for level in range(len(middle)):
                other = middle[level][middles[level, s]]
                for f in range(rank):
                    inner[f] *= other[f]
            for t in range(starts[s], starts[s + 1]):
                x, row = values[t], out[leaves[t]]
                for f in range(rank):
                    row[f] += x * inner[f]


@njit(cache=True, nogil=True, fastmath=FAST)
def _gram_rows(first, last, cells, middle, leaf, out):
    rows, middles, starts, leaves, _ = cells
    rank = leaf.shape[1]
    fixed, v = np.empty(rank, out.dtype), np.empty(rank, out.dtype)
    levels = middles.shape[0]
    for i in range(first, last):
        gram = out[i]
        gram[:] = 0
        # Without middle modes a row is one fibre, number i.
        low, high = (rows[i], rows[i + 1]) if levels else (i, i + 1)
        for s in range(low, high):
            fixed[:] = 1
            for level in range(levels):
                other = middle[level][middles[level, s]]
                for f in range(rank):
                    fixed[f] *= other[f]
            for t in range(starts[s], starts[s + 1]):
                row = leaf[leaves[t]]
                for f in range(rank):
                    v[f] = fixed[f] * row[f]
                for f in range(rank):
                    line, scale = gram[f], v[f]
                    for g in range(f + 1):
                        line[g] += scale * v[g]
        for f in range(rank):
            for g in range(f):
                gram[g, f] = gram[f, g]


@njit(cache=True, nogil=True, fastmath=FAST)
def _model_cells(first, last, coords, weights, factors, out):
    rank = weights.size
    term = np.empty(rank, out.dtype)
    for t in range(first, last):
        term[:] = weights
        for mode in range(len(factors)):
            row = factors[mode][coords[mode, t]]
            for f in range(rank):
                term[f] *= row[f]
        out[t] = term.sum()
