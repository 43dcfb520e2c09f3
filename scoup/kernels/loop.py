"""ALS sweeps of a small problem as one compiled call, which holds the GIL only to start.

:func:`scoup.solvers.als.solve` says what is computed. A problem that fits in cache spends more time
on the calls than on the arithmetic, and several Python threads would wait for one another there.
:mod:`scoup.kernels.blocks` describes how data and factors are laid out.
"""

from typing import NamedTuple

import numpy as np

from scoup.kernels.blocks import (
    FACTORS_AT,
    IS_SPARSE,
    LONGEST,
    ORDER,
    SQUARES,
    UNIT,
    WEIGHT,
    dense_product,
    fill,
    sparse_product,
)
from scoup.kernels.dense import multiply_rows
from scoup.kernels.nonnegative import SWEEP_GAIN, solve_span
from scoup.kernels.rows import inlined, jit
from scoup.kernels.singular import solve_singular

# Why a call returned.
MAX_SWEEPS, CONVERGED, EXACT, UNSAFE = range(4)
# No sweep is done yet, no factor is left out; numba compiles code for a literal 0 apart.
NONE = np.int64(0)


class Limits(NamedTuple):
    """When to stop: see :class:`~scoup.solvers.Stopping`.

    ``floor`` is the size of rounding errors in costs and ``max_rise`` by how much a cost may rise.
    A system with a pivot up to ``min_pivot`` is solved as a singular one, with ``cutoff`` and
    ``max_scale_ratio``. An inverse is unsafe beyond ``max_inverse``, and a loss if squares exceed
    those of the data ``max_cancellation`` times.
    """

    tol: float
    floor: float
    max_rise: float
    min_pivot: float
    max_inverse: float
    max_cancellation: float
    cutoff: float
    max_scale_ratio: float


@jit
def run_sweeps(blocks, state, limits, costs, span, first):
    """Sweep from the one number up to the other of a span; return how many are done, and why.

    A sweep updates the factors from position ``first`` on. Costs are written as they come; with
    some factors they are those of the blocks that end there. A sweep that is unsafe is undone, for
    :mod:`scoup.solvers.als` to make with all care.
    """
    last_rows = np.empty(state.rows.shape, state.rows.dtype)
    for number in range(span[0], span[1]):
        _copy(state.rows, last_rows)
        cost = 0.0
        for position in range(first, len(state.grams)):
            loss = _update(blocks, state, limits, position)
            if not loss >= 0:
                _restore(blocks, state, last_rows)
                return number, UNSAFE
            cost += loss
        if number and not cost <= costs[number - 1] + limits.max_rise:
            _restore(blocks, state, last_rows)
            return number, CONVERGED
        costs[number] = cost
        if cost <= limits.floor:
            return number + 1, EXACT
        if number:
            before = costs[number - 1]
            if before - cost <= max(limits.tol * before, limits.floor):
                return number + 1, CONVERGED
    return span[1], MAX_SWEEPS


@jit
def run_best(blocks, state, limits, starts, tries, sweeps):
    """Sweep from the best of several starts (n, rows, columns), by the cost after ``tries`` sweeps.

    Return the cost at the end, NaN if a sweep is unsafe. The result is in ``state``.
    """
    best_rows = np.empty(state.rows.shape, state.rows.dtype)
    costs, lowest = np.empty(max(tries, sweeps)), np.inf
    for n in range(len(starts)):
        _restore(blocks, state, starts[n])
        done, outcome = run_sweeps(blocks, state, limits, costs, (NONE, tries), NONE)
        if outcome == UNSAFE:
            return np.nan
        if costs[done - 1] < lowest:
            lowest = costs[done - 1]
            _copy(state.rows, best_rows)
    _restore(blocks, state, best_rows)
    done, outcome = run_sweeps(blocks, state, limits, costs, (NONE, sweeps), NONE)
    return np.nan if outcome == UNSAFE else costs[done - 1]


@jit
def set_grams(blocks, state):
    """Compute ``M' M`` of each factor."""
    for position in range(len(state.grams)):
        first, last = blocks.starts[position], blocks.starts[position + 1]
        _set_gram(state.rows[first:last], state.grams[position])


@jit
def _set_gram(factor, gram):
    rank = len(gram)
    fill(gram, 0.0)
    for i in range(len(factor)):
        for f in range(rank):
            x = np.float64(factor[i, f])
            for g in range(rank):
                gram[f, g] += x * np.float64(factor[i, g])


@jit
def _restore(blocks, state, rows):
    _copy(rows, state.rows)
    for block in range(len(state.fresh)):
        state.fresh[block] = False
    set_grams(blocks, state)


@jit
def _copy(source, target):
    for i in range(source.shape[0]):
        for c in range(source.shape[1]):
            target[i, c] = source[i, c]


