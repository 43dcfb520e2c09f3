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

Array = NDArray[Any]

# A mode this short keeps its factor in the second-level cache, and its output too, once for each chunk.
SHORT = 8192
CHUNKS = 64
CHUNK_CELLS = 4096


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
                place = _sorted_by(self.coords, self.shape, [mode, *rest])
                rows = _pointers(frozen(self.coords[mode]), self.shape[mode])
                order = _NONE if place is None else place
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


_NONE = frozen(np.empty(0, np.int32))


def _arrange(fibres: Fibres, root: int) -> Order:
    coords, shape = fibres.coords, fibres.shape
    leaf = max((mode for mode in range(len(shape)) if mode != root), key=lambda mode: (-shape[mode], mode))
    middle = [mode for mode in range(len(shape)) if mode not in (root, leaf)]
    place = _sorted_by(coords, shape, (root, *middle, leaf))
    ends = _pointers(frozen(coords[root]), shape[root])
    bounds = _bounds(ends)
    source = (frozen(ends), _NONE if place is None else frozen(place), coords)
    leaves, values = (coords[leaf], fibres.values) if place is None else _moved(fibres, leaf, source, bounds)
    rows, middles, starts = _fibres_of(source, middle, bounds) if middle else (ends, np.empty((0, 0), np.int32), ends)
    arrays = (rows, middles, starts, leaves, values, bounds)
    return Order((root, *middle, leaf), *(frozen(array) for array in arrays))


def _moved(fibres: Fibres, leaf: int, source: tuple[Array, Array, Array], bounds: Array) -> tuple[Array, Array]:
    """Leaves and values of the cells in the order of ``source``."""
    values, (ends, place, _), cuts = fibres.values, source, bounds.tolist()
    out = np.empty(values.size, np.int32), np.empty(values.size, values.dtype)
    index = frozen(fibres.coords[leaf])
    share(bounds.size - 1, lambda a, b: _move(ends[cuts[a]], ends[cuts[b]], place, index, values, out), values.size)
    return out


def _fibres_of(source: tuple[Array, Array, Array], middle: list[int], bounds: Array) -> tuple[Array, Array, Array]:
    """Count the fibres of each row, then write their middle indices and their first cells: rows, middles, starts."""
    ends, chunks, cuts, modes = source[0], bounds.size - 1, bounds.tolist(), np.array(middle)
    counts, cells = np.zeros(ends.size, np.int32), int(ends[-1])
    share(chunks, lambda a, b: _count_fibres(cuts[a], cuts[b], source, modes, counts), cells)
    rows = np.cumsum(counts, dtype=np.int32)
    middles, starts = np.empty((modes.size, int(rows[-1])), np.int32), np.empty(int(rows[-1]) + 1, np.int32)
    starts[-1] = cells
    share(chunks, lambda a, b: _write_fibres(cuts[a], cuts[b], source, modes, (rows, middles, starts)), cells)
    return rows, middles, starts


def _sorted_by(coords: Array, shape: Sequence[int], modes: Sequence[int]) -> Array | None:
    """Return the permutation that sorts row-major cells by ``modes``, or None when it is the identity."""
    # A stable sort by the first few modes leaves the others in the order they had, which is ascending.
    passes = next(k for k in range(len(modes)) if list(modes[k:]) == sorted(modes[k:]))
    if not passes:
        return None
    place = np.arange(coords.shape[1], dtype=np.int32)
    for mode in reversed(modes[:passes]):
        place = _counting_sort(frozen(coords[mode]), frozen(place), shape[mode])
    return place


@njit(cache=True, nogil=True)
def _counting_sort(index, place, size):
    """Sort ``place`` stably by ``index[place]``, whose entries are below ``size``."""
    ends = np.zeros(size + 1, np.int32)
    for t in range(index.size):
        ends[index[t] + 1] += 1
    for i in range(size):
        ends[i + 1] += ends[i]
    out = np.empty(index.size, np.int32)
    for t in range(place.size):
        i = index[place[t]]
        out[ends[i]] = place[t]
        ends[i] += 1
    return out


@njit(cache=True, nogil=True)
def _move(first, last, place, index, values, out):
    leaves, moved = out
    for t in range(first, last):
        leaves[t] = index[place[t]]
        moved[t] = values[place[t]]


@njit(cache=True, nogil=True)
def _differ(coords, modes, one, other):
    """Whether two cells differ in any of ``modes``."""
    for n in range(modes.size):  # noqa: SIM110 - the compiler knows no generators in any()
        if coords[modes[n], one] != coords[modes[n], other]:
            return True
    return False


@njit(cache=True, nogil=True)
def _count_fibres(first, last, source, modes, counts):
    """Count into ``counts[i + 1]`` the fibres of rows i; without a ``place`` the cells are in order already."""
    ends, place, coords = source
    for i in range(first, last):
        before, count = -1, 0
        for t in range(ends[i], ends[i + 1]):
            p = place[t] if place.size else t
            if before < 0 or _differ(coords, modes, p, before):
                count += 1
            before = p
        counts[i + 1] = count


@njit(cache=True, nogil=True)
def _write_fibres(first, last, source, modes, out):
    """Write the middle indices and the first cell of each fibre of some rows."""
    ends, place, coords = source
    rows, middles, starts = out
    for i in range(first, last):
        before, s = -1, rows[i]
        for t in range(ends[i], ends[i + 1]):
            p = place[t] if place.size else t
            if before < 0 or _differ(coords, modes, p, before):
                starts[s] = t
                for n in range(modes.size):
                    middles[n, s] = coords[modes[n], p]
                s += 1
            before = p


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
