"""Arrange the cells of a sparse tensor so that each mode's products write every row once."""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from scoup.machine import kernel_threads, run_chunks
from scoup.records import Array

# A mode this short keeps its factor, and one output per chunk, in the second-level cache.
MAX_SHORT_ROWS = 8192
MAX_CHUNKS = 64
MIN_CHUNK_CELLS = 4096
# Sorting a cell takes as long as this many steps of a product.
SORT_STEPS_PER_CELL = 8


@dataclass(frozen=True, eq=False)
class Order:
    """Cells sorted by a root mode, then by the middle modes, then by the leaf mode.

    Row i of the root has fibres ``rows[i]:rows[i + 1]``; fibre t has indices ``middles[:, t]`` in
    the middle modes and cells ``starts[t]:starts[t + 1]``. A matrix has no middle mode: each row is
    one fibre, and ``starts`` is ``rows``. ``bounds`` cuts the rows into chunks of about equal work.
    """

    modes: tuple[int, ...]
    rows: Array
    middles: Array
    starts: Array
    leaves: Array
    values: Array
    bounds: Array

    @property
    def cells(self) -> tuple[Array, ...]:
        """The arrays that a kernel reads: rows, middles, starts, leaves, values."""
        return self.rows, self.middles, self.starts, self.leaves, self.values

    @property
    def chunks(self) -> int:
        """Number of chunks; it depends on the data alone."""
        return self.bounds.size - 1


class Fibres:
    """Sparse cells with a cache of the orders that products have needed so far.

    The cells never change, the cache grows; a lock makes it safe to use from several threads.
    """

    def __init__(self, coords: Array, values: Array, shape: tuple[int, ...]) -> None:
        self.coords, self.values, self.shape = coords, values, shape
        self.orders: dict[int, Order] = {}
        self._row_lists: dict[int, tuple[Array, Array, Array]] = {}
        self._lock = threading.Lock()

    def order(self, root: int) -> Order:
        """Return the cells sorted with mode ``root`` first."""
        with self._lock:
            if root not in self.orders:
                self.orders[root] = _arrange(self, root)
            return self.orders[root]

    def order_for(self, mode: int) -> Order:
        """Return the order for products of ``mode``: as the root, or as the leaf if it is short."""
        leaf = _shortest(self.shape, range(len(self.shape)))
        if mode != leaf or len(self.shape) == 2 or not self.is_short(mode):
            return self.order(mode)
        return self.order(0 if leaf else 1)

    def is_short(self, mode: int) -> bool:
        """Whether the rows of ``mode`` fit in cache."""
        return self.shape[mode] <= MAX_SHORT_ROWS

    def row_list(self, mode: int) -> tuple[Array, Array, Array]:
        """Return row pointers, the permutation that sorts the cells by ``mode``, and chunk bounds.

        The permutation is empty if the cells are sorted by ``mode`` already.
        """
        with self._lock:
            if mode not in self._row_lists:
                others = [other for other in range(len(self.shape)) if other != mode]
                index, order = read_only(self.coords[mode]), _SAME_ORDER
                if _sort_passes([mode, *others]):
                    order = _counting_sort(index, order, self.shape[mode])
                rows = _pointers(index, self.shape[mode])
                self._row_lists[mode] = (read_only(rows), read_only(order), _bounds(rows))
            return self._row_lists[mode]


def arrange(coords: Array, values: Array, shape: Sequence[int]) -> Fibres:
    """Prepare sparse cells for the kernels: ``coords`` (N, nnz) int32, sorted row-major and unique.

    >>> coords = np.array([[0, 1], [1, 0], [2, 2]], np.int32)
    >>> fibres = arrange(coords, np.array([1.0, 2.0]), (2, 2, 3))
    >>> fibres.order(0).leaves.tolist()
    [1, 0]
    """
    return Fibres(
        read_only(coords, np.int32), read_only(values), tuple(int(size) for size in shape)
    )


def read_only(array: Any, dtype: Any = None) -> Array:
    """Return a C-contiguous read-only view, so that a kernel is compiled for one kind of input."""
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


_SAME_ORDER = read_only(np.empty(0, np.int32))


def _shortest(shape: Sequence[int], modes: Iterable[int]) -> int:
    """Return the shortest mode, the last of equals: kernels read it innermost."""
    return max(modes, key=lambda mode: (-shape[mode], mode))


def _arrange(fibres: Fibres, root: int) -> Order:
    coords, shape = fibres.coords, fibres.shape
    leaf = _shortest(shape, (mode for mode in range(len(shape)) if mode != root))
    middle = [mode for mode in range(len(shape)) if mode not in (root, leaf)]
    modes = (root, *middle, leaf)
    ends = read_only(_pointers(read_only(coords[root]), shape[root]))
    bounds = _bounds(ends)
    if _sort_passes(modes):
        table, leaves, values = _scatter_cells(fibres, modes, ends, bounds)
        middle = list(range(len(middle)))
    else:
        table, leaves, values = coords, coords[leaf], fibres.values
    rows, middles, starts = (ends, np.empty((0, 0), np.int32), ends)
    if middle:
        rows, middles, starts = _fibres_of(ends, read_only(table), np.array(middle), bounds)
    return Order(
        modes, *(read_only(array) for array in (rows, middles, starts, leaves, values, bounds))
    )


