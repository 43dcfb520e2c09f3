"""A whole fit of a small problem as one compiled call: compression, start, sweeps and expansion.

:mod:`scoup.compress`, :mod:`scoup.start` and :mod:`scoup.solvers.als` say what is computed.
"""

from typing import NamedTuple

import numpy as np

from scoup.kernels.algebraic import algebraic_factors
from scoup.kernels.blocks import (
    CELLS,
    FACTORS_AT,
    LONGEST,
    ORDER,
    UNIT,
    VALUES_AT,
    Blocks,
    State,
)
from scoup.kernels.dense import unfold
from scoup.kernels.lapack import add_gram, cholesky
from scoup.kernels.loop import UNSAFE, Limits, run_best, run_sweeps, set_grams, set_sides
from scoup.kernels.rows import jit
from scoup.records import Array


class Start(NamedTuple):
    """Where a fit starts.

    - ``rows``: (candidates, mode rows, columns), the factors of each candidate, padded as those of
      a state; the first is set here, by eigenvectors where that is possible;
    - ``mixture``: (K, 2), random weights of slices for it, none if it is not possible;
    - ``tensor``, ``state``: the first parts of the problem's blocks and state, for the tensor alone;
    - ``tries``, ``sweeps``: sweeps from each candidate, and from the best of them;
    - ``limits``: when those stop; ``max_distance`` is how close to 1 or 0 the congruence or the
      relative size of a component is that adds nothing.
    """

    rows: Array
    mixture: Array
    tensor: Blocks
    state: State
    tries: int
    sweeps: int
    limits: Limits
    max_distance: float


class Long(NamedTuple):
    """A long mode that is to be compressed.

    - ``cells``: the tensor, (pre, n, post);
    - ``columns``: (n, q), the matrices on this mode, and then its rows of the random candidates;
    - ``ends``: the first column of each part of ``[cells, *matrices, candidates]``, and the end;
    - ``mode``: which it is;
    - ``min_pivot``: the smallest pivot of a Gram matrix that is not singular;
    - ``core``: where the cells of the problem's blocks are written.
    """

    cells: Array
    columns: Array
    ends: Array
    mode: int
    min_pivot: float
    core: Array


@jit
def fit_long(lapack, long, blocks, state, start, limits, costs, factor):
    """Fit data with one mode compressed, whose rows are set in ``factor``; see :func:`fit_blocks`.

    With ``Z = [cells, matrices, candidates]``, unfolded by the long mode, ``Z' Z = R' R`` and a
    scale for each part, the core is R and the long factor ``Z R^-1 M``.
    """
    rows, root, scale = _square_root(lapack, long)
    if not root.size:
        return 0, UNSAFE
    used = _set_core(blocks, long, root, scale)
    rank, first = state.grams.shape[1], blocks.starts[long.mode]
    for n in range(1, len(start.rows)):
        for r in range(len(root)):
            for f in range(rank):
                c = used + (n - 1) * rank + f
                start.rows[n, first + r, f] = root[r, c] / scale[c] if c >= r else 0.0
    done, outcome = fit_blocks(lapack, blocks, state, start, limits, costs)
    if outcome != UNSAFE:
        solution = np.zeros((len(root), rank))
        for f in range(rank):
            for r in range(len(root) - 1, -1, -1):
                total = np.float64(state.rows[first + r, f])
                for c in range(r + 1, len(root)):
                    total -= root[r, c] * solution[c, f]
                solution[r, f] = total / root[r, r]
        for r in range(len(root)):
            for f in range(rank):
                solution[r, f] *= scale[r]
        factor[:] = np.dot(rows, solution)
    return done, outcome


@jit
def fit_blocks(lapack, blocks, state, start, limits, costs):
    """Fit the tensor from each candidate, then all blocks from the best; the result is in ``state``.

    Return how many sweeps over all blocks were made, and why no more; where a step is unsafe, or a
    component of the start adds nothing, that is :data:`UNSAFE`, and nothing is of use.
    """
    first = 0 if start.mixture.size and _set_algebraic(lapack, start) else 1
    tensor, best = start.tensor, start.state
    if not run_best(tensor, best, start.limits, start.rows[first:], start.tries, start.sweeps):
        return 0, UNSAFE
    _balance(tensor, best)
    set_grams(tensor, best)
    if _adds_nothing(best.grams, start.max_distance):
        return 0, UNSAFE
    for block in range(len(state.fresh)):
        state.fresh[block] = False
    if not set_sides(blocks, state, limits, len(best.grams)):
        return 0, UNSAFE
    return run_sweeps(blocks, state, limits, costs, 0, costs.size)


