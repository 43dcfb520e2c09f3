"""Passes over a dense tensor, viewed as (pre, n, post), that make no temporary of its size."""

from collections.abc import Callable
from functools import cache, lru_cache
from itertools import pairwise
from itertools import product as pairs
from typing import Any

import numpy as np
from numba import literally, njit

from scoup.kernels.fibres import read_only
from scoup.kernels.lanes import (
    add_scaled,
    lane_mask,
    load,
    prefetch,
    store,
    zero_lanes,
)
from scoup.kernels.lapack import add_gram, both_triangles, lapack
from scoup.kernels.rows import jit, width_for
from scoup.machine import run_chunks
from scoup.records import Array

# Chunks of a pass that sums over them: each has a private result, added up in their order.
MAX_CHUNKS = 16
MIN_CHUNK_CELLS = 1 << 16
# Rows of an output, or of a factor, that stay in the first-level cache.
TILE_ROWS = 256
# Numbers of a factor that stay in the second-level cache.
FACTOR_TILE_NUMBERS = 1 << 13
# Numbers of a tile of sums, and in a vector of it; a larger rank takes several.
SPREAD_NUMBERS, WIDTH = 2048, 8
# Distance at which a pass prefetches: the hardware prefetcher stops at each page of memory.
PREFETCH_NUMBERS = 512
# Size from which a matrix product is worth a pass; BLAS does a smaller one on one thread.
MIN_PASS_NUMBERS = 1 << 16
# Size up to which BLAS computes an inner product on one thread, whatever its limit.
MAX_DOT_NUMBERS = 1 << 13
GRAM_BLOCK_ROWS = 1024
# Rows that are unfolded at a time, so that those of all slabs stay in the first-level cache.
UNFOLDED_ROWS = 16
MAX_GRAM_CHUNKS = 4


def contract(tensor: Array, factor: Array) -> Array:
    """Multiply the middle mode of (pre, n, post) by a factor (n, F), giving (pre, post, F).

    ``P[p, q, f] = sum_j X[p, j, q] M[j, f]``

    >>> contract(np.ones((1, 2, 1)), np.array([[3.0], [4.0]])).tolist()
    [[[7.0]]]
    """
    pre, n, post = tensor.shape
    if post == 1 and pre > 1:
        # The last mode: each line of the tensor is a row, whose sum stays in registers.
        return spread(tensor.reshape(1, pre, n), np.asarray(factor)[None])[:, None]
    cells, rows = read_only(tensor), read_only(factor, tensor.dtype)
    kernel, spans = contract_spans(width_for(rows.shape[1])), _spans(pre, n, post)
    parts = np.empty((spans[-1, 0] + 1, pre, post, rows.shape[1]), tensor.dtype)
    run_chunks(
        len(spans),
        lambda first, last: kernel(first, last, spans, cells, rows, parts),
        tensor.size * rows.shape[1],
    )
    return parts[0] if len(parts) == 1 else parts.sum(axis=0)


def spread(tensor: Array, kernel: Array) -> Array:
    """Multiply the outer modes of (pre, n, post) by (pre, post, F), giving (n, F).

    ``R[j, f] = sum_{p, q} X[p, j, q] K[p, q, f]``

    >>> spread(np.ones((1, 2, 1)), np.full((1, 1, 1), 3.0)).tolist()
    [[3.0], [3.0]]
    """
    pre, n, post = tensor.shape
    if post == 1 and pre > 1:
        return contract(tensor.reshape(1, pre, n), np.asarray(kernel)[:, 0])[0]
    return _spread_to(tensor, kernel, np.empty((n, np.shape(kernel)[2]), tensor.dtype))


def _spread_to(tensor: Array, kernel: Array, out: Array) -> Array:
    """Write the result to ``out``, which a tensor of one slab may be: rows are read before."""
    cells, rows = read_only(tensor), padded(kernel, tensor.dtype)
    cuts = cuts_for(len(out), tensor.size, 4)
    run_chunks(
        cuts.size - 1,
        lambda a, b: spread_rows(cuts[a], cuts[b], cells, rows, out, 0),
        tensor.size * out.shape[1],
    )
    return out


