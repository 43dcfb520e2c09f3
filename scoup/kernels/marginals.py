"""Sums of absolute values over all modes of a dense array but one, in one pass."""

from itertools import pairwise
from math import prod

import numpy as np

from scoup.kernels.dense import cuts_for
from scoup.kernels.fibres import read_only
from scoup.kernels.lanes import absolute, add, lane_mask, load, store, sum_lanes, zero_lanes
from scoup.kernels.rows import jit
from scoup.machine import run_chunks
from scoup.records import Array

WIDTH = 8  # numbers in a vector
# Time of a short row, in inner steps.
MIN_ROW_STEPS = 32
# Sums of columns that stay in the second-level cache.
TILE_COLUMNS = 1 << 14


def densities(values: Array) -> list[Array]:
    """Sums of absolute values over all cells of each index, one vector per mode, in float64.

    ``d_n[i] = sum over cells with index i in mode n of |x|``

    >>> [d.tolist() for d in densities(np.array([[1.0, -2.0], [0.0, 4.0]]))]
    [[3.0, 4.0], [1.0, 6.0]]
    """
    array = read_only(values)
    if array.ndim == 1:
        return [np.abs(array.astype(np.float64))]
    shape = array.shape
    # As a matrix whose sums over rows and columns are short: they are arrays of fewer modes.
    split = min(range(1, array.ndim), key=lambda n: prod(shape[:n]) + prod(shape[n:]))
    rows, columns = _sums(array.reshape(prod(shape[:split]), -1))
    return densities(rows.reshape(shape[:split])) + densities(columns.reshape(shape[split:]))


def _sums(matrix: Array) -> tuple[Array, Array]:
    """Sums of absolute values over each row and each column, both in chunks of the longer side."""
    height, width = matrix.shape
    tall = height > width
    cuts = cuts_for(max(matrix.shape), matrix.size, WIDTH)
    windows = [((a, b), (0, width)) if tall else ((0, height), (a, b)) for a, b in pairwise(cuts)]
    # A private vector per chunk for the side that is not cut: they are added up in their order.
    rows = np.zeros((1 if tall else len(windows), height))
    columns = np.zeros((len(windows) if tall else 1, width))

    def work(first: int, last: int) -> None:
        for chunk in range(first, last):
            mine = (0, chunk) if tall else (chunk, 0)
            _add_window(windows[chunk], matrix, rows[mine[0]], columns[mine[1] :])

    run_chunks(len(windows), work, height * max(width, MIN_ROW_STEPS))
    return _total(rows), _total(columns)


def _total(parts: Array) -> Array:
    return parts[0] if len(parts) == 1 else parts.sum(axis=0)


@jit
def _add_window(window, matrix, rows, columns):
    """Add |x| of a window of rows and columns to ``rows`` and to the first line of ``columns``.

    Four rows at a time: several streams from memory are faster than one.
    """
    (top, bottom), (left, right) = window
    fours = top + (bottom - top) // 4 * 4
    for low in range(left, right, TILE_COLUMNS):
        span = low, min(low + TILE_COLUMNS, right)
        for i in range(top, fours, 4):
            _add_rows(4, i, span, matrix, rows, columns)
        for i in range(fours, bottom):
            _add_rows(1, i, span, matrix, rows, columns)


@jit
def _add_rows(count, first, span, matrix, rows, columns):
    """Add |x| of one row, or of four, in a span of columns."""
    low, high = span
    vectors, whole = low + (high - low) // WIDTH * WIDTH, lane_mask(WIDTH, WIDTH)
    for i in range(first, first + count):
        for c in range(vectors, high):
            x = abs(np.float64(matrix[i, c]))
            columns[0, c] += x
            rows[i] += x
    a, b = zero_lanes(whole, columns), zero_lanes(whole, columns)
    d, e = zero_lanes(whole, columns), zero_lanes(whole, columns)
    for c in range(low, vectors, WIDTH):
        x = absolute(load(matrix, first, c, whole))
        a, total = add(a, x), add(load(columns, 0, c, whole), x)
        if count == 4:
            y = absolute(load(matrix, first + 1, c, whole))
            z = absolute(load(matrix, first + 2, c, whole))
            w = absolute(load(matrix, first + 3, c, whole))
            b, d, e = add(b, y), add(d, z), add(e, w)
            total = add(add(total, y), add(z, w))
        store(columns, 0, c, whole, total)
    rows[first] += sum_lanes(a)
    if count == 4:
        rows[first + 1] += sum_lanes(b)
        rows[first + 2] += sum_lanes(d)
        rows[first + 3] += sum_lanes(e)
