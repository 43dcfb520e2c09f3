"""Passes over a dense tensor, viewed as (pre, n, post), that make no temporary of its size."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from itertools import pairwise
from itertools import product as pairs
from typing import Any

import numpy as np
from numba import literally, njit

from scoup.kernels.fibres import Array, frozen
from scoup.kernels.lanes import fetch, live, load, magnitudes, plus, scaled, store, summed
from scoup.kernels.pool import share
from scoup.kernels.rows import compiled, width_for

# Chunks of a pass whose sums meet: private results for each, added up in the order of the chunks.
PARTS = 16
# Cells of the tensor that a chunk takes at least.
CHUNK_CELLS = 1 << 16
# Rows of an output, or of a factor, that stay in the first-level cache.
BLOCK = 256
APART = 16
# Numbers by which a pass asks for its data ahead: the machine's own guesses end with each page of memory.
AHEAD = 512
# Entries from which a tall matrix is worth a pass of its own; BLAS does a smaller product on one thread.
TALL = 1 << 16
# Numbers whose inner product BLAS takes on one thread, whatever it is allowed.
FEW = 1 << 13
GRAM_ROWS = 1024
GRAM_PARTS = 4


def densities(values: Array) -> list[Array]:
    """Sums of absolute values over all cells of each index, one vector a mode, in float64 and one pass.

    ``d_n[i] = sum over cells with index i in mode n of |x|``

    >>> [d.tolist() for d in densities(np.array([[1.0, -2.0], [0.0, 4.0]]))]
    [[3.0, 4.0], [1.0, 6.0]]
    """
    array = frozen(values)
    shape = np.array(array.shape, np.int64)
    lines = frozen(array.reshape(-1, array.shape[-1]))
    cuts = _cuts(lines.shape[0], array.size)
    length = int(shape.sum())
    # Two chunks' sums must not meet in a cache line, or their threads take turns.
    sums = np.zeros((cuts.size - 1, length + APART))
    kernel = _density_lines(width_for(lines.shape[1]))

    def work(first: int, last: int) -> None:
        for chunk in range(first, last):
            kernel(cuts[chunk], cuts[chunk + 1], lines, shape, sums[chunk, :length])

    share(len(sums), work, array.size)
    return np.split(sums.sum(axis=0)[:length], np.cumsum(shape)[:-1])


def contract(tensor: Array, factor: Array) -> Array:
    """Multiply the middle mode of (pre, n, post) by a factor (n, F), giving (pre, post, F).

    ``P[p, q, f] = sum_j X[p, j, q] M[j, f]``

    >>> contract(np.ones((1, 2, 1)), np.array([[3.0], [4.0]])).tolist()
    [[[7.0]]]
    """
    pre, n, post = tensor.shape
    if post == 1 and pre > 1:
        # The last mode: each line of the tensor is a row, and its sum stays in registers.
        return spread(tensor.reshape(1, pre, n), np.asarray(factor)[None])[:, None]
    cells, rows = frozen(tensor), frozen(factor, tensor.dtype)
    kernel = _contract_span(width_for(rows.shape[1]))
    slabs = _cuts(pre, tensor.size)
    columns = _cuts(post, tensor.size, BLOCK) if pre < PARTS else np.array([0, post])
    lines = _cuts(n, tensor.size) if pre * post < PARTS * BLOCK else np.array([0, n])
    parts = np.empty((lines.size - 1, pre, post, rows.shape[1]), tensor.dtype)
    places = list(pairs(range(len(parts)), pairwise(slabs), pairwise(columns)))

    def work(first: int, last: int) -> None:
        for part, (p, p_end), (q, q_end) in places[first:last]:
            kernel((p, p_end, lines[part], lines[part + 1], q, q_end), cells, rows, parts[part])

    share(len(places), work, tensor.size * rows.shape[1])
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
    cells, rows = frozen(tensor), frozen(kernel, tensor.dtype)
    out = np.zeros((n, rows.shape[2]), tensor.dtype)
    compute = _spread_rows(width_for(rows.shape[2]))
    cuts = _cuts(n, tensor.size, 4)
    share(
        cuts.size - 1,
        lambda a, b: compute(cuts[a], cuts[b], cells, rows, out),
        tensor.size * rows.shape[2],
    )
    return out


def product(rows: Array, square: Array) -> Array:
    """Multiply a tall matrix (n, F) by a small one (F, G).

    >>> product(np.ones((2, 2)), np.array([[1.0, 0.0], [2.0, 5.0]])).tolist()
    [[3.0, 5.0], [3.0, 5.0]]
    """
    return rows @ square if rows.size < TALL else spread(rows[None], np.asarray(square)[None])


def gram(factor: Array) -> Array:
    """Gram matrix ``M' M`` of a tall factor (n, F), (F, F).

    >>> gram(np.ones((3, 2))).tolist()
    [[3.0, 3.0], [3.0, 3.0]]
    """
    return factor.T @ factor if factor.size < TALL else contract(factor[None], factor)[0]


def inner(left: Array, right: Array) -> float:
    """Inner product ``sum_{i, f} left[i, f] right[i, f]`` of two arrays of one shape, in float64.

    >>> inner(np.ones((2, 2)), np.full((2, 2), 3.0))
    12.0
    """
    one, other = frozen(left).reshape(-1), frozen(right, left.dtype).reshape(-1)
    if one.size <= FEW and one.dtype == np.float64:
        return float(np.dot(one, other))
    cuts = _cuts(one.size, one.size)
    parts = np.zeros(cuts.size - 1)

    def work(first: int, last: int) -> None:
        for chunk in range(first, last):
            parts[chunk] = _inner_span(
                one[cuts[chunk] : cuts[chunk + 1]], other[cuts[chunk] : cuts[chunk + 1]]
            )

    share(parts.size, work, one.size)
    return float(parts.sum())


def long_gram(tensor: Array) -> Array:
    """Gram matrix of the long middle mode of (pre, n, post), (pre * post, pre * post) in float64.

    ``G[(p, q), (p', q')] = sum_j X[p, j, q] X[p', j, q']``

    The only kernel that calls BLAS: limit that to one thread, and the bytes do not depend on threads.

    >>> long_gram(np.ones((1, 5, 1))).tolist()
    [[5.0]]
    """
    pre, n, post = tensor.shape
    width, steps = pre * post, -(-n // GRAM_ROWS)
    parts = np.zeros((min(GRAM_PARTS, steps), width, width))

    def work(first: int, last: int) -> None:
        for part in range(first, last):
            for step in range(part, steps, len(parts)):
                block = tensor[:, step * GRAM_ROWS : (step + 1) * GRAM_ROWS].transpose(1, 0, 2)
                flat = np.array(block, np.float64, order="C").reshape(-1, width)
                # A matrix times its own transpose: numpy calls syrk, and lets go of the GIL, as scipy's does not.
                parts[part] += flat.T @ flat

    share(len(parts), work, tensor.size * width)
    return parts[0] if len(parts) == 1 else parts.sum(axis=0)


@lru_cache(maxsize=1024)
def _cuts(rows: int, cells: int, unit: int = 1) -> Array:
    """Cut rows into equal chunks of whole units, as many as the number of cells is worth."""
    units = -(-rows // unit)
    chunks = max(1, min(PARTS, units, cells // CHUNK_CELLS))
    return frozen(np.minimum(np.linspace(0, units, chunks + 1).astype(np.int64) * unit, rows))


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _inner_span(left, right):
    total = 0.0
    for t in range(left.size):
        total += np.float64(left[t]) * np.float64(right[t])
    return total


@cache
def _density_lines(width: int) -> Callable[..., Any]:
    """Add |lines| to the marginal sums, which stand one after another in ``sums``."""

    @compiled
    def kernel(first, last, lines, shape, sums):
        order, columns = shape.size, lines.shape[1]
        base = sums.size - columns
        index, offset = np.empty(order, np.int64), np.empty(order, np.int64)
        rest, place = first, base
        for n in range(order - 2, -1, -1):
            place -= shape[n]
            offset[n] = place
            index[n] = rest % shape[n]
            rest //= shape[n]
        # Whole vectors: a masked store cannot be read back before it has left the core.
        tail, whole = np.zeros((1, -(-columns // width) * width)), live(width, width)
        ahead = max(1, AHEAD // columns)
        for line in range(first, last):
            total = 0.0
            for c in range(0, columns, width):
                fetch(lines, line + ahead, c, whole)
                x = magnitudes(load(lines, line, c, live(width, columns - c)))
                store(tail, 0, c, whole, plus(load(tail, 0, c, whole), x))
                total += summed(x)
            for n in range(order - 1):
                sums[offset[n] + index[n]] += total
            for n in range(order - 2, -1, -1):
                index[n] += 1
                if index[n] < shape[n]:
                    break
                index[n] = 0
        sums[base:] += tail[0, :columns]

    return kernel


# Tiles stand outside the makers of kernels: one that closes over a compiled function is never found in the cache.
@compiled
def _ask(slab, first, low, high):
    """Ask for four lines of a slab, between two columns; lines past the end do no harm."""
    for j in range(first, first + 4):
        for q in range(low, high, 8):
            fetch(slab, j, q, live(8, 8))


@compiled
def _contract_tile(width, window, slab, rows, sums, out):
    literally(width)
    first, last, low, high = window
    rank, fours, whole = rows.shape[1], first + (last - first) // 4 * 4, live(width, width)
    ahead = max(4, AHEAD // (high - low))
    for c in range(0, rank, width):
        mask = live(width, rank - c)
        sums[:] = 0
        for j in range(first, fours, 4):
            m0, m1 = load(rows, j, c, mask), load(rows, j + 1, c, mask)
            m2, m3 = load(rows, j + 2, c, mask), load(rows, j + 3, c, mask)
            _ask(slab, j + ahead, low, high)
            for q in range(low, high):
                total = scaled(load(sums, q - low, 0, whole), slab[j, q], m0)
                total = scaled(scaled(total, slab[j + 1, q], m1), slab[j + 2, q], m2)
                store(sums, q - low, 0, whole, scaled(total, slab[j + 3, q], m3))
        for j in range(fours, last):
            m0 = load(rows, j, c, mask)
            for q in range(low, high):
                store(
                    sums, q - low, 0, whole, scaled(load(sums, q - low, 0, whole), slab[j, q], m0)
                )
        for q in range(low, high):
            store(out, q, c, mask, load(sums, q - low, 0, whole))


@cache
def _contract_span(width: int) -> Callable[..., Any]:
    """``out[p, q] = sum_j cells[p, j, q] rows[j]`` within a span (p, p_end, j, j_end, q, q_end), four j at a time."""

    @compiled
    def kernel(span, cells, rows, out):
        # Sums in rows of whole vectors: a masked store cannot be read back before it has left the core.
        sums = np.empty((min(BLOCK, span[5] - span[4]), width), out.dtype)
        for p in range(span[0], span[1]):
            for low in range(span[4], span[5], BLOCK):
                window = (span[2], span[3], low, min(low + BLOCK, span[5]))
                _contract_tile(width, window, cells[p], rows, sums, out[p])

    return kernel


@compiled
def _spread_tile(width, lines, columns, slab, rows, out):
    literally(width)
    rank, fours = rows.shape[1], lines[0] + (lines[1] - lines[0]) // 4 * 4
    ahead = max(4, AHEAD // (columns[1] - columns[0]))
    for c in range(0, rank, width):
        mask = live(width, rank - c)
        for j in range(lines[0], fours, 4):
            a, b = load(out, j, c, mask), load(out, j + 1, c, mask)
            d, e = load(out, j + 2, c, mask), load(out, j + 3, c, mask)
            _ask(slab, j + ahead, columns[0], columns[1])
            for q in range(columns[0], columns[1]):
                row = load(rows, q, c, mask)
                a, b = scaled(a, slab[j, q], row), scaled(b, slab[j + 1, q], row)
                d, e = scaled(d, slab[j + 2, q], row), scaled(e, slab[j + 3, q], row)
            store(out, j, c, mask, a)
            store(out, j + 1, c, mask, b)
            store(out, j + 2, c, mask, d)
            store(out, j + 3, c, mask, e)
        for j in range(fours, lines[1]):
            a = load(out, j, c, mask)
            for q in range(columns[0], columns[1]):
                a = scaled(a, slab[j, q], load(rows, q, c, mask))
            store(out, j, c, mask, a)


@cache
def _spread_rows(width: int) -> Callable[..., Any]:
    """``out[j] += sum_{p, q} cells[p, j, q] rows[p, q]`` for j in the given range, four j at a time."""

    @compiled
    def kernel(first, last, cells, rows, out):
        # Blocks of rows and of columns, so that what is read again and what is written stay in cache.
        pre, _, post = cells.shape
        for start in range(first, last, BLOCK):
            for p in range(pre):
                for low in range(0, post, BLOCK):
                    lines, columns = (
                        (start, min(start + BLOCK, last)),
                        (low, min(low + BLOCK, post)),
                    )
                    _spread_tile(width, lines, columns, cells[p], rows[p], out)

    return kernel