def product(rows: Array, square: Array, in_place: bool = False) -> Array:
    """Multiply a tall matrix (n, F) by a small one (F, G); a large one ``in_place`` by (F, F).

    >>> product(np.ones((2, 2)), np.array([[1.0, 0.0], [2.0, 5.0]])).tolist()
    [[3.0, 5.0], [3.0, 5.0]]
    """
    if rows.size < MIN_PASS_NUMBERS:
        return rows @ square
    out = rows if in_place else np.empty((len(rows), square.shape[1]), rows.dtype)
    return _spread_to(rows[None], square[None], out)


def gram(factor: Array) -> Array:
    """Gram matrix ``M' M`` of a tall factor (n, F), (F, F) in float64.

    In float64 also for a factor in float32: the rounding errors of a Gram matrix count squared.

    >>> gram(np.ones((3, 2))).tolist()
    [[3.0, 3.0], [3.0, 3.0]]
    """
    if factor.dtype != np.float64:
        return long_gram(factor[None])
    if factor.size < MIN_PASS_NUMBERS:
        return factor.T @ factor
    return contract(factor[None], factor)[0]


def inner(left: Array, right: Array) -> float:
    """Inner product ``sum_{i, f} left[i, f] right[i, f]`` of arrays of the same shape, in float64.

    >>> inner(np.ones((2, 2)), np.full((2, 2), 3.0))
    12.0
    """
    a, b = read_only(left).reshape(-1), read_only(right, left.dtype).reshape(-1)
    if a.size <= MAX_DOT_NUMBERS and a.dtype == np.float64:
        return float(np.dot(a, b))
    cuts = cuts_for(a.size, a.size)
    parts = np.zeros(cuts.size - 1)

    def work(first: int, last: int) -> None:
        for chunk in range(first, last):
            span = slice(cuts[chunk], cuts[chunk + 1])
            parts[chunk] = _inner_span(a[span], b[span])

    run_chunks(parts.size, work, a.size)
    return float(parts.sum())


