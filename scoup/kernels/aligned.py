"""Sums over models whose columns are matched, in one pass that makes no copy of their rows."""

from typing import NamedTuple

import numpy as np

from scoup.kernels.extract import CELL_STEPS
from scoup.kernels.fibres import read_only
from scoup.kernels.rows import jit
from scoup.machine import run_chunks
from scoup.records import Array

CHUNK_ROWS = 4096


class Alignment(NamedTuple):
    """How the columns of a factor go into a sum: their order, norms, signs and weights, (F,) each.

    ``norms`` are in the old order of the columns, ``signs`` and ``weights`` in the new one.
    """

    order: Array
    norms: Array
    signs: Array
    weights: Array


def add_aligned(
    factor: Array, alignment: Alignment, rows: Array, sums: tuple[Array, Array]
) -> None:
    """Add the aligned columns of a factor (n, F) to weighted sums at ``rows``, in place.

    ``totals[rows] += weights * signs * (factor / norms)[:, order]`` and ``counts[rows] += weights``
    for ``sums = (totals, counts)``, both (I, F) in float64. No row may occur twice; a column of
    norm 0 is not divided.

    >>> totals, counts = np.zeros((2, 2, 2))
    >>> columns = Alignment(np.array([1, 0]), np.array([5.0, 1]), np.array([1, -1]), np.ones(2))
    >>> add_aligned(np.array([[5.0, 7.0]]), columns, np.array([1]), (totals, counts))
    >>> totals.tolist(), counts.tolist()
    ([[0.0, 0.0], [7.0, -1.0]], [[0.0, 0.0], [1.0, 1.0]])
    """
    order, norms, signs, weights = alignment
    cells, places = read_only(factor), (read_only(order), read_only(rows))
    safe = np.where(norms > 0, norms, 1.0)
    numbers = tuple(read_only(vector) for vector in (safe, weights * signs, weights))
    run_chunks(
        -(-len(cells) // CHUNK_ROWS),
        lambda first, last: _add_rows(
            (first * CHUNK_ROWS, min(last * CHUNK_ROWS, len(cells))), cells, places, numbers, sums
        ),
        CELL_STEPS * cells.size,
    )


@jit
def _add_rows(span, factor, places, numbers, sums):
    (order, rows), (norms, scales, weights), (totals, counts) = places, numbers, sums
    for i in range(span[0], span[1]):
        row = rows[i]
        for f in range(order.size):
            part = factor.dtype.type(factor[i, order[f]] / norms[order[f]])
            totals[row, f] += scales[f] * part
            counts[row, f] += weights[f]
