"""Non-negative least squares, row by row, from the normal equations and the last values.

Each row minimises ``m G m' - 2 r m'`` over ``m >= 0``. Passes over its entries, each set to its
best value given the others (HALS), go on while they pay, for eight rows at a time: a vector holds
an entry of each, as within a row every step waits for the one before. A row for which they would
take long moves to the minimum over its non-zero entries, as far as these stay positive, before the
next passes change which are zero. No step raises the cost, so a row may stop early.
"""

import numpy as np

from scoup.kernels.fibres import read_only
from scoup.kernels.lanes import (
    add,
    add_product,
    add_scaled,
    lane_mask,
    larger,
    load,
    scale,
    store,
    sum_lanes,
    zero_lanes,
)
from scoup.kernels.rows import MIN_PIVOT, fill, jit
from scoup.machine import run_chunks
from scoup.records import Array

# A row is done when a pass gains less than this share of its first: within a fit, where the next
# sweep continues, and where there is none.
SWEEP_GAIN, LAST_GAIN = 0.1, 1e-14
# A gain below this share of what the row explains is a rounding error.
ROUNDING_GAIN = 1e-20
# Passes of eight rows at a time, passes after each solve of a row's support, and the most solves.
LANE_PASSES, PASSES, MAX_SOLVES = 16, 4, 10
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
    system = np.zeros((rank, columns)), np.zeros(rank)
    row, gradient = np.empty(rank), np.zeros((1, columns))
    work = np.empty((rank, rank)), np.empty(rank, np.int64), np.empty(rank)
    lanes = np.empty((rank, WIDTH)), np.empty((rank, WIDTH)), np.empty((2, WIDTH))
    shared, (first, last) = len(grams) == 1, span
    for start in range(first, last, WIDTH if shared else 1):
        if start == first or not shared:
            set_system(grams[0 if shared else start], *system)
        end = min(start + WIDTH, last) if shared else start + 1
        pass_rows(system, rhs[start:end], least_gain, lanes, out[start:end])
        for i in range(start, end):
            gain, limit = lanes[2][0, i - start], lanes[2][1, i - start]
            if gain > limit:
                for f in range(rank):
                    row[f] = lanes[0][f, i - start]
                solve_row(system, rhs[i], limit, row, gradient, work)
                for f in range(rank):
                    out[i, f] = row[f]


@jit
def pass_rows(system, rhs, least_gain, lanes, out):
    """Improve up to eight rows with the same system by passes, in place, one lane for each.

    They are set to zero if that of the system is. The gain of each lane's last pass, and that up to
    which the row is done, go to ``lanes[2]``.
    """
    gram, inverse = system
    rows, gradient, gains = lanes
    whole, used = lane_mask(WIDTH, WIDTH), inverse.any()
    fill(rows, 0.0)
    fill(gradient, 0.0)
    for i in range(len(out)):
        for f in range(len(gram)):
            rows[f, i] = max(np.float64(out[i, f]), 0.0) if used else 0.0
            gradient[f, i] = rhs[i, f]
    for f in range(len(gram)):
        _subtract(gram, f, load(rows, f, 0, whole), gradient)
    fill(gains, 0.0)
    for number in range(LANE_PASSES):
        total = zero_lanes(whole, rows)
        for f in range(len(gram)):
            old, slope = load(rows, f, 0, whole), load(gradient, f, 0, whole)
            step = larger(scale(inverse[f], slope), scale(-1.0, old))
            # change (2 g - change G)
            twice = add_scaled(add(slope, slope), -gram[f, f], step)
            total = add_product(total, step, twice)
            store(rows, f, 0, whole, add(old, step))
            _subtract(gram, f, step, gradient)
        store(gains, 0, 0, whole, total)
        if number == 0:
            _set_limits(rows, rhs, least_gain, gains)
        excess = add_scaled(total, -1.0, load(gains, 1, 0, whole))
        if not sum_lanes(larger(excess, zero_lanes(whole, rows))) > 0:
            break
    for i in range(len(out)):
        for f in range(len(gram)):
            out[i, f] = rows[f, i]


@jit
def _subtract(gram, f, step, gradient):
    """``g -= step G[f]`` in every lane."""
    whole = lane_mask(WIDTH, WIDTH)
    for h in range(len(gram)):
        store(gradient, h, 0, whole, add_scaled(load(gradient, h, 0, whole), -gram[f, h], step))


@jit
def _set_limits(rows, rhs, least_gain, gains):
    """Set the gain up to which each row is done, from that of its first pass."""
    for i in range(len(rhs)):
        explained = 0.0
        for f in range(len(rows)):
            explained += rows[f, i] * rhs[i, f]
        gains[1, i] = max(least_gain * gains[0, i], ROUNDING_GAIN * explained)


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
def solve_row(system, right, limit, row, gradient, work):
    """Improve one row, in place, by solves and passes, until a pass gains ``limit`` at most."""
    gram, inverse = system
    set_gradient(gram, right, row, gradient)
    for _ in range(MAX_SOLVES):
        if solve_support(gram, row, gradient, work):
            set_gradient(gram, right, row, gradient)
        for _ in range(PASSES):
            if pass_coordinates(gram, inverse, row, gradient) <= limit:
                return


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
def solve_support(gram, row, gradient, work):
    """Move to the minimum over the non-zero entries, or as far as all stay positive.

    Entries that depend on earlier ones stay where they are. Return whether the row moved.
    """
    low, kept, step = work
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
