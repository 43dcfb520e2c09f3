"""Products of sparse cells with factors: no Khatri-Rao product is formed, no cell is made dense."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scoup.kernels import listed, rows
from scoup.kernels.fibres import Array, Fibres, Order, frozen
from scoup.kernels.pool import share

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
    if fibres.values.size >= listed.LARGE and len(factors) > 2:
        return listed.mttkrp(fibres, factors, mode)
    order = fibres.host(mode)
    blocks = tuple(frozen(factors[m], fibres.values.dtype) for m in order.modes)
    if order.modes[0] != mode:
        return _leaf_product(order, blocks)
    out = np.empty((fibres.shape[mode], blocks[0].shape[1]), fibres.values.dtype)
    if len(blocks) == 2:
        _over_rows(rows.matrix_rows, order, (), blocks[-1], out)
    else:
        _over_rows(
            rows.tensor_rows, order, blocks[1:-1], _on_lines(blocks[-1], fibres.values.size), out
        )
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
    _over_rows(rows.gram_rows, order, blocks[1:-1], blocks[-1], out)
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
    kernel = rows.model_cells(rows.width_for(scale.size))
    share(
        chunks,
        lambda a, b: kernel(
            a * MODEL_CELLS, min(b * MODEL_CELLS, count), cells, scale, blocks, out
        ),
        count * scale.size,
    )
    return out


def sparse_densities(coords: Array, values: Array, shape: Sequence[int]) -> list[Array]:
    """Sums of absolute values over all cells of each index, one vector a mode, in float64.

    ``d_n[i] = sum over cells with index i in mode n of |x|``

    >>> [d.tolist() for d in sparse_densities(np.array([[0, 1], [1, 1]]), np.array([-2.0, 3.0]), (2, 2))]
    [[2.0, 3.0], [0.0, 5.0]]
    """
    sums = [np.zeros(size) for size in shape]
    for index, total in zip(coords, sums, strict=True):
        _add_sizes(frozen(index, np.int32), frozen(values), total)
    return sums


@rows.compiled
def _add_sizes(index, values, total):
    for t in range(index.size):
        total[index[t]] += np.float64(abs(values[t]))


def _over_rows(
    make: Callable[[int], Any], order: Order, middle: tuple[Array, ...], leaf: Array, out: Array
) -> None:
    """Run a kernel that fills ``out`` row by row on the chunks of an order."""
    kernel, bounds = make(rows.width_for(out.shape[1])), order.bounds.tolist()
    # A matrix has no middle; an empty tuple has no type, so its only factor stands in and is never read.
    others = middle or (leaf,)
    share(
        order.chunks,
        lambda a, b: kernel(bounds[a], bounds[b], order.cells, others, leaf, out),
        order.values.size * out[0].size,
    )


def _leaf_product(order: Order, blocks: tuple[Array, ...]) -> Array:
    """Product for the leaf mode: chunks write private copies, added up in the order of the chunks."""
    groups, rank = min(COPIES, order.chunks), blocks[0].shape[1]
    bounds = order.bounds[np.linspace(0, order.chunks, groups + 1).astype(int)].tolist()
    copies = [rows.padded_zeros(len(blocks[-1]), rank, blocks[-1].dtype) for _ in range(groups)]
    kernel = rows.leaf_rows(rows.width_for(rank))

    def work(first: int, last: int) -> None:
        for group in range(first, last):
            kernel(
                bounds[group],
                bounds[group + 1],
                order.cells,
                blocks[0],
                blocks[1:-1],
                copies[group],
            )

    share(groups, work, order.values.size * rank)
    for copy in copies[1:]:
        copies[0] += copy
    return np.ascontiguousarray(copies[0][:, :rank])


def _on_lines(factor: Array, reads: int) -> Array:
    """Copy a factor that is read many times over into rows that begin on cache lines."""
    if 8 * len(factor) > reads:
        return factor
    copy = rows.padded_zeros(len(factor), factor.shape[1], factor.dtype)
    copy[:, : factor.shape[1]] = factor
    return frozen(copy)
