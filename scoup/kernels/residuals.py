"""The squared error of a model on a dense array, in one pass that makes no temporary."""

from collections.abc import Sequence
from functools import reduce
from math import fsum, ldexp, prod

import numpy as np
from numba import njit

from scoup.kernels.fibres import read_only
from scoup.machine import run_chunks
from scoup.records import Array

# Neighbouring cells that are computed at a time: their products of factors stay in cache.
TILE_CELLS = 1 << 11
_NO_MASK = read_only(np.empty((0, 0), np.bool_))


def squared_error(
    values: Array, mask: Array | None, factors: Sequence[Array], exponent: int = 0
) -> float:
    """``|W * (X / 2^exponent - [[factors]])|^2`` from the residuals, in float64.

    >>> squared_error(np.ones((2, 2, 2)), None, [np.ones((2, 1))] * 3, exponent=1)
    2.0
    """
    doubles = [np.asarray(factor, np.float64) for factor in factors]
    # View the array as (pre, n, post): as many leading modes as leave a tile of neighbours.
    middle = values.ndim - 2
    while middle and prod(values.shape[middle:]) < TILE_CELLS:
        middle -= 1
    ones = np.ones((1, doubles[0].shape[1]))
    left, right = (
        reduce(_products, part, ones) for part in (doubles[:middle], doubles[middle + 1 :])
    )
    cells = read_only(values).reshape(len(left), -1)
    known = _NO_MASK if mask is None else read_only(mask).reshape(cells.shape)
    model = read_only(left), read_only(doubles[middle]), read_only(right)
    parts, unit = np.zeros(-(-cells.shape[1] // TILE_CELLS)), ldexp(1.0, -exponent)

    def work(first: int, last: int) -> None:
        for part in range(first, last):
            span = part * TILE_CELLS, min((part + 1) * TILE_CELLS, cells.shape[1])
            parts[part] = _squares(span, cells, known, unit, model)

    run_chunks(parts.size, work, values.size * left.shape[1])
    return fsum(parts)


def _products(left: Array, right: Array) -> Array:
    """Column-wise Kronecker product, the second factor fastest."""
    return (left[:, None] * right).reshape(-1, left.shape[1])


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _squares(span, cells, known, unit, model):
    """Add up the squared residuals of some columns of all rows."""
    left, middle, right = model
    first, size, rank = span[0], span[1] - span[0], left.shape[1]
    products, errors = np.empty((rank, size)), np.empty(size)
    for f in range(rank):
        j, q = first // len(right), first % len(right)
        for t in range(size):
            products[f, t] = middle[j, f] * right[q, f]
            q += 1
            if q == len(right):
                j, q = j + 1, 0
    total = 0.0
    for p in range(len(left)):
        row = cells[p, first : first + size]
        for t in range(size):
            errors[t] = np.float64(row[t]) * unit
        for f in range(rank):
            _subtract(errors, left[p, f], products[f])
        if known.size:
            seen = known[p, first : first + size]
            for t in range(size):
                error = errors[t] if seen[t] else 0.0
                total += error * error
        else:
            for t in range(size):
                total += errors[t] * errors[t]
    return total


@njit(cache=True, nogil=True, fastmath={"contract"})
def _subtract(errors, weight, products):
    """A function of its own, since only then does the compiler see that nothing overlaps."""
    for t in range(errors.size):
        errors[t] -= weight * products[t]