def long_gram(tensor: Array) -> Array:
    """Gram matrix of the long middle mode of (pre, n, post), (pre * post, pre * post) in float64.

    ``G[(p, q), (p', q')] = sum_j X[p, j, q] X[p', j, q']``

    The only kernel that calls BLAS: limit that to one thread, and threads do not change the bytes.

    >>> long_gram(np.ones((1, 5, 1))).tolist()
    [[5.0]]
    """
    pre, n, post = tensor.shape
    width, steps = pre * post, -(-n // GRAM_BLOCK_ROWS)
    parts, cells = np.zeros((min(MAX_GRAM_CHUNKS, steps), width, width)), read_only(tensor)

    def work(first: int, last: int) -> None:
        flat = np.empty((min(GRAM_BLOCK_ROWS, n), width))
        for part in range(first, last):
            for step in range(part, steps, len(parts)):
                start = step * GRAM_BLOCK_ROWS
                block = flat[: n - start]
                unfold(start, cells, block)
                add_gram(lapack(), block, parts[part])

    run_chunks(len(parts), work, tensor.size * width)
    return both_triangles(parts[0] if len(parts) == 1 else parts.sum(axis=0))


def padded(kernel: Array, dtype: np.dtype) -> Array:
    """Return a copy (pre, post, F) with columns of zeros up to whole vectors."""
    rows = np.asarray(kernel)
    wide = np.zeros((*rows.shape[:2], -(-rows.shape[2] // WIDTH) * WIDTH), dtype)
    wide[..., : rows.shape[2]] = rows
    return read_only(wide)


@lru_cache(maxsize=1024)
def _spans(pre: int, n: int, post: int) -> Array:
    """Cut a contraction: rows (part, p, p_end, j, j_end, q, q_end), where parts are added up."""
    cells = pre * n * post
    slabs = cuts_for(pre, cells)
    columns = cuts_for(post, cells, TILE_ROWS) if pre < MAX_CHUNKS else np.array([0, post])
    lines = cuts_for(n, cells) if pre * post < MAX_CHUNKS * TILE_ROWS else np.array([0, n])
    windows = pairs(enumerate(pairwise(lines)), pairwise(slabs), pairwise(columns))
    rows = [(part, *slab, *span, *column) for (part, span), slab, column in windows]
    return read_only(np.array(rows, np.int64))


@lru_cache(maxsize=1024)
def cuts_for(rows: int, cells: int, unit: int = 1) -> Array:
    """Cut rows into equal chunks of whole units; the more cells, the more chunks."""
    units = -(-rows // unit)
    chunks = max(1, min(MAX_CHUNKS, units, cells // MIN_CHUNK_CELLS))
    return read_only(np.minimum(np.linspace(0, units, chunks + 1).astype(np.int64) * unit, rows))


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _inner_span(left, right):
    total = 0.0
    for t in range(left.size):
        total += np.float64(left[t]) * np.float64(right[t])
    return total


@jit
def unfold(start, cells, out):
    """``out[j, (p, q)] = cells[p, start + j, q]``, which numpy takes five times as long for."""
    pre, _, post = cells.shape
    slabs, span = cells.reshape(pre, -1), UNFOLDED_ROWS * post
    for first in range(0, len(out), UNFOLDED_ROWS):
        rows = out[first : first + UNFOLDED_ROWS]
        for p in range(pre):
            # The rows of the next tile: there are more slabs than the hardware follows.
            for c in range(0, span, 8):
                prefetch(slabs, p, (start + first) * post + span + c, lane_mask(8, 8))
            for j in range(len(rows)):
                for q in range(post):
                    rows[j, p * post + q] = cells[p, start + first + j, q]


# Tiles are module-level functions: numba never finds a closure over compiled code in its cache.
@jit
def _prefetch_lines(slab, first, low, high):
    """Prefetch four lines of a slab, between two columns; lines past the end do no harm."""
    for j in range(first, first + 4):
        for q in range(low, high, 8):
            prefetch(slab, j, q, lane_mask(8, 8))


@jit
def _contract_tile(width, window, slab, rows, sums):
    """``sums[q - low] += sum_j slab[j, q] rows[j]``, four j at a time."""
    literally(width)
    first, last, low, high = window
    rank, fours, whole = rows.shape[1], first + (last - first) // 4 * 4, lane_mask(width, width)
    ahead = max(4, PREFETCH_NUMBERS // (high - low))
    for c in range(0, rank, width):
        mask = lane_mask(width, rank - c)
        for j in range(first, fours, 4):
            # Slices, since they are read from 0 on: numba checks the sign of other indices.
            line0, line1 = slab[j, low:high], slab[j + 1, low:high]
            line2, line3 = slab[j + 2, low:high], slab[j + 3, low:high]
            m0, m1 = load(rows, j, c, mask), load(rows, j + 1, c, mask)
            m2, m3 = load(rows, j + 2, c, mask), load(rows, j + 3, c, mask)
            _prefetch_lines(slab, j + ahead, low, high)
            for q in range(len(line0)):
                total = add_scaled(load(sums, q, c, whole), line0[q], m0)
                total = add_scaled(add_scaled(total, line1[q], m1), line2[q], m2)
                store(sums, q, c, whole, add_scaled(total, line3[q], m3))
        for j in range(fours, last):
            m0, line = load(rows, j, c, mask), slab[j, low:high]
            for q in range(len(line)):
                store(sums, q, c, whole, add_scaled(load(sums, q, c, whole), line[q], m0))


@jit
def _contract_window(width, span, cells, rows, out):
    literally(width)
    rank, height = rows.shape[1], min(TILE_ROWS, span[5] - span[4])
    # Rows of whole vectors: a masked store cannot be forwarded to the next load.
    sums = np.empty((span[1] - span[0], height, -(-rank // width) * width), out.dtype)
    # Some rows of the factor serve all slabs while they are in cache; in fours, as they are summed.
    step = max(FACTOR_TILE_NUMBERS // rank // 4, 1) * 4
    for low in range(span[4], span[5], TILE_ROWS):
        high = min(low + TILE_ROWS, span[5])
        sums[:] = 0
        for first in range(span[2], span[3], step):
            window = (first, min(first + step, span[3]), low, high)
            for p in range(span[0], span[1]):
                _contract_tile(width, window, cells[p], rows, sums[p - span[0]])
        for p in range(span[0], span[1]):
            for q in range(low, high):
                for f in range(rank):
                    out[p, q, f] = sums[p - span[0], q - low, f]


@cache
def contract_span(width: int) -> Callable[..., Any]:
    """``out[p, q] = sum_j cells[p, j, q] rows[j]``, four j at a time.

    The span is (p, p_end, j, j_end, q, q_end).
    """

    @jit
    def kernel(span, cells, rows, out):
        _contract_window(width, span, cells, rows, out)

    return kernel


@cache
def contract_spans(width: int) -> Callable[..., Any]:
    """Compute several spans as :func:`contract_span` does, each with the part it belongs to."""

    @jit
    def kernel(first, last, spans, cells, rows, parts):
        for s in range(first, last):
            part, p, p_end, j, j_end, q, q_end = spans[s]
            _contract_window(width, (p, p_end, j, j_end, q, q_end), cells, rows, parts[part])

    return kernel


@jit
def spread_tile(tile, columns, slab, ahead, rows, sums):
    """``sums[j - tile[0]] += sum_q slab[j, q] rows[q]`` for q in a range, four j at a time."""
    (first, last), (low, high) = tile, columns
    count, lines, part = last - first, slab[first:last], rows[low:high]
    fours, whole = count // 4 * 4, lane_mask(WIDTH, WIDTH)
    for c in range(0, rows.shape[1], WIDTH):
        for r in range(0, fours, 4):
            line0, line1 = lines[r, low:high], lines[r + 1, low:high]
            line2, line3 = lines[r + 2, low:high], lines[r + 3, low:high]
            a, b = load(sums, r, c, whole), load(sums, r + 1, c, whole)
            d, e = load(sums, r + 2, c, whole), load(sums, r + 3, c, whole)
            if c == 0:
                _prefetch_lines(ahead, r, low, high)
            for q in range(len(part)):
                row = load(part, q, c, whole)
                a, b = add_scaled(a, line0[q], row), add_scaled(b, line1[q], row)
                d, e = add_scaled(d, line2[q], row), add_scaled(e, line3[q], row)
            store(sums, r, c, whole, a)
            store(sums, r + 1, c, whole, b)
            store(sums, r + 2, c, whole, d)
            store(sums, r + 3, c, whole, e)
        for r in range(fours, count):
            a, line = load(sums, r, c, whole), lines[r, low:high]
            for q in range(len(part)):
                a = add_scaled(a, line[q], load(part, q, c, whole))
            store(sums, r, c, whole, a)


@jit
def multiply_rows(rows, square, out):
    """``out = rows @ square``, as :func:`product` adds up; ``square`` and ``out`` are padded."""
    whole = lane_mask(WIDTH, WIDTH)
    for i in range(len(rows)):
        for c in range(0, square.shape[1], WIDTH):
            total = zero_lanes(whole, out)
            for f in range(len(square)):
                total = add_scaled(total, rows[i, f], load(square, f, c, whole))
            store(out, i, c, whole, total)


@jit
def spread_rows(first, last, cells, rows, out, left):
    """``out[j] = sum_{p, q} cells[p, j, q] rows[p, q]`` for j in a range, q from ``left`` on.

    ``rows`` are padded to whole vectors, see :func:`padded`.
    """
    # Sums of a tile stay in the first-level cache, in rows of whole vectors: a masked store takes
    # as long as a dozen others, and is not forwarded to the next load.
    pre, _, post = cells.shape
    height = max(SPREAD_NUMBERS // rows.shape[2], 4)
    sums = np.empty((height, rows.shape[2]), out.dtype)
    for start in range(first, last, height):
        end = min(start + height, last)
        sums[:] = 0
        for p in range(pre):
            # The same lines of the next slab, or those that the next tile begins with.
            ahead = cells[p + 1, start:] if p + 1 < pre else cells[0, end:]
            for low in range(left, post, TILE_ROWS):
                high = min(low + TILE_ROWS, post)
                spread_tile((start, end), (low, high), cells[p], ahead, rows[p], sums)
        for j in range(start, end):
            for f in range(out.shape[1]):
                out[j, f] = sums[j - start, f]
