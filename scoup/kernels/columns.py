"""Products of cells that come in columns, as shards hold them, with factors of either precision.

Rows of factors are multiplied in their own precision, sums are float64.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from scoup.kernels import rows
from scoup.kernels.fibres import read_only
from scoup.kernels.lanes import (
    add_scaled,
    lane_mask,
    load,
    multiply,
    prefetch,
    store,
    widen,
)
from scoup.records import Array


class Batch(NamedTuple):
    """Cells: one column of int32 indices per mode, and their values."""

    columns: tuple[Array, ...]
    values: Array


def aligned_rows(factor: Array) -> Array:
    """Copy a factor so that its rows start on cache lines.

    >>> aligned_rows(np.ones((3, 10), np.float32)).shape
    (3, 16)
    """
    copy = rows.padded_zeros(len(factor), factor.shape[1], factor.dtype)
    copy[:, : factor.shape[1]] = factor
    return read_only(copy)


def run_sums(
    batches: Sequence[Batch], blocks: Sequence[Array], mode: int, first: int, out: Array
) -> None:
    """Add the MTTKRP of cells sorted by ``mode``, whose indices begin at ``first``, to ``out``.

    ``out[i - first, f] += sum over cells with index i in mode of x * prod_{n != mode} M_n[i_n, f]``

    >>> cells = Batch((np.array([5, 5], np.int32), np.array([0, 1], np.int32)), np.ones(2))
    >>> out = np.zeros((2, 8))
    >>> run_sums([cells], [np.ones((0, 1)), np.array([[2.0], [3.0]])], 0, 5, out)
    >>> out[:, 0].tolist()
    [5.0, 0.0]
    """
    _add_batches(_run_kernel, batches, blocks, mode, first, out)


def cell_sums(batches: Sequence[Batch], blocks: Sequence[Array], mode: int, out: Array) -> None:
    """Add the MTTKRP of cells in any order to ``out``, see :func:`run_sums`.

    >>> cells = Batch((np.array([1, 0], np.int32), np.array([0, 1], np.int32)), np.ones(2))
    >>> out = np.zeros((2, 8))
    >>> cell_sums([cells], [np.ones((0, 1)), np.array([[2.0], [3.0]])], 0, out)
    >>> out[:, 0].tolist()
    [3.0, 2.0]
    """
    _add_batches(_cell_kernel, batches, blocks, mode, 0, out)


def _add_batches(
    make: Callable[[int], Any],
    batches: Sequence[Batch],
    blocks: Sequence[Array],
    mode: int,
    first: int,
    out: Array,
) -> None:
    """Run a kernel over batches, none of them empty; ``out`` has columns for whole vectors."""
    others = [n for n in range(len(blocks)) if n != mode]
    factors = tuple(read_only(blocks[n]) for n in others)
    rank = min(block.shape[1] for block in factors)
    kernel = make(rows.width_for(rank))
    for columns, values in batches:
        chosen = tuple(read_only(columns[n], np.int32) for n in (mode, *others))
        kernel(chosen, read_only(values), first, rank, factors, out)


@cache
def _run_kernel(width: int) -> Callable[..., Any]:
    """Sum up each run of cells in registers; a run that goes on in the next batch adds up."""

    @rows.jit
    def kernel(columns, values, first, rank, factors, out):
        target, end = columns[0], values.size - 1
        for c in range(0, rank, width):
            mask, padded = lane_mask(width, rank - c), lane_mask(width, width)
            row = target[0] - first
            total = load(out, row, c, padded)
            for t in range(values.size):
                if target[t] - first != row:
                    store(out, row, c, padded, total)
                    row = target[t] - first
                    total = load(out, row, c, padded)
                ahead = min(t + rows.PREFETCH_GATHERS, end)
                for n in range(len(factors)):
                    prefetch(factors[n], columns[n + 1][ahead], c, mask)
                term = load(factors[0], columns[1][t], c, mask)
                for n in range(1, len(factors)):
                    term = multiply(term, load(factors[n], columns[n + 1][t], c, mask))
                total = add_scaled(total, values[t], widen(term))
            store(out, row, c, padded, total)

    return kernel


@cache
def _cell_kernel(width: int) -> Callable[..., Any]:
    """Add cell by cell: ``out[i] += x * prod other rows``."""

    @rows.jit
    def kernel(columns, values, first, rank, factors, out):
        target, end = columns[0], values.size - 1
        for c in range(0, rank, width):
            mask, padded = lane_mask(width, rank - c), lane_mask(width, width)
            for t in range(values.size):
                ahead = min(t + rows.PREFETCH_GATHERS, end)
                prefetch(out, target[ahead] - first, c, padded)
                for n in range(len(factors)):
                    prefetch(factors[n], columns[n + 1][ahead], c, mask)
                term = load(factors[0], columns[1][t], c, mask)
                for n in range(1, len(factors)):
                    term = multiply(term, load(factors[n], columns[n + 1][t], c, mask))
                total = load(out, target[t] - first, c, padded)
                total = add_scaled(total, values[t], widen(term))
                store(out, target[t] - first, c, padded, total)

    return kernel
