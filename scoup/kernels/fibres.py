"""Arrange the cells of a sparse tensor so that each mode's products write every row once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from scoup.kernels.pool import share
from scoup.threads import kernel_threads

Array = NDArray[Any]

# A mode this short keeps its factor in the second-level cache, and its output too, once for each chunk.
SHORT = 8192
CHUNKS = 64
CHUNK_CELLS = 4096
# Steps of a product, many to a vector, in the time that an index takes to find its place.
SORTING = 8


@dataclass(frozen=True, eq=False)
class Order:
    """Cells sorted by ``root``, then by the ``middle`` modes; what is left of a cell is its ``leaf``.

    Row i of the root owns fibres ``rows[i]:rows[i + 1]``; fibre t has indices ``middles[:, t]`` in the
    middle modes and owns cells ``starts[t]:starts[t + 1]``. A matrix has no middle: a row is one fibre,
    ``starts`` is ``rows``. ``bounds`` cuts the rows into chunks of about equal work.
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
        """What a kernel reads: rows, middles, starts, leaves, values."""
        return self.rows, self.middles, self.starts, self.leaves, self.values

    @property
    def chunks(self) -> int:
        """Number of chunks, a function of the data alone."""
        return self.bounds.size - 1


@dataclass(frozen=True, eq=False)
class Fibres:
    """Sparse cells in as many orders as the products asked for so far need."""

    coords: Array
    values: Array
    shape: tuple[int, ...]
    orders: dict[int, Order] = field(default_factory=dict, repr=False)
    listings: dict[int, tuple[Array, Array, Array]] = field(default_factory=dict, repr=False)
    lock: Any = field(default_factory=threading.Lock, repr=False)

    @property
    def leaf(self) -> int:
        """The shortest mode (the last of equals), which is read innermost."""
        return max(range(len(self.shape)), key=lambda mode: (-self.shape[mode], mode))

    def order(self, root: int) -> Order:
        """Return the order rooted at mode ``root``, made on first use."""
        with self.lock:
            if root not in self.orders:
                self.orders[root] = _arrange(self, root)
            return self.orders[root]

    def listing(self, mode: int) -> tuple[Array, Array, Array]:
        """Return row pointers of ``mode``, its order of the cells (empty if they are in it), and chunks of rows."""
        with self.lock:
            if mode not in self.listings:
                rest = [other for other in range(len(self.shape)) if other != mode]
                index, order = frozen(self.coords[mode]), _AS_THEY_ARE
                if _passes([mode, *rest]):
                    order = _counting_sort(index, order, self.shape[mode])
                rows = _pointers(index, self.shape[mode])
                self.listings[mode] = (frozen(rows), frozen(order), _bounds(rows))
            return self.listings[mode]

    def host(self, mode: int) -> Order:
        """Return the order that serves products for ``mode``: its own, or another's whose leaf it is."""
        leaf = self.leaf
        if mode != leaf or len(self.shape) == 2 or self.shape[leaf] > SHORT:
            return self.order(mode)
        return self.order(0 if leaf else 1)


def arrange(coords: Array, values: Array, shape: Sequence[int]) -> Fibres:
    """Prepare sparse cells for the kernels: ``coords`` (N, nnz) int32, sorted row-major and unique.

    >>> fibres = arrange(np.array([[0, 1], [1, 0], [2, 2]], np.int32), np.array([1.0, 2.0]), (2, 2, 3))
    >>> fibres.order(0).leaves.tolist()
    [1, 0]
    """
    return Fibres(frozen(coords, np.int32), frozen(values), tuple(int(size) for size in shape))


def frozen(array: Any, dtype: Any = None) -> Array:
    """Return a C-contiguous read-only view, so that each kernel is compiled for one kind of input."""
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


_AS_THEY_ARE = frozen(np.empty(0, np.int32))


def _arrange(fibres: Fibres, root: int) -> Order:
    coords, shape = fibres.coords, fibres.shape
    leaf = max(
        (mode for mode in range(len(shape)) if mode != root), key=lambda mode: (-shape[mode], mode)
    )
    middle = [mode for mode in range(len(shape)) if mode not in (root, leaf)]
    modes = (root, *middle, leaf)
    ends = frozen(_pointers(frozen(coords[root]), shape[root]))
    bounds = _bounds(ends)
    if _passes(modes):
        table, leaves, values = _scattered(fibres, modes, ends, bounds)
        middle = list(range(len(middle)))
    else:
        table, leaves, values = coords, coords[leaf], fibres.values
    rows, middles, starts = (ends, np.empty((0, 0), np.int32), ends)
    if middle:
        rows, middles, starts = _fibres_of(ends, frozen(table), np.array(middle), bounds)
    return Order(
        modes, *(frozen(array) for array in (rows, middles, starts, leaves, values, bounds))
    )