@jit
def _square_root(lapack, long):
    """Return Z, R and the scale of its columns; an empty R if it is close to singular."""
    pre, n, post = long.cells.shape
    count, size = pre * post, pre * post + long.columns.shape[1]
    rows, root, scale = np.empty((n, size)), np.zeros((size, size)), np.ones(size)
    unfold(0, long.cells, rows)
    rows[:, count:] = long.columns
    add_gram(lapack, rows, root)
    for part in range(long.ends.size - 1):
        total = 0.0
        for c in range(long.ends[part], long.ends[part + 1]):
            total += root[c, c]
        if total > 0:
            scale[long.ends[part] : long.ends[part + 1]] = 1.0 / np.sqrt(total)
    for r in range(size):
        for c in range(r, size):
            root[r, c] *= scale[r] * scale[c]
    diagonal = np.diag(root).copy()
    if not cholesky(lapack, root) or not (np.diag(root) ** 2 > long.min_pivot * diagonal).all():
        return rows, np.empty((0, 0)), scale
    return rows, root, scale


@jit
def _set_core(blocks, long, root, scale):
    """Write the core of each block with the long mode; return how many columns they have."""
    first = 0
    for block in range(len(blocks.table)):
        line = blocks.table[block]
        mode = -1
        for n in range(line[ORDER]):
            if line[FACTORS_AT + n] == long.mode:
                mode = n
        if mode < 0:
            continue
        width = line[CELLS] // len(root)
        core = long.core[line[VALUES_AT] : line[VALUES_AT] + line[CELLS]]
        for r in range(len(root)):
            for c in range(width):
                x = root[r, first + c] / scale[first + c] if first + c >= r else 0.0
                core[r * width + c if mode == line[LONGEST] else c * len(root) + r] = x
        first += width
    return first


@jit
def _set_algebraic(lapack, start):
    """Set the first candidate; return whether that is possible."""
    line, starts = start.tensor.table[0], start.tensor.starts
    order, rank = line[ORDER], start.state.grams.shape[1]
    sizes = starts[1 : order + 1] - starts[:order]
    by_size = np.argsort(sizes, kind="mergesort")
    row, column = by_size[order - 2], by_size[order - 1]
    others = np.array([n for n in range(order) if n not in (row, column)])
    cells = _gather(start.tensor, sizes, row, column)
    first, second = np.empty((sizes[row], rank)), np.empty((sizes[column], rank))
    rest, mixture = np.empty((sizes[others].sum(), rank)), start.mixture
    if not algebraic_factors(
        lapack, cells, sizes[others], rank, mixture, first, second, rest
    ):
        return False
    target, at = start.rows[0], 0
    target[starts[row] : starts[row + 1], :rank] = first
    target[starts[column] : starts[column + 1], :rank] = second * start.tensor.numbers[0, UNIT]
    for n in others:
        target[starts[n] : starts[n + 1], :rank] = rest[at : at + sizes[n]]
        at += sizes[n]
    return True


@jit
def _gather(tensor, sizes, row, column):
    """Return the cells (I, J, K) of a dense tensor with two of its modes in front."""
    order, longest = sizes.size, tensor.table[0, LONGEST]
    out = np.empty((sizes[row], sizes[column], tensor.values.size // (sizes[row] * sizes[column])))
    index = np.zeros(order, np.int64)
    for t in range(tensor.values.size):
        rest = 0
        for n in range(order):
            if n not in (row, column):
                rest = rest * sizes[n] + index[n]
        out[index[row], index[column], rest] = tensor.values[t]
        # The longest mode is the slowest one, the last of the others the fastest.
        n = order - 1
        while n >= 0:
            if n != longest:
                index[n] += 1
                if index[n] < sizes[n]:
                    break
                index[n] = 0
            n -= 1
        if n < 0:
            index[longest] += 1
    return out


@jit
def _balance(tensor, state):
    """Give the columns of a component about the same norm in all modes, by powers of two."""
    order, rank = len(state.grams), state.grams.shape[1]
    sizes, shifts = np.empty(order), np.empty(order)
    for f in range(rank):
        for n in range(order):
            sizes[n] = np.log2(np.sqrt(state.grams[n, f, f])) if state.grams[n, f, f] > 0 else -np.inf
        if not np.isfinite(sizes).all():
            continue
        for n in range(order):
            shifts[n] = np.rint(sizes.mean() - sizes[n])
        shifts[order - 1] -= shifts.sum()
        for n in range(order):
            state.rows[tensor.starts[n] : tensor.starts[n + 1], f] *= state.rows.dtype.type(
                2.0 ** shifts[n]
            )


@jit
def _adds_nothing(grams, max_distance):
    """Tell whether any component is zero, or the same as an earlier one."""
    order, rank = len(grams), grams.shape[1]
    sizes = np.ones(rank)
    for f in range(rank):
        for n in range(order):
            sizes[f] *= np.sqrt(grams[n, f, f])
    for f in range(rank):
        if not sizes[f] > max_distance * sizes.max():
            return True
        for g in range(f):
            congruence = 1.0
            for n in range(order):
                congruence *= abs(grams[n, f, g]) / np.sqrt(grams[n, f, f] * grams[n, g, g])
            if congruence > 1.0 - max_distance:
                return True
    return False
