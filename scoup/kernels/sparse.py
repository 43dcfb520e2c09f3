"""Products of sparse cells with factors: no Khatri-Rao product is formed, no cell is made dense."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scoup.kernels import rows
from scoup.kernels.fibres import Fibres, Order, read_only
from scoup.machine import run_chunks
from scoup.records import Array

# Private copies of a short mode's output: enough for eight threads, few enough to stay in cache.
OUTPUT_COPIES = 8
MODEL_CHUNK_CELLS = 8192
# Time of a number from a gathered row, in inner steps of dense kernels: it comes from anywhere.
GATHER_STEPS = 4
# From this size on memory matters more than speed: cells are not sorted for each mode.
MIN_LISTED_CELLS = 1 << 22


def mttkrp(fibres: Fibres, factors: Sequence[Array], mode: int) -> Array:
    """Matricised tensor times Khatri-Rao product, (I_mode, F).

    ``R[i, f] = sum over cells with index i in mode of x * prod_{n != mode} M_n[i_n, f]``

    >>> from scoup.kernels import arrange
    >>> matrix = arrange(np.array([[0, 1], [1, 0]], np.int32), np.array([2.0, 3.0]), (2, 2))
    >>> mttkrp(matrix, [np.ones((2, 1)), np.array([[5.0], [7.0]])], 0).tolist()
    [[14.0], [15.0]]
    """
    if fibres.values.size >= MIN_LISTED_CELLS and len(factors) > 2:
        return mttkrp_from_list(fibres, factors, mode)
    order = fibres.order_for(mode)
    blocks = tuple(read_only(factors[m], fibres.values.dtype) for m in order.modes)
    if order.modes[0] != mode:
        return _leaf_product(order, blocks)
    out = np.empty((fibres.shape[mode], blocks[0].shape[1]), fibres.values.dtype)
    if len(blocks) == 2:
        _over_rows(rows.matrix_rows, order, (), blocks[-1], out)
    else:
        leaf = _align_rows(blocks[-1], fibres.values.size)
        _over_rows(rows.tensor_rows, order, blocks[1:-1], leaf, out)
    return out


def mttkrp_from_list(fibres: Fibres, factors: Sequence[Array], mode: int) -> Array:
    """Compute :func:`mttkrp` of a large tensor from its cells as they are listed.

    Fibres sorted for each mode would take several times the memory of the tensor. A long mode keeps
    the order of its cells instead, four bytes each; a short one adds cells up as they come, in
    private copies of its rows.

    >>> from scoup.kernels import arrange
    >>> coords = np.array([[0, 1], [1, 0], [0, 0]], np.int32)
    >>> tensor = arrange(coords, np.array([2.0, 3.0]), (2, 2, 1))
    >>> factors = [np.ones((2, 1)), np.array([[5.0], [7.0]]), np.ones((1, 1))]
    >>> mttkrp_from_list(tensor, factors, 0).tolist()
    [[14.0], [15.0]]
    """
    modes = np.array([mode, *(n for n in range(len(factors)) if n != mode)])
    blocks = tuple(read_only(factors[n], fibres.values.dtype) for n in modes[1:])
    by_cells = mode != 0 and fibres.is_short(mode)
    return (_list_by_cells if by_cells else _list_by_rows)(fibres, modes, blocks)


def row_grams(fibres: Fibres, factors: Sequence[Array], mode: int) -> Array:
    """Gram matrix of the stored cells of each row, (I_mode, F, F), whatever their values.

    ``G[i] = sum over cells with index i in mode of v v^T``, ``v = hadamard_{n != mode} M_n[i_n]``

    >>> from scoup.kernels import arrange
    >>> cells = arrange(np.array([[0, 0], [0, 1]], np.int32), np.ones(2), (2, 2))
    >>> row_grams(cells, [np.ones((2, 1)), np.array([[2.0], [3.0]])], 0).ravel().tolist()
    [13.0, 0.0]
    """
    order = fibres.order(mode)
    blocks = tuple(read_only(factors[m], fibres.values.dtype) for m in order.modes)
    rank = blocks[0].shape[1]
    out = np.empty((fibres.shape[mode], rank, rank), fibres.values.dtype)
    _over_rows(rows.gram_rows, order, blocks[1:-1], blocks[-1], out)
    return out


def model_at(coords: Array, weights: Array, factors: Sequence[Array]) -> Array:
    """Value of the model at given cells: ``sum_f weights[f] prod_n M_n[coords[n], f]``, (n,).

    >>> factors = [np.array([[3.0]]), np.array([[0.0], [5.0]])]
    >>> model_at(np.array([[0], [1]], np.int32), np.array([2.0]), factors)
    array([30.])
    """
    dtype = np.result_type(*(factor.dtype for factor in factors))
    cells, scale = read_only(coords, np.int32), read_only(weights, dtype)
    blocks = tuple(read_only(factor, dtype) for factor in factors)
    count = cells.shape[1]
    out = np.empty(count, dtype)
    chunks = -(-count // MODEL_CHUNK_CELLS)
    kernel = rows.model_cells(rows.width_for(scale.size))
    run_chunks(
        chunks,
        lambda a, b: kernel(
            a * MODEL_CHUNK_CELLS, min(b * MODEL_CHUNK_CELLS, count), cells, scale, blocks, out
        ),
        count * scale.size,
    )
    return out


def sparse_densities(coords: Array, values: Array, shape: Sequence[int]) -> list[Array]:
    """Sums of absolute values over all cells of each index, one vector per mode, in float64.

    ``d_n[i] = sum over cells with index i in mode n of |x|``

    >>> coords, values = np.array([[0, 1], [1, 1]]), np.array([-2.0, 3.0])
    >>> [d.tolist() for d in sparse_densities(coords, values, (2, 2))]
    [[2.0, 3.0], [0.0, 5.0]]
    """
    sums = [np.zeros(size) for size in shape]
    add_densities(coords, values, sums)
    return sums


def add_densities(coords: Array, values: Array, sums: Sequence[Array]) -> None:
    """Add the absolute values of further cells to the densities ``sums``, in place.

    >>> sums = [np.ones(2), np.zeros(2)]
    >>> add_densities(np.array([[0, 1], [1, 1]]), np.array([-2.0, 3.0]), sums)
    >>> [total.tolist() for total in sums]
    [[3.0, 4.0], [0.0, 5.0]]
    """
    for index, total in zip(coords, sums, strict=True):
        _add_absolute(read_only(index, np.int32), read_only(values), total)


@rows.jit
def _add_absolute(index, values, total):
    for t in range(index.size):
        total[index[t]] += np.float64(abs(values[t]))


def _over_rows(
    make: Callable[[int], Any], order: Order, middle: tuple[Array, ...], leaf: Array, out: Array
) -> None:
    """Run a kernel that fills ``out`` row by row on the chunks of an order."""
    kernel, bounds = make(rows.width_for(out.shape[1])), order.bounds.tolist()
    # A matrix has no middle mode, but numba cannot type an empty tuple: pass an unused factor.
    others = middle or (leaf,)
    run_chunks(
        order.chunks,
        lambda a, b: kernel(bounds[a], bounds[b], order.cells, others, leaf, out),
        GATHER_STEPS * order.values.size * out[0].size,
    )


def _leaf_product(order: Order, blocks: tuple[Array, ...]) -> Array:
    """Compute the product for the leaf mode: chunks fill private copies, summed in their order."""
    groups, rank = min(OUTPUT_COPIES, order.chunks), blocks[0].shape[1]
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

    run_chunks(groups, work, GATHER_STEPS * order.values.size * rank)
    return _sum_copies(copies, rank)


def _list_by_rows(fibres: Fibres, modes: Array, blocks: tuple[Array, ...]) -> Array:
    mode = int(modes[0])
    pointers, places, bounds = fibres.row_list(mode)
    rank, ends = blocks[0].shape[1], bounds.tolist()
    out = np.empty((fibres.shape[mode], rank), fibres.values.dtype)
    kernel = rows.list_rows(rows.width_for(rank))
    cells = (pointers, places, fibres.coords, fibres.values)
    run_chunks(
        len(ends) - 1,
        lambda a, b: kernel(ends[a], ends[b], cells, modes, blocks, out),
        GATHER_STEPS * fibres.values.size * rank,
    )
    return out


def _list_by_cells(fibres: Fibres, modes: Array, blocks: tuple[Array, ...]) -> Array:
    """Chunks of cells fill private copies, summed in their order."""
    size, rank, nnz = fibres.shape[int(modes[0])], blocks[0].shape[1], fibres.values.size
    ends = np.linspace(0, nnz, OUTPUT_COPIES + 1).astype(int).tolist()
    copies = [rows.padded_zeros(size, rank, fibres.values.dtype) for _ in range(OUTPUT_COPIES)]
    kernel = rows.list_cells(rows.width_for(rank))
    cells = (fibres.coords, fibres.values)

    def work(first: int, last: int) -> None:
        for n in range(first, last):
            kernel(ends[n], ends[n + 1], cells, modes, blocks, copies[n])

    run_chunks(OUTPUT_COPIES, work, GATHER_STEPS * nnz * rank)
    return _sum_copies(copies, rank)


def _sum_copies(copies: list[Array], rank: int) -> Array:
    for copy in copies[1:]:
        copies[0] += copy
    return np.ascontiguousarray(copies[0][:, :rank])


def _align_rows(factor: Array, reads: int) -> Array:
    """Copy a factor whose rows are read many times so that they start on cache lines."""
    if 8 * len(factor) > reads:
        return factor
    copy = rows.padded_zeros(len(factor), factor.shape[1], factor.dtype)
    copy[:, : factor.shape[1]] = factor
    return read_only(copy)
