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
from scoup.kernels.loop import NONE, UNSAFE, Limits, run_best, run_sweeps, set_grams
from scoup.kernels.rows import inlined, jit
from scoup.records import Array


class Start(NamedTuple):
    """Where a fit starts.

    - ``rows``: (candidates, mode rows, columns), the factors of each candidate, padded as those of
      a state; the first is set here, by eigenvectors where that is possible;
    - ``mixture``: (K, 2), random weights of slices for it, none if it is not possible;
    - ``modes``: the order of modes in which it sees the tensor;
    - ``tensor``, ``state``: the first parts of the blocks and of the state, for the tensor alone;
    - ``tries``, ``sweeps``: sweeps from each candidate, and from the best of them;
    - ``limits``: when those stop; ``max_distance`` is how close to 1 or 0 the congruence or the
      relative size of a component is that adds nothing.
    """

    rows: Array
    mixture: Array
    modes: Array
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
    - ``core``: where the cells of the problem's blocks are written;
    - ``factor``: where its factor is written, (n, F), empty if there is nothing to compress.
    """

    cells: Array
    columns: Array
    ends: Array
    mode: int
    min_pivot: float
    core: Array
    factor: Array


@jit
def fit(lapack, problem, long, start, limits, costs):
    """Fit the tensor from each candidate, then all blocks from the best.

    A ``problem`` is its blocks and the state, which holds the result. Return how many sweeps over
    all blocks were made, and why no more; where a step is unsafe, or a component of the start adds
    nothing, that is :data:`UNSAFE`, and nothing is of use.

    With a mode to compress, ``Z = [cells, matrices, candidates]``, unfolded by it, has ``Z' Z = R'
    R`` but for a scale of each part. The core is R, and the rows of the factor are ``Z R^-1 M``.
    """
    (blocks, state), factor = problem, long.factor
    rows, root, scale = long.columns, np.empty((0, 0)), np.empty(0)
    if factor.size:
        rows, root, scale = _square_root(lapack, long)
        if not root.size:
            return 0, UNSAFE
        _set_core(blocks, long, start.rows[1:], root, scale)
    first = 0 if start.mixture.size and _set_algebraic(lapack, start) else 1
    tensor, best = start.tensor, start.state
    cost = run_best(tensor, best, start.limits, start.rows[first:], start.tries, start.sweeps)
    if not cost >= 0:
        return 0, UNSAFE
    _balance(tensor, best)
    set_grams(tensor, best)
    if _adds_nothing(best.grams, start.max_distance):
        return 0, UNSAFE
    for block in range(len(state.fresh)):
        state.fresh[block] = False
    sides = np.int64(len(best.grams))
    if run_sweeps(blocks, state, limits, costs, (NONE, np.int64(1)), sides)[1] == UNSAFE:
        return 0, UNSAFE
    done, outcome = run_sweeps(blocks, state, limits, costs, (NONE, costs.size), NONE)
    if factor.size and outcome != UNSAFE:
        _expand(rows, root, scale, state.rows[blocks.starts[long.mode] :], factor)
    return done, outcome


@jit
def _square_root(lapack, long):
    """Return Z, R and the scale of its columns; an empty R if it is close to singular."""
    pre, n, post = long.cells.shape
    count, size = pre * post, pre * post + long.columns.shape[1]
    rows, root, scale = np.empty((n, size)), np.zeros((size, size)), np.empty(size)
    unfold(0, long.cells, rows)
    for j in range(n):
        for c in range(long.columns.shape[1]):
            rows[j, count + c] = long.columns[j, c]
    add_gram(lapack, rows, root)
    for part in range(long.ends.size - 1):
        total = 0.0
        for c in range(long.ends[part], long.ends[part + 1]):
            total += root[c, c]
        for c in range(long.ends[part], long.ends[part + 1]):
            scale[c] = 1.0 / np.sqrt(total) if total > 0 else 1.0
    for r in range(size):
        for c in range(r, size):
            root[r, c] *= scale[r] * scale[c]
    diagonal = np.empty(size)
    for r in range(size):
        diagonal[r] = root[r, r]
    regular = cholesky(lapack, root)
    for r in range(size):
        regular &= root[r, r] ** 2 > long.min_pivot * diagonal[r]
    return rows, root if regular else np.empty((0, 0)), scale


@jit
def _set_core(blocks, long, candidates, root, scale):
    """Write the core of each block with the long mode, and the rows of each candidate."""
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
    rank, at = (len(root) - first) // len(candidates), blocks.starts[long.mode]
    for n in range(len(candidates)):
        for f in range(rank):
            for r in range(first + 1):
                candidates[n, at + r, f] = root[r, first] / scale[first]
            first += 1


@jit
def _expand(rows, root, scale, solution, factor):
    """Set ``factor`` to the rows ``Z R^-1 M`` of a solution M."""
    rank, inner = factor.shape[1], np.zeros((len(root), factor.shape[1]))
    for r in range(len(root) - 1, -1, -1):
        for f in range(rank):
            inner[r, f] = solution[r, f]
        for c in range(r + 1, len(root)):
            for f in range(rank):
                inner[r, f] -= root[r, c] * inner[c, f]
        for f in range(rank):
            inner[r, f] /= root[r, r]
    for r in range(len(root)):
        for f in range(rank):
            inner[r, f] *= scale[r]
    factor[:] = np.dot(rows, inner)


@inlined
def _set_algebraic(lapack, start):
    """Set the first candidate; return whether that is possible."""
    starts, rank, modes = start.tensor.starts, start.state.grams.shape[1], start.modes
    sizes = np.empty(modes.size, np.int64)
    for n in range(modes.size):
        sizes[n] = starts[modes[n] + 1] - starts[modes[n]]
    cells, others = _gather(start.tensor, modes, sizes), sizes[2:]
    first, second = np.empty((sizes[0], rank)), np.empty((sizes[1], rank))
    rest, mixture = np.empty((np.sum(others), rank)), start.mixture
    if not algebraic_factors(lapack, cells, others, mixture, (first, second, rest)):
        return False
    target, at, unit = start.rows[0], 0, start.tensor.numbers[0, UNIT]
    for f in range(rank):
        for i in range(len(first)):
            target[starts[modes[0]] + i, f] = first[i, f]
        for i in range(len(second)):
            target[starts[modes[1]] + i, f] = second[i, f] * unit
        at = 0
        for n in range(2, modes.size):
            for i in range(sizes[n]):
                target[starts[modes[n]] + i, f] = rest[at + i, f]
            at += sizes[n]
    return True


@jit
def _gather(tensor, modes, sizes):
    """Return the cells (I, J, K) of a dense tensor with two of its modes in front."""
    order, longest, count = modes.size, tensor.table[0, LONGEST], tensor.table[0, CELLS]
    out = np.empty(count)
    # Steps in the result; the longest mode is the slowest one of the cells, the last the fastest.
    steps, index = np.empty(order, np.int64), np.zeros(order, np.int64)
    lengths, step = np.empty(order, np.int64), 1
    for n in range(order - 1, -1, -1):
        steps[modes[n]], lengths[modes[n]] = step, sizes[n]
        step *= sizes[n]
    at = 0
    for t in range(count):
        out[at] = tensor.values[t]
        for k in range(order - 1, -2, -1):
            n = longest if k < 0 else k
            if k == longest:
                continue
            index[n] += 1
            at += steps[n]
            if index[n] < lengths[n]:
                break
            at -= steps[n] * index[n]
            index[n] = 0
    return out.reshape(sizes[0], sizes[1], count // (sizes[0] * sizes[1]))


@jit
def _balance(tensor, state):
    """Give the columns of a component about the same norm in all modes, by powers of two."""
    order, rank, dtype = len(state.grams), state.grams.shape[1], state.rows.dtype
    for f in range(rank):
        mean, left = 0.0, 0.0
        for n in range(order):
            mean += np.log2(np.sqrt(state.grams[n, f, f])) / order
        if not np.isfinite(mean):
            continue
        for n in range(order):
            shift = np.rint(mean - np.log2(np.sqrt(state.grams[n, f, f])))
            shift = -left if n == order - 1 else shift
            left += shift
            for i in range(tensor.starts[n], tensor.starts[n + 1]):
                state.rows[i, f] *= dtype.type(2.0**shift)


@jit
def _adds_nothing(grams, max_distance):
    """Tell whether any component is zero, or the same as an earlier one."""
    order, rank = len(grams), grams.shape[1]
    sizes, largest = np.ones(rank), 0.0
    for f in range(rank):
        for n in range(order):
            sizes[f] *= np.sqrt(grams[n, f, f])
        largest = max(largest, sizes[f])
    for f in range(rank):
        if not sizes[f] > max_distance * largest:
            return True
        for g in range(f):
            congruence = 1.0
            for n in range(order):
                congruence *= abs(grams[n, f, g]) / np.sqrt(grams[n, f, f] * grams[n, g, g])
            if congruence > 1.0 - max_distance:
                return True
    return False