def _scatter_cells(
    fibres: Fibres, modes: Sequence[int], ends: Array, bounds: Array
) -> tuple[Array, Array, Array]:
    """Sort the cells by ``modes``: return their indices in the middle and leaf modes, and values.

    Each thread reads all cells in turn and writes those of its own rows, which end at ``ends``: the
    rows it writes to stay in cache, whereas cells gathered in sorted order would not.
    """
    coords, values = fibres.coords, fibres.values
    out = (
        np.empty((len(modes) - 2, values.size), np.int32),
        np.empty(values.size, np.int32),
        np.empty_like(values),
    )
    parts = min(kernel_threads(), bounds.size - 1)
    cuts = bounds[np.linspace(0, bounds.size - 1, parts + 1).astype(int)].tolist()
    cells = (_presorted(coords, fibres.shape, modes), coords, values)
    order = np.array(modes)
    run_chunks(
        parts,
        lambda a, b: _scatter(cuts[a], cuts[b], cells, order, ends, out),
        SORT_STEPS_PER_CELL * values.size,
    )
    return out


def _fibres_of(
    ends: Array, table: Array, modes: Array, bounds: Array
) -> tuple[Array, Array, Array]:
    """Count the fibres of each row, then write their first cells and indices in ``modes``."""
    cuts, counts, cells = bounds.tolist(), np.zeros(ends.size, np.int32), int(ends[-1])
    work = SORT_STEPS_PER_CELL * cells
    run_chunks(
        bounds.size - 1,
        lambda a, b: _count_fibres(cuts[a], cuts[b], ends, table, modes, counts),
        work,
    )
    rows = np.cumsum(counts, dtype=np.int32)
    middles, starts = (
        np.empty((modes.size, int(rows[-1])), np.int32),
        np.empty(int(rows[-1]) + 1, np.int32),
    )
    starts[-1] = cells
    out = (rows, middles, starts)
    run_chunks(
        bounds.size - 1, lambda a, b: _write_fibres(cuts[a], cuts[b], ends, table, modes, out), work
    )
    return out


def _sort_passes(modes: Sequence[int]) -> int:
    """Return how many leading modes row-major cells must be sorted by to be sorted by all."""
    # A stable sort by the leading modes keeps the order in the others, which is ascending already.
    return next(k for k in range(len(modes)) if list(modes[k:]) == sorted(modes[k:]))


def _presorted(coords: Array, shape: Sequence[int], modes: Sequence[int]) -> Array:
    """Return the order that a stable sort by the first mode turns into the order by all modes."""
    places = _SAME_ORDER
    for mode in reversed(modes[1 : _sort_passes(modes)]):
        places = read_only(_counting_sort(read_only(coords[mode]), places, shape[mode]))
    return places


@njit(cache=True, nogil=True)
def _counting_sort(index, places, size):
    """Sort ``places`` (empty: 0, 1, ...) stably by ``index[places]``, all below ``size``."""
    ends = np.zeros(size + 1, np.int32)
    for t in range(index.size):
        ends[index[t] + 1] += 1
    for i in range(size):
        ends[i + 1] += ends[i]
    out = np.empty(index.size, np.int32)
    for t in range(index.size):
        p = places[t] if places.size else t
        out[ends[index[p]]] = p
        ends[index[p]] += 1
    return out


@njit(cache=True, nogil=True)
def _scatter(first, last, cells, modes, ends, out):
    """Write the cells of rows ``first:last``; row i of the first mode ends at ``ends[i + 1]``."""
    places, coords, values = cells
    middles, leaves, moved = out
    root, leaf, free = coords[modes[0]], coords[modes[-1]], ends[first:last].copy()
    for t in range(values.size):
        p = places[t] if places.size else t
        if first <= root[p] < last:
            to = free[root[p] - first]
            free[root[p] - first] += 1
            for n in range(middles.shape[0]):
                middles[n, to] = coords[modes[n + 1], p]
            leaves[to] = leaf[p]
            moved[to] = values[p]


@njit(cache=True, nogil=True)
def _begins(t, table, modes):
    """Whether cell t differs from the previous one in any of ``modes``."""
    differs = False
    for n in range(modes.size):
        differs |= table[modes[n], t] != table[modes[n], t - 1]
    return differs


@njit(cache=True, nogil=True)
def _count_fibres(first, last, ends, table, modes, counts):
    """Count into ``counts[i + 1]`` the fibres of row i."""
    for i in range(first, last):
        count = int(ends[i] < ends[i + 1])
        for t in range(ends[i] + 1, ends[i + 1]):
            count += _begins(t, table, modes)
        counts[i + 1] = count


@njit(cache=True, nogil=True)
def _write_fibres(first, last, ends, table, modes, out):
    """Write the indices and the first cell of each fibre of some rows."""
    rows, middles, starts = out
    for i in range(first, last):
        s = rows[i]
        for t in range(ends[i], ends[i + 1]):
            if t == ends[i] or _begins(t, table, modes):
                starts[s] = t
                for n in range(modes.size):
                    middles[n, s] = table[modes[n], t]
                s += 1


@njit(cache=True, nogil=True)
def _pointers(index, size):
    """Return the row pointers of an index in sorted order."""
    rows = np.zeros(size + 1, np.int32)
    for t in range(index.size):
        rows[index[t] + 1] += 1
    for i in range(size):
        rows[i + 1] += rows[i]
    return rows


def _bounds(cells: Array) -> Array:
    """Cut rows, whose cells end at ``cells[1:]``, into chunks with about as many cells each."""
    nnz, size = int(cells[-1]), cells.size - 1
    chunks = max(1, min(MAX_CHUNKS, size, nnz // MIN_CHUNK_CELLS))
    cuts = np.searchsorted(cells, np.arange(1, chunks) * (nnz / chunks))
    return np.concatenate([[0], np.minimum(cuts, size), [size]]).astype(np.int32)
