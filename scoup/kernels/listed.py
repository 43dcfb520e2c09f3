"""Products of a large tensor from the list of its cells: an arrangement a mode would take several times its memory.

A mode that is long keeps the order of its cells, four bytes each; a short one adds them up as they come, in a few
private copies of its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from scoup.kernels import fibres as cells
from scoup.kernels import rows as loops
from scoup.kernels.fibres import Array, Fibres, frozen
from scoup.kernels.lanes import live, load, scaled, store, times, zeros
from scoup.kernels.pool import share

# From so many cells on memory counts for more than the last bit of speed.
LARGE = 1 << 22
COPIES = 8


def mttkrp(fibres: Fibres, factors: Sequence[Array], mode: int) -> Array:
    """Matricised tensor times Khatri-Rao product, (I_mode, F), without an arrangement.

    >>> from scoup.kernels import arrange
    >>> tensor = arrange(np.array([[0, 1], [1, 0], [0, 0]], np.int32), np.array([2.0, 3.0]), (2, 2, 1))
    >>> mttkrp(tensor, [np.ones((2, 1)), np.array([[5.0], [7.0]]), np.ones((1, 1))], 0).tolist()
    [[14.0], [15.0]]
    """
    modes = np.array([mode, *(n for n in range(len(factors)) if n != mode)])
    blocks = tuple(frozen(factors[n], fibres.values.dtype) for n in modes[1:])
    short = mode != 0 and fibres.shape[mode] <= cells.SHORT
    return (_added if short else _gathered)(fibres, modes, blocks)


def _gathered(fibres: Fibres, modes: Array, blocks: tuple[Array, ...]) -> Array:
    mode = int(modes[0])
    rows, place, bounds = fibres.listing(mode)
    rank, ends = blocks[0].shape[1], bounds.tolist()
    out = np.empty((fibres.shape[mode], rank), fibres.values.dtype)
    kernel = gathered_rows(loops.width_for(rank))
    listed = (rows, place, fibres.coords, fibres.values)
    share(
        len(ends) - 1,
        lambda a, b: kernel(ends[a], ends[b], listed, modes, blocks, out),
        fibres.values.size * rank,
    )
    return out


def _added(fibres: Fibres, modes: Array, blocks: tuple[Array, ...]) -> Array:
    """Chunks of cells write private copies, added up in the order of the chunks."""
    mode = int(modes[0])
    rank, nnz = blocks[0].shape[1], fibres.values.size
    ends = np.linspace(0, nnz, COPIES + 1).astype(int).tolist()
    copies = [
        loops.padded_zeros(fibres.shape[mode], rank, fibres.values.dtype) for _ in range(COPIES)
    ]
    kernel = added_cells(loops.width_for(rank))

    def work(first: int, last: int) -> None:
        for n in range(first, last):
            kernel(ends[n], ends[n + 1], (fibres.coords, fibres.values), modes, blocks, copies[n])

    share(COPIES, work, nnz * rank)
    for copy in copies[1:]:
        copies[0] += copy
    return np.ascontiguousarray(copies[0][:, :rank])


@cache
def gathered_rows(width: int) -> Callable[..., Any]:
    """Kernel of :func:`mttkrp` for a range of rows; without a ``place`` the cells are in order already."""

    @loops.compiled
    def kernel(first, last, listed, modes, factors, out):
        rows, place, coords, values = listed
        rank = out.shape[1]
        for c in range(0, rank, width):
            mask = live(width, rank - c)
            for i in range(first, last):
                total = zeros(mask, out)
                for t in range(rows[i], rows[i + 1]):
                    p = place[t] if place.size else t
                    term = load(factors[0], coords[modes[1], p], c, mask)
                    for n in range(1, len(factors)):
                        term = times(term, load(factors[n], coords[modes[n + 1], p], c, mask))
                    total = scaled(total, values[p], term)
                store(out, i, c, mask, total)

    return kernel


@cache
def added_cells(width: int) -> Callable[..., Any]:
    """Kernel of :func:`mttkrp` for a range of cells in any order: ``out[i] += x * prod other rows``."""

    @loops.compiled
    def kernel(first, last, listed, modes, factors, out):
        coords, values = listed
        rank = factors[0].shape[1]
        for c in range(0, rank, width):
            mask, padded = live(width, rank - c), live(width, out.shape[1] - c)
            for t in range(first, last):
                term = load(factors[0], coords[modes[1], t], c, mask)
                for n in range(1, len(factors)):
                    term = times(term, load(factors[n], coords[modes[n + 1], t], c, mask))
                total = load(out, coords[modes[0], t], c, padded)
                store(out, coords[modes[0], t], c, padded, scaled(total, values[t], term))

    return kernel
