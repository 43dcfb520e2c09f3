"""Sums of the rows of a factor that a 0/1 matrix picks, from tables.

Four bits of a row pick one of the 16 sums of four rows of the factor: one addition in place of four
multiplications and additions (the method of the Four Russians). The matrix takes one bit per cell.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import literally

from scoup.kernels.fibres import read_only
from scoup.kernels.lanes import add, lane_mask, load, store, zero_lanes
from scoup.kernels.rows import empty_lines, jit
from scoup.machine import kernel_threads, run_chunks
from scoup.records import Array

# Columns that are summed at a time: two sets of sums fill the vector registers.
WIDTH = 16
# Bytes of a row whose tables stay in the first-level cache: 4 kB each in double precision.
TILE_BYTES = 8
# A chunk of rows sets all tables, which takes as long as a few dozen rows do: one per thread.
MIN_CHUNK_ROWS = 64
# Distances and bits of the exchanges that transpose 8 x 8 bits.
_EXCHANGES = (
    (np.uint64(7), np.uint64(0x00AA00AA00AA00AA)),
    (np.uint64(14), np.uint64(0x0000CCCC0000CCCC)),
    (np.uint64(28), np.uint64(0x00000000F0F0F0F0)),
)


def pack_bits(mask: Array) -> Array:
    """Pack rows of booleans (..., n, m) into bytes (n, m / 8 rounded up), lowest bit first.

    >>> pack_bits(np.array([[True, False, True]])).tolist()
    [[5]]
    """
    out = np.empty((*mask.shape[:-1], -(-mask.shape[-1] // 8)), np.uint8)

    def work(first: int, last: int) -> None:
        rows = np.ascontiguousarray(mask[first:last])  # numpy packs others one bit at a time
        out[first:last] = np.packbits(rows, axis=-1, bitorder="little")

    run_chunks(len(mask), work, mask.size)
    return read_only(out.reshape(-1, out.shape[-1]))


def transpose_bits(bits: Array, columns: int) -> Array:
    """Transpose packed bits (n, m / 8) of ``columns`` columns: (m, n / 8), each rounded up.

    >>> transpose_bits(pack_bits(np.array([[True, False, True]])), 3).tolist()
    [[1], [0], [1]]
    """
    out = np.empty((8 * bits.shape[1], -(-len(bits) // 8)), np.uint8)
    run_chunks(bits.shape[1], lambda a, b: _transpose(a, b, bits, out), 8 * bits.size)
    return read_only(out[:columns])


def sum_picked(bits: Array, factor: Array) -> Array:
    """Sum the rows of a factor (m, C) that each row of packed bits (n, m / 8) picks: (n, C).

    ``S[i] = sum_j W[i, j] M[j]``, a sum over picked rows alone.

    >>> sum_picked(pack_bits(np.array([[1, 0, 1]], bool)), np.array([[1.0], [2.0], [4.0]])).tolist()
    [[5.0]]
    """
    rows = read_only(factor)
    out = np.empty((len(bits), rows.shape[1]), rows.dtype)
    kernel, size = _sum_rows(WIDTH), max(MIN_CHUNK_ROWS, -(-len(bits) // kernel_threads()))
    run_chunks(
        -(-len(bits) // size),
        lambda a, b: kernel(a * size, min(b * size, len(bits)), bits, rows, out),
        2 * bits.size * rows.shape[1],
    )
    return out


@jit
def _transpose(first, last, bits, out):
    """Transpose some columns, 8 x 8 bits at a time: exchange bits at distance 1, pairs, fours."""
    for t in range(first, last):
        for i in range(out.shape[1]):
            square = np.uint64(0)
            for row in range(8 * i, min(8 * i + 8, len(bits))):
                square |= np.uint64(bits[row, t]) << np.uint64(8 * (row - 8 * i))
            for distance, swapped in _EXCHANGES:
                change = (square ^ (square >> distance)) & swapped
                square ^= change ^ (change << distance)
            for bit in range(8):
                out[8 * t + bit, i] = (square >> np.uint64(8 * bit)) & np.uint64(255)


@jit
def _set_tables(width, span, factor, column, tables):
    """Set for every four rows of a factor, from byte ``span[0]`` on, their 16 sums."""
    literally(width)
    whole, mask = lane_mask(width, width), lane_mask(width, factor.shape[1] - column)
    for table in range(2 * (span[1] - span[0])):
        first, at = 8 * span[0] + 4 * table, 16 * table
        store(tables, at, 0, whole, zero_lanes(whole, tables))
        for bit in range(4):
            # Bits past the last row are off: what is added for them is never read.
            row = load(factor, min(first + bit, len(factor) - 1), column, mask)
            for known in range(1 << bit):
                total = add(load(tables, at + known, 0, whole), row)
                store(tables, at + (1 << bit) + known, 0, whole, total)


@cache
def _sum_rows(width: int) -> Callable[..., Any]:
    """``out[i] = sum over the bits of row i of the rows of the factor`` for i in a range."""

    @jit
    def kernel(first, last, bits, factor, out):
        whole, size = lane_mask(width, width), bits.shape[1]
        tables = empty_lines(32 * min(size, TILE_BYTES), width, out)
        for c in range(0, factor.shape[1], width):
            mask = lane_mask(width, factor.shape[1] - c)
            for low in range(0, size, TILE_BYTES):
                high = min(low + TILE_BYTES, size)
                _set_tables(width, (low, high), factor, c, tables)
                for i in range(first, last):
                    # Two sums, of the low and the high bits: additions do not wait for each other.
                    even, odd = zero_lanes(mask, out), zero_lanes(mask, out)
                    if low > 0:
                        even = load(out, i, c, mask)
                    for t in range(low, high):
                        byte, at = np.int64(bits[i, t]), 32 * (t - low)
                        even = add(even, load(tables, at + (byte & 15), 0, whole))
                        odd = add(odd, load(tables, at + 16 + (byte >> 4), 0, whole))
                    store(out, i, c, mask, add(even, odd))

    return kernel
