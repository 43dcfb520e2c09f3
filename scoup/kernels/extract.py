"""Extraction of a part of a dense or sparse array, without the GIL."""

from collections.abc import Sequence
from functools import reduce

import numpy as np

from scoup.kernels.dense import cuts_for
from scoup.kernels.fibres import read_only
from scoup.kernels.lanes import lane_mask, prefetch
from scoup.kernels.rows import PREFETCH_GATHERS, jit
from scoup.machine import run_chunks
from scoup.records import Array

CHUNK_LINES = 1024
# Time of a copied cell, in inner steps of other kernels: it comes from anywhere in memory.
CELL_STEPS = 4
# Numbers of a line that are prefetched; the hardware does the rest of a long one.
PREFETCHED_NUMBERS = 64


def extract(array: Array, indices: Sequence[Array]) -> Array:
    """Return ``array[np.ix_(*indices)]``, for an array of two modes or more.

    >>> extract(np.arange(12).reshape(3, 4), [np.array([2, 0]), np.array([1, 3])]).tolist()
    [[9, 11], [1, 3]]
    """
    # A line is the last mode; its number is that of the outer modes plus that of the one before.
    cells = read_only(array.view(np.uint8) if array.dtype == bool else array)
    lines, sizes = cells.reshape(-1, array.shape[-1]), array.shape[:-1]
    *outer, middle, columns = (read_only(index, np.int64) for index in indices)
    pairs = zip(outer, sizes, strict=False)
    first = np.zeros(1, np.int64)
    slabs = reduce(lambda rows, pair: np.add.outer(rows * pair[1], pair[0]).ravel(), pairs, first)
    slabs = read_only(slabs * sizes[-1])
    out = np.empty((slabs.size * middle.size, columns.size), cells.dtype)
    run_chunks(
        -(-len(out) // CHUNK_LINES),
        lambda a, b: _copy_lines(
            a * CHUNK_LINES, min(b * CHUNK_LINES, len(out)), lines, (slabs, middle), columns, out
        ),
        CELL_STEPS * out.size,
    )
    return out.view(array.dtype).reshape([len(index) for index in indices])


def select_cells(
    coords: Array, values: Array, shape: Sequence[int], indices: Sequence[Array]
) -> tuple[Array, Array]:
    """Return coordinates (N, n) and values of the cells of a sparse ``array[np.ix_(*indices)]``.

    >>> cells = np.array([[0, 1], [1, 2]], np.int32), np.array([5.0, 7.0])
    >>> [part.tolist() for part in select_cells(*cells, (2, 3), [np.array([1]), np.array([2, 0])])]
    [[[0], [0]], [7.0]]
    """
    # The position of each index among the chosen ones or -1, mode after mode in one array.
    starts = np.concatenate([[0], np.cumsum(shape)])
    positions = np.full(starts[-1], -1, np.int32)
    for start, chosen in zip(starts, indices, strict=False):
        positions[start + chosen] = np.arange(len(chosen), dtype=np.int32)
    cells, numbers = read_only(coords, np.int32), read_only(values)
    inside, cuts = np.empty(cells.shape[1], np.bool_), cuts_for(cells.shape[1], cells.shape[1])
    ends = np.zeros(cuts.size, np.int64)  # of the selected cells of each chunk
    table, steps = (positions, starts), CELL_STEPS * cells.size
    run_chunks(
        cuts.size - 1, lambda a, b: _mark_cells((a, b), cuts, cells, table, inside, ends), steps
    )
    np.cumsum(ends, out=ends)
    selected = np.empty((len(shape), ends[-1]), np.int32), np.empty(ends[-1], values.dtype)
    run_chunks(
        cuts.size - 1,
        lambda a, b: _copy_cells(
            (cuts[a], cuts[b], ends[a]), cells, numbers, table, inside, selected
        ),
        steps,
    )
    return selected


@jit
def _mark_cells(chunks, cuts, coords, table, inside, counts):
    """Set whether each cell has a position in every mode, and how many of each chunk have."""
    positions, starts = table
    for chunk in range(chunks[0], chunks[1]):
        part, count = coords[:, cuts[chunk] : cuts[chunk + 1]], 0
        marks = inside[cuts[chunk] : cuts[chunk + 1]]
        for t in range(marks.size):
            lowest = positions[part[0, t]]
            for mode in range(1, len(part)):  # no branch: nobody could predict it
                lowest = min(lowest, positions[starts[mode] + part[mode, t]])
            marks[t] = lowest >= 0
            count += marks[t]
        counts[chunk + 1] = count


@jit
def _copy_cells(span, coords, values, table, inside, selected):
    """Copy the cells of a span that are inside; the first goes to ``span[2]``."""
    (positions, starts), (out_coords, out_values), at = table, selected, span[2]
    part, numbers, marks = coords[:, span[0] : span[1]], values[span[0] :], inside[span[0] :]
    for t in range(part.shape[1]):
        if marks[t]:
            for mode in range(len(part)):
                out_coords[mode, at] = positions[starts[mode] + part[mode, t]]
            out_values[at] = numbers[t]
            at += 1


@jit
def _copy_lines(first, last, lines, rows, columns, out):
    slabs, middle = rows
    count, span = middle.size, min(lines.shape[1], PREFETCHED_NUMBERS)
    for r in range(first, last):
        line = slabs[r // count] + middle[r % count]
        ahead = min(r + PREFETCH_GATHERS, last - 1)
        next_line = slabs[ahead // count] + middle[ahead % count]
        for c in range(0, span, 8):
            prefetch(lines, next_line, c, lane_mask(8, 8))
        for c in range(columns.size):
            out[r, c] = lines[line, columns[c]]