def _scattered(
    fibres: Fibres, modes: Sequence[int], ends: Array, bounds: Array
) -> tuple[Array, Array, Array]:
    """Put the cells in the order of ``modes``: their indices in the middle modes, in the last, and their values.

    Each thread reads all cells as they come and writes those of its own rows, which end at ``ends``: rows that are
    written to stay in cache, as cells that are fetched from all over do not.
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
    share(
        parts,
        lambda a, b: _scatter(cuts[a], cuts[b], cells, order, ends, out),
        SORTING * values.size,
    )
    return out


def _fibres_of(
    ends: Array, table: Array, modes: Array, bounds: Array
) -> tuple[Array, Array, Array]:
    """Count the fibres of each row, then write their indices, rows ``modes`` of the table, and their first cells."""
    cuts, counts, cells = bounds.tolist(), np.zeros(ends.size, np.int32), int(ends[-1])
    work = SORTING * cells
    share(
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
    share(
        bounds.size - 1, lambda a, b: _write_fibres(cuts[a], cuts[b], ends, table, modes, out), work
    )
    return out


def _passes(modes: Sequence[int]) -> int:
    """How many of the first modes row-major cells must be sorted by, last of them first, to be in order of all."""
    # A stable sort by the first few modes leaves the others in the order they had, which is ascending.
    return next(k for k in range(len(modes)) if list(modes[k:]) == sorted(modes[k:]))


def _presorted(coords: Array, shape: Sequence[int], modes: Sequence[int]) -> Array:
    """The order of row-major cells that a stable sort by the first mode turns into that by all ``modes``."""
    place = _AS_THEY_ARE
    for mode in reversed(modes[1 : _passes(modes)]):
        place = frozen(_counting_sort(frozen(coords[mode]), place, shape[mode]))
    return place


@njit(cache=True, nogil=True)
def _counting_sort(index, place, size):
    """Sort ``place`` (if it is empty, all cells as they are) stably by ``index[place]``, entries below ``size``."""
    ends = np.zeros(size + 1, np.int32)
    for t in range(index.size):
        ends[index[t] + 1] += 1
    for i in range(size):
        ends[i + 1] += ends[i]
    out = np.empty(index.size, np.int32)
    for t in range(index.size):
        p = place[t] if place.size else t
        out[ends[index[p]]] = p
        ends[index[p]] += 1
    return out


@njit(cache=True, nogil=True)
def _scatter(first, last, cells, modes, ends, out):
    """Write the cells of rows ``first:last`` where they belong; row i of the first mode ends at ``ends[i + 1]``."""
    place, coords, values = cells
    middles, leaves, moved = out
    root, leaf, free = coords[modes[0]], coords[modes[-1]], ends[first:last].copy()
    for t in range(values.size):
        p = place[t] if place.size else t
        if first <= root[p] < last:
            to = free[root[p] - first]
            free[root[p] - first] += 1
            for n in range(middles.shape[0]):
                middles[n, to] = coords[modes[n + 1], p]
            leaves[to] = leaf[p]
            moved[to] = values[p]


@njit(cache=True, nogil=True)
def _begins(t, table, modes):
    """Whether cell t differs from the one before in any of ``modes``."""
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
    """Row pointers of an index once it is sorted."""
    rows = np.zeros(size + 1, np.int32)
    for t in range(index.size):
        rows[index[t] + 1] += 1
    for i in range(size):
        rows[i + 1] += rows[i]
    return rows


def _bounds(cells: Array) -> Array:
    """Cut rows, whose cells end at ``cells[1:]``, into chunks of about equal numbers of cells."""
    nnz, size = int(cells[-1]), cells.size - 1
    chunks = max(1, min(CHUNKS, size, nnz // CHUNK_CELLS))
    cuts = np.searchsorted(cells, np.arange(1, chunks) * (nnz / chunks))
    return np.concatenate([[0], np.minimum(cuts, size), [size]]).astype(np.int32)
