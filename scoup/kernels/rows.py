"""Compiled loops over ranges of rows or cells, one kernel per width of vector.

Each maker, such as :func:`tensor_rows`, returns a kernel; a rank above the width is done in blocks
of columns. A kernel reads ``cells = (rows, middles, starts, leaves, values)`` of an
:class:`~scoup.kernels.fibres.Order` and writes only rows ``first:last``.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit

from scoup.kernels.fibres import read_only
from scoup.kernels.lanes import (
    add_product,
    add_scaled,
    lane_mask,
    load,
    multiply,
    prefetch,
    scale,
    store,
    sum_lanes,
    zero_lanes,
)
from scoup.machine import run_chunks
from scoup.records import Array

VECTOR_WIDTHS = (8, 16, 32)
# Gathers between the prefetch of a row and its use: about the latency of the last cache level.
PREFETCH_GATHERS = 16
# Cells whose outer products are added to a Gram matrix while they are in the first-level cache.
GRAM_BATCH_CELLS = 16
# Size of a cache line, and of the widest vector.
CACHE_LINE_BYTES = 64
# Systems that one chunk of :func:`solve_rows` holds, and that are solved at a time.
CHUNK_SYSTEMS, LANES = 64, 8
# Below this pivot, after scaling to a unit diagonal, a system is treated as singular. About the
# root of eps: a smaller one leaves rounding errors as large as the pivots that follow.
MIN_PIVOT = {np.dtype(np.float64): 1e-8, np.dtype(np.float32): 3e-4}

jit = njit(cache=True, nogil=True)
# For a large part of few kernels: as a function it would be compiled once more, by itself.
inlined = njit(nogil=True, inline="always")


@jit
def fill(matrix, number):
    """Set every entry, by loops: numba compiles an assignment to a slice for ten times as long."""
    for i in range(matrix.shape[0]):
        for c in range(matrix.shape[1]):
            matrix[i, c] = number


def width_for(rank: int) -> int:
    """Return the narrowest width that holds ``rank`` columns, or the widest there is.

    >>> width_for(5), width_for(25), width_for(100)
    (8, 32, 32)
    """
    return next((width for width in VECTOR_WIDTHS if width >= rank), VECTOR_WIDTHS[-1])


def padded_zeros(rows: int, rank: int, dtype: Any) -> Any:
    """Return zeros whose rows start on cache lines and hold whole vectors: ``rank`` is rounded up.

    >>> padded_zeros(3, 25, np.float64).shape
    (3, 32)
    """
    size, width = np.dtype(dtype).itemsize, width_for(rank)
    columns = -(-rank // width) * width
    buffer = np.zeros(rows * columns + CACHE_LINE_BYTES // size, dtype)
    first = -buffer.ctypes.data % CACHE_LINE_BYTES // size
    return buffer[first : first + rows * columns].reshape(rows, columns)


@jit
def empty_lines(count, width, like):
    """Return a matrix of the type of ``like`` whose rows start on cache lines, if whole lines.

    A vector that two lines share takes two loads.
    """
    numbers = np.empty(count * width + CACHE_LINE_BYTES // like.itemsize, like.dtype)
    first = -numbers.ctypes.data % CACHE_LINE_BYTES // like.itemsize
    return numbers[first : first + count * width].reshape(count, width)


@cache
def matrix_rows(width: int) -> Callable[..., Any]:
    """Sparse matrix times factor: ``out[i] = sum_t values[t] leaf[leaves[t]]``."""

    @jit
    def kernel(first, last, cells, _, leaf, out):
        rows, _, _, leaves, values = cells
        rank, end = leaf.shape[1], leaves.size - 1
        for c in range(0, rank, width):
            mask = lane_mask(width, rank - c)
            for i in range(first, last):
                total = zero_lanes(mask, out)
                for t in range(rows[i], rows[i + 1]):
                    prefetch(leaf, leaves[min(t + PREFETCH_GATHERS, end)], c, mask)
                    total = add_scaled(total, values[t], load(leaf, leaves[t], c, mask))
                store(out, i, c, mask, total)

    return kernel


@cache
def tensor_rows(width: int) -> Callable[..., Any]:
    """MTTKRP for the root mode, fibre by fibre.

    ``out[i] = sum over fibres of prod middle rows * (sum_t values[t] leaf[leaves[t]])``
    """

    @jit
    def kernel(first, last, cells, middle, leaf, out):
        rows, middles, starts, leaves, values = cells
        rank, end = out.shape[1], middles.shape[1] - 1
        for c in range(0, rank, width):
            mask, padded = lane_mask(width, rank - c), lane_mask(width, leaf.shape[1] - c)
            for i in range(first, last):
                total = zero_lanes(mask, out)
                for s in range(rows[i], rows[i + 1]):
                    inner = zero_lanes(mask, out)
                    for t in range(starts[s], starts[s + 1]):
                        inner = add_scaled(inner, values[t], load(leaf, leaves[t], c, padded))
                    for level in range(1, len(middle)):
                        inner = multiply(inner, load(middle[level], middles[level, s], c, mask))
                    prefetch(middle[0], middles[0, min(s + PREFETCH_GATHERS, end)], c, mask)
                    total = add_product(total, inner, load(middle[0], middles[0, s], c, mask))
                store(out, i, c, mask, total)

    return kernel


@cache
def leaf_rows(width: int) -> Callable[..., Any]:
    """MTTKRP for the leaf: ``out[leaves[t]] += values[t] * root[i] * prod middle rows``."""

    @jit
    def kernel(first, last, cells, root, middle, out):
        rows, middles, starts, leaves, values = cells
        rank, end = root.shape[1], middles.shape[1] - 1
        for c in range(0, rank, width):
            mask, padded = lane_mask(width, rank - c), lane_mask(width, width)
            for i in range(first, last):
                for s in range(rows[i], rows[i + 1]):
                    inner = load(root, i, c, mask)
                    for level in range(len(middle)):
                        inner = multiply(inner, load(middle[level], middles[level, s], c, mask))
                    prefetch(middle[0], middles[0, min(s + PREFETCH_GATHERS, end)], c, mask)
                    for t in range(starts[s], starts[s + 1]):
                        total = load(out, leaves[t], c, padded)
                        store(out, leaves[t], c, padded, add_scaled(total, values[t], inner))

    return kernel


@jit
def gather_vectors(first, s, cells, middle, leaf, vectors):
    """Fill ``vectors`` with ``prod middle rows * leaf row`` of cells from ``first``, in fibre s."""
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

    @jit
    def kernel(first, last, cells, middle, leaf, out):
        rows, middles, starts, _, _ = cells
        rank = leaf.shape[1]
        vectors = np.empty((GRAM_BATCH_CELLS, rank), out.dtype)
        for i in range(first, last):
            gram = out[i]
            gram[:] = 0
            # Without middle modes a row is one fibre, number i.
            s, high = (rows[i], rows[i + 1]) if middles.shape[0] else (i, i + 1)
            for low in range(starts[s], starts[high], GRAM_BATCH_CELLS):
                count = min(GRAM_BATCH_CELLS, starts[high] - low)
                s = gather_vectors(low, s, cells, middle, leaf, vectors[:count])
                for c in range(0, rank, width):
                    mask = lane_mask(width, rank - c)
                    for f in range(rank):
                        total = load(gram, f, c, mask)
                        for b in range(count):
                            total = add_scaled(total, vectors[b, f], load(vectors, b, c, mask))
                        store(gram, f, c, mask, total)

    return kernel


@cache
def model_cells(width: int) -> Callable[..., Any]:
    """Model at cells: ``out[t] = sum_f weights[f] prod_n factors[n][coords[n, t], f]``."""

    @jit
    def kernel(first, last, coords, weights, factors, out):
        rank, line = weights.size, weights.reshape(1, weights.size)
        for t in range(first, last):
            out[t] = 0
            for c in range(0, rank, width):
                mask = lane_mask(width, rank - c)
                term = load(line, 0, c, mask)
                for mode in range(len(factors)):
                    prefetch(
                        factors[mode], coords[mode, min(t + PREFETCH_GATHERS, last - 1)], c, mask
                    )
                    term = multiply(term, load(factors[mode], coords[mode, t], c, mask))
                out[t] += sum_lanes(term)

    return kernel


@cache
def list_rows(width: int) -> Callable[..., Any]:
    """MTTKRP from the list of cells, for a range of rows; ``places`` is empty for sorted cells."""

    @jit
    def kernel(first, last, cells, modes, factors, out):
        rows, places, coords, values = cells
        rank = out.shape[1]
        for c in range(0, rank, width):
            mask = lane_mask(width, rank - c)
            for i in range(first, last):
                total = zero_lanes(mask, out)
                for t in range(rows[i], rows[i + 1]):
                    p = places[t] if places.size else t
                    term = load(factors[0], coords[modes[1], p], c, mask)
                    for n in range(1, len(factors)):
                        term = multiply(term, load(factors[n], coords[modes[n + 1], p], c, mask))
                    total = add_scaled(total, values[p], term)
                store(out, i, c, mask, total)

    return kernel


@cache
def list_cells(width: int) -> Callable[..., Any]:
    """MTTKRP from the list of cells, for cells in any order: ``out[i] += x * prod other rows``."""

    @jit
    def kernel(first, last, cells, modes, factors, out):
        coords, values = cells
        rank = factors[0].shape[1]
        for c in range(0, rank, width):
            mask, padded = lane_mask(width, rank - c), lane_mask(width, width)
            for t in range(first, last):
                term = load(factors[0], coords[modes[1], t], c, mask)
                for n in range(1, len(factors)):
                    term = multiply(term, load(factors[n], coords[modes[n + 1], t], c, mask))
                total = load(out, coords[modes[0], t], c, padded)
                store(out, coords[modes[0], t], c, padded, add_scaled(total, values[t], term))

    return kernel


def solve_rows(grams: Array, rhs: Array) -> tuple[Array, Array]:
    """Solve ``grams[i] @ out[i] = rhs[i]`` for positive definite grams (n, F, F), rhs (n, F).

    Return the rows, and which systems are singular to the precision of ``rhs``: their rows are
    zero.

    >>> rows, singular = solve_rows(np.array([[[4.0]], [[0.0]]]), np.array([[8.0], [1.0]]))
    >>> rows.tolist(), singular.tolist()
    ([[2.0], [0.0]], [False, True])
    """
    count, rank = rhs.shape
    systems, right = read_only(grams), read_only(rhs)
    out, singular = np.zeros_like(right), np.zeros(count, np.bool_)
    least = MIN_PIVOT[np.dtype(rhs.dtype)]
    run_chunks(
        -(-count // CHUNK_SYSTEMS),
        lambda a, b: cholesky_rows(
            (a * CHUNK_SYSTEMS, min(b * CHUNK_SYSTEMS, count)), systems, right, least, out, singular
        ),
        count * rank**3 / 6,
    )
    return out, singular


@jit
def cholesky_rows(span, grams, rhs, least, out, singular):
    """Solve several systems at a time, one per lane of a vector."""
    first, last = span
    rank = rhs.shape[1]
    low, rows = np.empty((rank * rank, LANES)), np.empty((rank, LANES))
    sizes, top, good = np.empty((rank, LANES)), np.empty(LANES), np.empty(LANES, np.bool_)
    for start in range(first, last, LANES):
        for s in range(LANES):
            i = min(start + s, last - 1)  # lanes past the last system repeat it
            top[s], good[s] = 0.0, True
            for f in range(rank):
                rows[f, s], sizes[f, s] = rhs[i, f], grams[i, f, f]
                top[s] = max(top[s], sizes[f, s])
                for g in range(f + 1):
                    low[f * rank + g, s] = grams[i, f, g]
        for f in range(rank):
            _add_line(low, f, rank)
            for s in range(LANES):
                # The pivot after scaling to a unit diagonal; a tiny column is a rounding error.
                pivot = -low[f * rank + f, s]
                safe = pivot > least * max(sizes[f, s], least * top[s])
                good[s] = good[s] and safe
                low[f * rank + f, s] = -1.0 / np.sqrt(pivot if safe else 1.0)
        _substitute(low, rows)
        for i in range(start, min(start + LANES, last)):
            singular[i] = not good[i - start]
            for f in range(rank):
                # Opposite signs leave zeros with a minus; adding zero takes it away.
                out[i, f] = rows[f, i - start] + 0.0 if good[i - start] else 0.0


# Sums are kept with the opposite sign and inverse pivots with a minus, so that terms are added.
@jit
def _add_line(low, f, rank):
    """Compute line f of Cholesky factors, with minus the square of the pivot on the diagonal."""
    whole = lane_mask(LANES, LANES)
    for g in range(f + 1):
        total = scale(-1.0, load(low, f * rank + g, 0, whole))
        for h in range(g):
            left, right = load(low, f * rank + h, 0, whole), load(low, g * rank + h, 0, whole)
            total = add_product(total, left, right)
        if g < f:
            total = multiply(total, load(low, g * rank + g, 0, whole))
        store(low, f * rank + g, 0, whole, total)


@jit
def _substitute(low, rows):
    """Solve ``L L' x = row`` in place."""
    rank, whole = len(rows), lane_mask(LANES, LANES)
    for f in range(rank):
        total = scale(-1.0, load(rows, f, 0, whole))
        for g in range(f):
            total = add_product(total, load(low, f * rank + g, 0, whole), load(rows, g, 0, whole))
        store(rows, f, 0, whole, multiply(total, load(low, f * rank + f, 0, whole)))
    for f in range(rank - 1, -1, -1):
        total = scale(-1.0, load(rows, f, 0, whole))
        for g in range(f + 1, rank):
            total = add_product(total, load(low, g * rank + f, 0, whole), load(rows, g, 0, whole))
        store(rows, f, 0, whole, multiply(total, load(low, f * rank + f, 0, whole)))
