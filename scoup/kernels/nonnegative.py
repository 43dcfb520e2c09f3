"""Non-negative least squares, row by row, from the normal equations and the last values.

Each row minimises ``m G m' - 2 r m'`` over ``m >= 0``. Passes over its entries, each set to its
best value given the others (HALS), go on while they pay. A row for which they would take long moves
to the minimum over its non-zero entries, as far as these stay positive, before the next passes
change which are zero. No step raises the cost, so a row may stop early.
"""

import numpy as np

from scoup.kernels.fibres import read_only
from scoup.kernels.lanes import add_scaled, lane_mask, load, store
from scoup.kernels.rows import MIN_PIVOT, jit
from scoup.machine import run_chunks
from scoup.records import Array

# A row is done when a pass gains less than this share of its first: within a fit, where the next
# sweep continues, and where there is none.
SWEEP_GAIN, LAST_GAIN = 0.1, 1e-14
# Passes before each solve of the support, and the most solves per row.
PASSES, MAX_SOLVES = 4, 10
# Rows that one chunk holds.
CHUNK_ROWS = 256
# Numbers in a vector; a larger rank takes several.
WIDTH = 8
# Below this pivot an entry depends on earlier ones, see MIN_PIVOT.
MIN_PIVOT_OF_SUPPORT = MIN_PIVOT[np.dtype(np.float64)]


def solve_nonnegative(gram: Array, rhs: Array, old: Array, least_gain: float = LAST_GAIN) -> Array:
    """Minimise ``m G m' - 2 r m'`` over ``m >= 0`` for each row r of ``rhs`` (I, F).

    One G (F, F) for all rows, or one per row (I, F, F). Rows start from those of ``old``, with
    negative entries set to zero, and never end at a higher cost.

    >>> solve_nonnegative(np.eye(2), np.array([[2.0, -1.0]]), np.ones((1, 2))).tolist()
    [[2.0, 0.0]]
    """
    systems = read_only(gram if gram.ndim == 3 else gram[None])
    right, (count, rank) = read_only(rhs), rhs.shape
    out = old.astype(rhs.dtype)
    run_chunks(
        -(-count // CHUNK_ROWS),
        lambda a, b: solve_span(
            (a * CHUNK_ROWS, min(b * CHUNK_ROWS, count)), systems, right, least_gain, out
        ),
        4 * count * rank**2,
    )
    return out


@jit
def solve_span(span, grams, rhs, least_gain, out):
    """Improve a span of rows, in place; all by the first of ``grams`` if there is no other.

    Columns beyond those of the Gram matrices are padding and stay as they are.
    """
    rank, columns = grams.shape[1], -(-grams.shape[1] // WIDTH) * WIDTH
    gram, inverse = np.zeros((rank, columns)), np.zeros(rank)
    row, gradient = np.empty(rank), np.zeros((1, columns))
    first, last = span
    for i in range(first, last):
        if i == first or len(grams) > 1:
            set_system(grams[i if len(grams) > 1 else 0], gram, inverse)
        for f in range(rank):
            row[f] = max(np.float64(out[i, f]), 0.0)
        solve_row(gram, inverse, rhs[i], least_gain, row, gradient)
        for f in range(rank):
            out[i, f] = row[f]


@jit
def set_system(source, gram, inverse):
    """Copy a Gram matrix, and invert its diagonal; zero for columns that are rounding errors."""
    top = 0.0
    for f in range(len(inverse)):
        top = max(top, np.float64(source[f, f]))
        for g in range(len(inverse)):
            gram[f, g] = source[f, g]
    least = np.finfo(np.float64).eps ** 2 * top
    for f in range(len(inverse)):
        inverse[f] = 1.0 / gram[f, f] if gram[f, f] > least else 0.0


@jit
def solve_row(gram, inverse, right, least_gain, row, gradient):
    """Improve one row, in place, by passes and solves; the row of a system of zeros is zero."""
    if not inverse.any():
        row[:] = 0.0
    set_gradient(gram, right, row, gradient)
    first_gain = 0.0
    for _ in range(MAX_SOLVES):
        for _ in range(PASSES):
            gain = pass_coordinates(gram, inverse, row, gradient)
            if gain <= least_gain * first_gain:
                return
            first_gain = max(first_gain, gain)
        if solve_support(gram, row, gradient):
            set_gradient(gram, right, row, gradient)


@jit
def set_gradient(gram, right, row, gradient):
    """``g = r - m G``, half the negative gradient."""
    whole = lane_mask(WIDTH, WIDTH)
    for f in range(len(row)):
        gradient[0, f] = right[f]
    for f in range(len(row)):
        if row[f] != 0:
            for c in range(0, gram.shape[1], WIDTH):
                lanes = load(gradient, 0, c, whole)
                store(gradient, 0, c, whole, add_scaled(lanes, -row[f], load(gram, f, c, whole)))


@jit
def pass_coordinates(gram, inverse, row, gradient):
    """Set each entry to its best value given the others; return by how much the cost fell.

    An entry that nothing depends on stays: its component may come back.
    """
    whole, gain = lane_mask(WIDTH, WIDTH), 0.0
    for f in range(len(row)):
        change = max(gradient[0, f] * inverse[f], -row[f])
        gain += change * (2.0 * gradient[0, f] - change * gram[f, f])
        row[f] += change
        for c in range(0, gram.shape[1], WIDTH):
            lanes = load(gradient, 0, c, whole)
            store(gradient, 0, c, whole, add_scaled(lanes, -change, load(gram, f, c, whole)))
    return gain


@jit
def solve_support(gram, row, gradient):
    """Move to the minimum over the non-zero entries, or as far as all stay positive.

    Entries that depend on earlier ones stay where they are. Return whether the row moved.
    """
    rank = len(row)
    low, kept, step = np.empty((rank, rank)), np.empty(rank, np.int64), np.empty(rank)
    size = factorize_support(gram, row, low, kept)
    for n in range(size):
        total = gradient[0, kept[n]]
        for h in range(n):
            total -= low[n, h] * step[h]
        step[n] = total / low[n, n]
    for n in range(size - 1, -1, -1):
        total = step[n]
        for h in range(n + 1, size):
            total -= low[h, n] * step[h]
        step[n] = total / low[n, n]
    share = 1.0
    for n in range(size):
        if row[kept[n]] + step[n] < 0:
            share = min(share, row[kept[n]] / -step[n])
    for n in range(size):
        row[kept[n]] = max(row[kept[n]] + share * step[n], 0.0)
    return size > 0 and share > 0


@jit
def factorize_support(gram, row, low, kept):
    """Set ``L L' = G`` on the non-zero entries but those that depend on others; return how many."""
    size, top = 0, 0.0
    for f in range(len(row)):
        top = max(top, gram[f, f])
    for f in range(len(row)):
        if not row[f] > 0:
            continue
        for n in range(size):
            total = gram[f, kept[n]]
            for h in range(n):
                total -= low[size, h] * low[n, h]
            low[size, n] = total / low[n, n]
        pivot = gram[f, f]
        for h in range(size):
            pivot -= low[size, h] * low[size, h]
        if pivot > MIN_PIVOT_OF_SUPPORT * max(gram[f, f], MIN_PIVOT_OF_SUPPORT * top):
            low[size, size], kept[size] = np.sqrt(pivot), f
            size += 1
    return size
