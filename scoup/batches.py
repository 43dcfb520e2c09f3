"""Batches of cells as they are read from a shard: cut by rows, and picked for samples."""

from collections.abc import Sequence

import numpy as np

from scoup.kernels.columns import Batch
from scoup.records import Array

# Coordinates (N, n) and values (n,).
Cells = tuple[Array, Array]


def within(cells: Sequence[Batch], mode: int, rows: slice) -> list[Batch]:
    """Return the cells, sorted by ``mode``, that lie in a range of its rows."""
    cuts = [np.searchsorted(b.columns[mode], [rows.start, rows.stop]).tolist() for b in cells]
    return [
        Batch(tuple(column[first:last] for column in batch.columns), batch.values[first:last])
        for batch, (first, last) in zip(cells, cuts, strict=True)
        if first < last
    ]


class Finder:
    """Finds the positions of indices within a sample, whatever its order."""

    def __init__(self, index: Array) -> None:
        self._order = np.argsort(index, kind="stable")
        self._sorted = np.asarray(index)[self._order]

    def __call__(self, wanted: Array) -> Array:
        """Return the position of each index."""
        return self._order[np.searchsorted(self._sorted, wanted)]


def pick(batch: Batch, chosen: Array, finders: Sequence[Finder]) -> Cells:
    """Return the chosen cells, with positions within a sample as coordinates."""
    inside = np.empty((len(finders), chosen.size), np.int32)
    for row, column, find in zip(inside, batch.columns, finders, strict=True):
        row[:] = find(column[chosen])
    return inside, batch.values[chosen]


def stacked(parts: Sequence[Cells]) -> Cells:
    """Join cells, in order."""
    coords, values = zip(*parts, strict=True)
    return np.concatenate(coords, axis=1), np.concatenate(values)
