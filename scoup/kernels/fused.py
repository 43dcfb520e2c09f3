"""Solve for the factor of a long dense mode, and multiply by it, in one pass over the data.

The right-hand side of a row needs only the cells of that row, and so does its part of the product
that the next factor needs. A sweep then reads data that is larger than the caches once, not twice.
"""

import numpy as np

from scoup.kernels.dense import (
    MAX_CHUNKS,
    TILE_ROWS,
    WIDTH,
    cuts_for,
    multiply_rows,
    padded,
    spread_tile,
)
from scoup.kernels.fibres import read_only
from scoup.kernels.lanes import add_scaled, lane_mask, load, store
from scoup.kernels.rows import MIN_PIVOT, cholesky_rows, fill, jit
from scoup.machine import run_chunks
from scoup.records import Array

# Numbers of a tile of data, which stays in the second-level cache until it is multiplied.
TILE_NUMBERS = 1 << 15


def fuses(shape: tuple[int, int, int]) -> bool:
    """Whether :func:`solve_and_contract` takes a tensor of this shape (pre, n, post).

    >>> fuses((60, 70_000, 9)), fuses((300, 300, 300))
    (True, False)
    """
    pre, _, post = shape
    return pre * post < MAX_CHUNKS * TILE_ROWS and (post > 1 or pre == 1)


def solve_and_contract(
    tensor: Array, kernel: Array, system: Array, scale: float, rest: Array
) -> tuple[Array, Array, Array]:
    """Solve for the middle mode of (pre, n, post), and multiply by the solution.

    ``M = (scale * R + rest) inverse`` with R (n, F) as of :func:`scoup.kernels.spread`, and
    ``P[p, q, f] = sum_j X[p, j, q] M[j, f]`` as of :func:`scoup.kernels.contract`: the same bytes.
    ``system`` is the inverse (F, F), or one Gram matrix per row (n, F, F), solved as by
    :func:`scoup.kernels.solve_rows`; ``rest`` is (n, F), or empty. Return M, P, and which rows have
    a singular system.

    >>> ones = np.ones((1, 2, 1))
    >>> rows, product, _ = solve_and_contract(ones, ones[:, :1] * 3, np.eye(1), 2.0, ones[:0])
    >>> rows.tolist(), product.tolist()
    ([[6.0], [6.0]], [[[12.0]]])
    """
    pre, n, post = tensor.shape
    rank, dtype = system.shape[1], tensor.dtype
    cells, outer = read_only(tensor), padded(kernel, dtype)
    matrix = read_only(system) if system.ndim > 2 else padded(system[None], dtype)[0]
    more = read_only(rest if rest.size else np.empty((0, rank)), dtype)
    sides = outer, matrix, MIN_PIVOT[dtype], dtype.type(scale), more
    cuts = cuts_for(n, tensor.size)
    rows, singular = np.empty((n, rank), dtype), np.zeros(n, np.bool_)
    parts = np.zeros((cuts.size - 1, pre, post, outer.shape[2]), dtype)

    def work(first: int, last: int) -> None:
        for chunk in range(first, last):
            span = cuts[chunk], cuts[chunk + 1]
            _fused_rows(span, cells, sides, rows, parts[chunk], singular)

    run_chunks(len(parts), work, tensor.size * rank)
    total = parts[0] if len(parts) == 1 else parts.sum(axis=0)
    return rows, np.ascontiguousarray(total[..., :rank]), singular


@jit
def _fused_rows(span, cells, sides, rows, product, singular):
    """Solve for rows of a span, tile by tile, and add what each tile contributes to ``product``."""
    (outer, system, least, scale, rest), (pre, _, post) = sides, cells.shape
    columns, rank = outer.shape[2], rows.shape[1]
    height = max(min(TILE_NUMBERS // (pre * post), span[1] - span[0]) // 4 * 4, 4)
    sums, solved = np.empty((height, columns), rows.dtype), np.empty((height, columns), rows.dtype)
    for start in range(span[0], span[1], height):
        end = min(start + height, span[1])
        fill(sums, 0)
        for p in range(pre):
            ahead = cells[p + 1, start:] if p + 1 < pre else cells[0, end:]
            for low in range(0, post, TILE_ROWS):
                columns_span = (low, min(low + TILE_ROWS, post))
                spread_tile((start, end), columns_span, cells[p], ahead, outer[p], sums)
        for r in range(end - start):
            for f in range(rank):
                rows[start + r, f] = scale * sums[r, f]
                if len(rest):
                    rows[start + r, f] += rest[start + r, f]
        _solve_tile((start, end), system, least, rows, singular, solved)
        for p in range(pre):
            _add_tile((start, end), cells[p], solved, product[p])


@jit
def _solve_tile(tile, system, least, rows, singular, solved):
    """Replace right-hand sides by solutions, which ``solved`` holds in whole vectors."""
    first, last = tile
    sides = rows[first:last]
    if system.ndim == 2:
        multiply_rows(sides, system, solved)
    else:
        out, span = np.empty(sides.shape, sides.dtype), (0, last - first)
        cholesky_rows(span, system[first:last], sides, least, out, singular[first:last])
        fill(solved, 0)
        for r in range(len(out)):
            for f in range(out.shape[1]):
                solved[r, f] = out[r, f]
    for r in range(len(sides)):
        for f in range(sides.shape[1]):
            sides[r, f] = solved[r, f]


@jit
def _add_tile(tile, slab, rows, product):
    """``product[q] += sum_j slab[j, q] rows[j - tile[0]]`` for j in a range, four q at a time."""
    lines, post = slab[tile[0] : tile[1]], slab.shape[1]
    fours, whole = post // 4 * 4, lane_mask(WIDTH, WIDTH)
    for c in range(0, rows.shape[1], WIDTH):
        for q in range(0, fours, 4):
            a, b = load(product, q, c, whole), load(product, q + 1, c, whole)
            d, e = load(product, q + 2, c, whole), load(product, q + 3, c, whole)
            for r in range(len(lines)):
                # A slice, since it is read from 0 on: numba checks the sign of other indices.
                four, row = lines[r, q : q + 4], load(rows, r, c, whole)
                a, b = add_scaled(a, four[0], row), add_scaled(b, four[1], row)
                d, e = add_scaled(d, four[2], row), add_scaled(e, four[3], row)
            store(product, q, c, whole, a)
            store(product, q + 1, c, whole, b)
            store(product, q + 2, c, whole, d)
            store(product, q + 3, c, whole, e)
        for q in range(fours, post):
            a, column = load(product, q, c, whole), lines[:, q]
            for r in range(len(lines)):
                a = add_scaled(a, column[r], load(rows, r, c, whole))
            store(product, q, c, whole, a)
