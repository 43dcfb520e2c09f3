"""The squared error of a model on a dense array, in one pass that makes no temporary."""

from collections.abc import Sequence
from functools import reduce
from math import fsum, ldexp, prod

import numpy as np
from numba import njit

from scoup.kernels.fibres import read_only
from scoup.kernels.lanes import add_scaled, lane_mask, load, scale, store, widen
from scoup.kernels.rows import jit
from scoup.machine import run_chunks
from scoup.records import Array

# Neighbouring cells that are computed at a time: their products of factors stay in cache, and the
# residuals of some of them in registers.
TILE_CELLS, WIDTH = 1 << 11, 16
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
    run_chunks(
        parts.size,
        lambda first, last: _set_squares((first, last), cells, known, unit, model, parts),
        values.size * left.shape[1],
    )
    return fsum(parts)


def _products(left: Array, right: Array) -> Array:
    """Column-wise Kronecker product, the second factor fastest."""
    return (left[:, None] * right).reshape(-1, left.shape[1])


@jit
def _set_squares(tiles, cells, known, unit, model, parts):
    """Set the sums of squared residuals of a range of tiles of columns."""
    for part in range(tiles[0], tiles[1]):
        start = part * TILE_CELLS
        span = (start, min(start + TILE_CELLS, cells.shape[1]))
        parts[part] = _squares(span, cells, known, unit, model)


@jit
def _squares(span, cells, known, unit, model):
    """Add up the squared residuals of some columns of all rows."""
    left, middle, right = model
    first, size, rank = span[0], span[1] - span[0], left.shape[1]
    products, errors = np.empty((rank, size)), np.empty((1, size))
    _set_products(first, middle, right, products)
    total = 0.0
    for p in range(len(left)):
        _set_errors((p, first), cells, unit, left, products, errors)
        if known.size:
            total += _sum_known(errors[0], known[p, first : first + size])
        else:
            total += _sum_squares(errors[0])
    return total


@jit
def _set_products(first, middle, right, products):
    """Set the products (F, size) of the rows of two factors, from column ``first`` on."""
    j, q, t = first // len(right), first % len(right), 0
    while t < products.shape[1]:
        count = min(len(right) - q, products.shape[1] - t)
        for f in range(len(products)):
            for k in range(count):
                products[f, t + k] = middle[j, f] * right[q + k, f]
        j, q, t = j + 1, 0, t + count


@jit
def _set_errors(corner, cells, unit, left, products, errors):
    """Set the residuals of a tile of a row; those of a vector stay in registers."""
    (p, first), (rank, size) = corner, products.shape
    whole, vectors = lane_mask(WIDTH, WIDTH), size // WIDTH * WIDTH
    for t in range(0, vectors, WIDTH):
        total = scale(unit, widen(load(cells, p, first + t, whole)))
        for f in range(rank):
            total = add_scaled(total, -left[p, f], load(products, f, t, whole))
        store(errors, 0, t, whole, total)
    for t in range(vectors, size):
        error = unit * np.float64(cells[p, first + t])
        for f in range(rank):
            error -= left[p, f] * products[f, t]
        errors[0, t] = error


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _sum_known(errors, known):
    total = 0.0
    for t in range(errors.size):
        error = errors[t] if known[t] else 0.0
        total += error * error
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _sum_squares(errors):
    total = 0.0
    for t in range(errors.size):
        total += errors[t] * errors[t]
    return total
