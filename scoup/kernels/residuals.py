"""The squared error of a model on a dense array, in one pass that makes no temporary."""

from collections.abc import Sequence
from functools import reduce
from math import fsum, ldexp, prod

import numpy as np

from scoup.kernels.fibres import read_only
from scoup.kernels.lanes import (
    add_product,
    add_scaled,
    keep_known,
    lane_mask,
    load,
    scale,
    sum_lanes,
    widen,
    zero_lanes,
)
from scoup.kernels.rows import jit
from scoup.machine import run_chunks
from scoup.records import Array

# Neighbouring cells whose products of factors stay in cache, and those of a row in registers.
TILE_CELLS, WIDTH = 1 << 11, 8
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
    model = read_only(-left), read_only(doubles[middle]), read_only(right)
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
    (left, middle, right), first = model, span[0]
    products = np.empty((left.shape[1], span[1] - first))
    _set_products(first, middle, right, products)
    fours, whole = len(left) // 4 * 4, products.shape[1] // WIDTH * WIDTH
    total = _squares_of_rest((first, whole), cells, known, unit, left, products)
    for p in range(0, fours, 4):
        total += _squares_of_four((p, first, whole), cells, known, unit, left, products)
    for p in range(fours, len(left)):
        total += _squares_of_one((p, first, whole), cells, known, unit, left, products)
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
def _squares_of_four(part, cells, known, unit, left, products):
    """Add up those of four rows, which share the products of factors; ``left`` is negative."""
    (p, first, size), mask = part, lane_mask(WIDTH, WIDTH)
    sums = zero_lanes(mask, products)
    for t in range(0, size, WIDTH):
        column = first + t
        a = scale(unit, widen(load(cells, p, column, mask)))
        b = scale(unit, widen(load(cells, p + 1, column, mask)))
        d = scale(unit, widen(load(cells, p + 2, column, mask)))
        e = scale(unit, widen(load(cells, p + 3, column, mask)))
        for f in range(len(products)):
            product = load(products, f, t, mask)
            a, b = add_scaled(a, left[p, f], product), add_scaled(b, left[p + 1, f], product)
            d, e = add_scaled(d, left[p + 2, f], product), add_scaled(e, left[p + 3, f], product)
        if known.size:
            a, b = keep_known(known, p, column, a), keep_known(known, p + 1, column, b)
            d, e = keep_known(known, p + 2, column, d), keep_known(known, p + 3, column, e)
        sums = add_product(add_product(sums, a, a), b, b)
        sums = add_product(add_product(sums, d, d), e, e)
    return sum_lanes(sums)


@jit
def _squares_of_one(part, cells, known, unit, left, products):
    """Add up those of one row."""
    (p, first, size), mask = part, lane_mask(WIDTH, WIDTH)
    sums = zero_lanes(mask, products)
    for t in range(0, size, WIDTH):
        error = scale(unit, widen(load(cells, p, first + t, mask)))
        for f in range(len(products)):
            error = add_scaled(error, left[p, f], load(products, f, t, mask))
        if known.size:
            error = keep_known(known, p, first + t, error)
        sums = add_product(sums, error, error)
    return sum_lanes(sums)


@jit
def _squares_of_rest(part, cells, known, unit, left, products):
    """Add up those of all rows in the columns that fill no vector."""
    (first, whole), total = part, 0.0
    for p in range(len(left)):
        for t in range(whole, products.shape[1]):
            error = unit * np.float64(cells[p, first + t])
            for f in range(len(products)):
                error += left[p, f] * products[f, t]
            if not known.size or known[p, first + t]:
                total += error * error
    return total