@inlined
def _update(blocks, state, limits, position):
    """Update one factor; return the weighted loss of the block that ends here, NaN if unsafe."""
    rank, columns, dtype = state.grams.shape[1], state.rows.shape[1], state.rows.dtype
    first, last = blocks.starts[position], blocks.starts[position + 1]
    gram, totals = np.zeros((rank, rank)), np.zeros((last - first, columns), dtype)
    final, final_gram, final_product = -1, gram, totals
    for block in range(len(blocks.table)):
        mode, share = _mode_of(blocks, block, position), blocks.shares[position, block]
        ends = mode == blocks.table[block, ORDER] - 1
        if mode < 0 or (share == 0 and not ends):
            continue
        block_gram, product = np.empty((rank, rank)), np.empty((last - first, columns), dtype)
        _set_block_gram(blocks, state, block, mode, block_gram)
        if blocks.table[block, IS_SPARSE]:
            sparse_product(blocks, state, block, mode, product)
        else:
            dense_product(blocks, state, block, mode, product)
        _add_scaled(product, blocks.numbers[block, UNIT], share, totals)
        _add_scaled(block_gram, 1.0, share, gram)
        if ends:
            final, final_gram, final_product = block, block_gram, product
    inverse = np.zeros((rank, columns), dtype)
    factor = state.rows[first:last]
    scale, low = np.empty(rank), np.empty((rank, rank))
    if blocks.nonnegative[position]:
        systems = gram.reshape(1, rank, rank)
        solve_span((0, last - first), systems, totals, SWEEP_GAIN, factor)
    elif _factorize(gram, limits.min_pivot, scale, low):
        if not _invert(scale, low, limits.max_inverse, inverse):
            return np.nan
        multiply_rows(totals, inverse, factor)
    elif not solve_singular(gram, totals, limits.cutoff, limits.max_scale_ratio, factor):
        return np.nan
    _set_gram(factor, state.grams[position])
    _mark_stale(blocks, state, position)
    if final < 0:
        return 0.0
    norm2 = blocks.numbers[final, SQUARES]
    model, squares = _model_squares(final_gram, state.grams[position])
    if not squares <= limits.max_cancellation * norm2:
        return np.nan
    loss = norm2 - 2.0 * _inner(final_product, factor, rank) + model
    return blocks.numbers[final, WEIGHT] * max(loss, 0.0)


@jit
def _add_scaled(part, unit, share, total):
    """Bring ``part`` to its unit, in place, and add its share to ``total``."""
    unit, share = total.dtype.type(unit), total.dtype.type(share)
    for i in range(part.shape[0]):
        for c in range(part.shape[1]):
            part[i, c] *= unit
            total[i, c] += share * part[i, c]


@jit
def _mode_of(blocks, block, position):
    """Return which mode of a block the factor at ``position`` is, or -1."""
    for mode in range(blocks.table[block, ORDER]):
        if blocks.table[block, FACTORS_AT + mode] == position:
            return mode
    return -1


@jit
def _mark_stale(blocks, state, position):
    """Forget the products with the factor at ``position``."""
    for block in range(len(blocks.table)):
        longest = blocks.table[block, LONGEST]
        if blocks.table[block, FACTORS_AT + longest] == position:
            state.fresh[block] = False


@jit
def _set_block_gram(blocks, state, block, mode, gram):
    """Hadamard product of the Gram matrices of all other factors."""
    fill(gram, 1.0)
    for other in range(blocks.table[block, ORDER]):
        if other != mode:
            factor_gram = state.grams[blocks.table[block, FACTORS_AT + other]]
            for f in range(len(gram)):
                for g in range(len(gram)):
                    gram[f, g] *= factor_gram[f, g]


@jit
def _model_squares(gram, factor_gram):
    """``<M G, M>``, the squared norm of the model, and what it would be if nothing cancelled."""
    model, squares = 0.0, 0.0
    for f in range(len(gram)):
        for g in range(len(gram)):
            model += gram[f, g] * factor_gram[f, g]
            squares += abs(gram[f, g] * factor_gram[f, g])
    return model, squares


@jit
def _inner(left, right, columns):
    """Inner product of two matrices without their padding, in float64."""
    total = 0.0
    for i in range(len(left)):
        for c in range(columns):
            total += np.float64(left[i, c]) * np.float64(right[i, c])
    return total


@jit
def _invert(scale, low, max_inverse, inverse):
    """Set ``S (L L')^-1 S``; return whether its entries are small enough to multiply with."""
    rank, solution = len(low), np.empty(len(low))
    for column in range(rank):
        for f in range(rank):
            total = scale[f] if f == column else 0.0
            for h in range(column, f):
                total -= low[f, h] * solution[h]
            solution[f] = total / low[f, f] if f >= column else 0.0
        for f in range(rank - 1, -1, -1):
            total = solution[f]
            for h in range(f + 1, rank):
                total -= low[h, f] * solution[h]
            solution[f] = total / low[f, f]
            if not abs(solution[f] * scale[f]) <= max_inverse:
                return False
            inverse[f, column] = solution[f] * scale[f]
    return True


@jit
def _factorize(gram, min_pivot, scale, low):
    """Scale to a unit diagonal and set ``L L' = G``; return whether every pivot is large enough."""
    top = 0.0
    for f in range(len(gram)):
        top = max(top, gram[f, f])
    for f in range(len(gram)):
        root = np.sqrt(max(gram[f, f], 0.0))
        scale[f] = 1.0 / root if root > min_pivot * np.sqrt(top) else 0.0
    for f in range(len(gram)):
        for g in range(f + 1):
            total = gram[f, g] * scale[f] * scale[g]
            for h in range(g):
                total -= low[f, h] * low[g, h]
            if f > g:
                low[f, g] = total / low[g, g]
            elif total > min_pivot:
                low[f, f] = np.sqrt(total)
            else:
                return False
    return True
