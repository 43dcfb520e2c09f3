"""Compiled loops over the cells of a range of rows, one kernel for each width of vector.

Each function returns a kernel; ranks above the width are done in blocks of columns. A kernel reads
``cells = (rows, middles, starts, leaves, values)`` of an Order and writes only rows ``first:last``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit

from scoup.kernels.lanes import added, fetch, live, load, scaled, store, summed, times, zeros

WIDTHS = (8, 16, 32)
# How many gathers ahead a row is asked for: about the latency of the last cache level.
AHEAD = 16
# Cells whose outer products are added to a Gram matrix while they are in the first-level cache.
BATCH = 16
# Bytes of a cache line, and of the widest vector.
LINE = 64

compiled = njit(cache=True, nogil=True)


def width_for(rank: int) -> int:
    """Return the narrowest width that holds ``rank`` columns, or the widest there is.

    >>> width_for(5), width_for(25), width_for(100)
    (8, 32, 32)
    """
    return next((width for width in WIDTHS if width >= rank), WIDTHS[-1])


def padded_zeros(rows: int, rank: int, dtype: Any) -> Any:
    """Zeros with ``rank`` columns rounded up so that every row begins on a cache line and is whole vectors.

    >>> padded_zeros(3, 25, np.float64).shape
    (3, 32)
    """
    size, width = np.dtype(dtype).itemsize, width_for(rank)
    columns = -(-rank // width) * width
    room = np.zeros(rows * columns + LINE // size, dtype)
    first = -room.ctypes.data % LINE // size
    return room[first : first + rows * columns].reshape(rows, columns)


@cache
def matrix_rows(width: int) -> Callable[..., Any]:
    """Sparse matrix times factor: ``out[i] = sum_t values[t] leaf[leaves[t]]``."""

    @compiled
    def kernel(first, last, cells, _, leaf, out):
        rows, _, _, leaves, values = cells
        rank, end = leaf.shape[1], leaves.size - 1
        for c in range(0, rank, width):
            mask = live(width, rank - c)
            for i in range(first, last):
                total = zeros(mask, out)
                for t in range(rows[i], rows[i + 1]):
                    fetch(leaf, leaves[min(t + AHEAD, end)], c, mask)
                    total = scaled(total, values[t], load(leaf, leaves[t], c, mask))
                store(out, i, c, mask, total)

    return kernel


@cache
def tensor_rows(width: int) -> Callable[..., Any]:
    """MTTKRP for the root: ``out[i] = sum over fibres of prod middle rows * (sum_t values[t] leaf[leaves[t]])``."""

    @compiled
    def kernel(first, last, cells, middle, leaf, out):
        rows, middles, starts, leaves, values = cells
        rank, end = out.shape[1], middles.shape[1] - 1
        for c in range(0, rank, width):
            mask, padded = live(width, rank - c), live(width, leaf.shape[1] - c)
            for i in range(first, last):
                total = zeros(mask, out)
                for s in range(rows[i], rows[i + 1]):
                    inner = zeros(mask, out)
                    for t in range(starts[s], starts[s + 1]):
                        inner = scaled(inner, values[t], load(leaf, leaves[t], c, padded))
                    for level in range(1, len(middle)):
                        inner = times(inner, load(middle[level], middles[level, s], c, mask))
                    fetch(middle[0], middles[0, min(s + AHEAD, end)], c, mask)
                    total = added(total, inner, load(middle[0], middles[0, s], c, mask))
                store(out, i, c, mask, total)

    return kernel


@cache
def leaf_rows(width: int) -> Callable[..., Any]:
    """MTTKRP for the leaf: ``out[leaves[t]] += values[t] * root[i] * prod middle rows``."""

    @compiled
    def kernel(first, last, cells, root, middle, out):
        rows, middles, starts, leaves, values = cells
        rank, end = root.shape[1], middles.shape[1] - 1
        for c in range(0, rank, width):
            mask, padded = live(width, rank - c), live(width, out.shape[1] - c)
            for i in range(first, last):
                for s in range(rows[i], rows[i + 1]):
                    inner = load(root, i, c, mask)
                    for level in range(len(middle)):
                        inner = times(inner, load(middle[level], middles[level, s], c, mask))
                    fetch(middle[0], middles[0, min(s + AHEAD, end)], c, mask)
                    for t in range(starts[s], starts[s + 1]):
                        total = load(out, leaves[t], c, padded)
                        store(out, leaves[t], c, padded, scaled(total, values[t], inner))

    return kernel


@compiled
def gather_vectors(first, s, cells, middle, leaf, vectors):
    """Fill ``vectors`` with ``prod middle rows * leaf row`` of the cells from ``first`` on, which is in fibre ``s``."""
    _, middles, starts, leaves, _ = cells
    levels, rank = middles.shape[0], leaf.shape[1]
    for t in range(first, first + vectors.shape[0]):
        while starts[s + 1] <= t:
            s += 1
        vector, row = vectors[t - first], leaf[leaves[t]]
        for f in range(rank):
            vector[f] = row[f]
        for level in range(levels):
            other = middle[level][middles[level, s]]
            for f in range(rank):
                vector[f] *= other[f]
    return s


@cache
def gram_rows(width: int) -> Callable[..., Any]:
    """Row Gram matrices: ``out[i] = sum over the cells of row i of v v^T``."""

    @compiled
    def kernel(first, last, cells, middle, leaf, out):
        rows, middles, starts, _, _ = cells
        rank = leaf.shape[1]
        vectors = np.empty((BATCH, rank), out.dtype)
        for i in range(first, last):
            gram = out[i]
            gram[:] = 0
            # Without middle modes a row is one fibre, number i.
            s, high = (rows[i], rows[i + 1]) if middles.shape[0] else (i, i + 1)
            for low in range(starts[s], starts[high], BATCH):
                count = min(BATCH, starts[high] - low)
                s = gather_vectors(low, s, cells, middle, leaf, vectors[:count])
                for c in range(0, rank, width):
                    mask = live(width, rank - c)
                    for f in range(rank):
                        total = load(gram, f, c, mask)
                        for b in range(count):
                            total = scaled(total, vectors[b, f], load(vectors, b, c, mask))
                        store(gram, f, c, mask, total)

    return kernel


@cache
def model_cells(width: int) -> Callable[..., Any]:
    """Model at cells: ``out[t] = sum_f weights[f] prod_n factors[n][coords[n, t], f]``."""

    @compiled
    def kernel(first, last, coords, weights, factors, out):
        rank, line = weights.size, weights.reshape(1, weights.size)
        for t in range(first, last):
            out[t] = 0
            for c in range(0, rank, width):
                mask = live(width, rank - c)
                term = load(line, 0, c, mask)
                for mode in range(len(factors)):
                    fetch(factors[mode], coords[mode, min(t + AHEAD, last - 1)], c, mask)
                    term = times(term, load(factors[mode], coords[mode, t], c, mask))
                out[t] += summed(term)

    return kernel
