"""Sums over models whose columns are matched, in one pass that makes no copy of their rows."""

from scoup.kernels.extract import CELL_STEPS
from scoup.kernels.fibres import read_only
from scoup.kernels.rows import jit
from scoup.machine import run_chunks
from scoup.records import Array

CHUNK_ROWS = 4096


def add_aligned(
    factor: Array,
    columns: Array,
    signs: Array,
    weights: Array,
    rows: Array,
    sums: tuple[Array, Array],
) -> None:
    """Add a factor (n, F), columns reordered and signed, to weighted sums at ``rows``, in place.

    ``totals[rows] += weights * signs * factor[:, columns]`` and ``counts[rows] += weights`` for
    ``sums = (totals, counts)``, both (I, F) in float64. No row may occur twice.

    >>> import numpy as np
    >>> totals, counts = np.zeros((2, 2, 2))
    >>> factor, columns, rows = np.array([[5.0, 7.0]]), np.array([1, 0]), np.array([1])
    >>> add_aligned(factor, columns, np.array([1, -1]), np.ones(2), rows, (totals, counts))
    >>> totals.tolist(), counts.tolist()
    ([[0.0, 0.0], [7.0, -5.0]], [[0.0, 0.0], [1.0, 1.0]])
    """
    cells, order, places = read_only(factor), read_only(columns), read_only(rows)
    scales, certainties = read_only(weights * signs), read_only(weights)
    run_chunks(
        -(-len(cells) // CHUNK_ROWS),
        lambda first, last: _add_rows(
            (first * CHUNK_ROWS, min(last * CHUNK_ROWS, len(cells))),
            cells,
            (order, places),
            (scales, certainties),
            sums,
        ),
        CELL_STEPS * cells.size,
    )


@jit
def _add_rows(span, factor, places, numbers, sums):
    (columns, rows), (scales, weights), (totals, counts) = places, numbers, sums
    for i in range(span[0], span[1]):
        row = rows[i]
        for f in range(columns.size):
            totals[row, f] += scales[f] * factor[i, columns[f]]
            counts[row, f] += weights[f]
