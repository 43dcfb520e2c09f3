"""Fit a small problem in one compiled call, from the candidates of its start to the last sweep.

A fit of a sample or a fold takes milliseconds; a tenth as many calls leave little of it to Python,
which threads have to share. Steps are those of :mod:`scoup.start`, :mod:`scoup.compress` and
:mod:`scoup.solvers.als`, which take over where this one cannot be done: on data that is large,
incomplete, constrained or ill-conditioned.
"""

from dataclasses import replace
from itertools import pairwise
from math import prod
from threading import Lock

import numpy as np

from scoup import compress
from scoup.coupled import CoupledData
from scoup.kernels import blocks as layout
from scoup.kernels import whole
from scoup.kernels.fibres import read_only
from scoup.kernels.lapack import lapack
from scoup.kernels.loop import UNSAFE
from scoup.records import Array
from scoup.solvers import Solution, Stopping, _compiled, als
from scoup.solvers._compiled import ALL_ROWS, Core
from scoup.specs import FitSpec
from scoup.start import (
    CANDIDATE_SWEEPS,
    CANDIDATES,
    MAX_DISTANCE,
    PARAFAC_SWEEPS,
    PARAFAC_TOL,
    candidates,
    has_algebraic_start,
    slice_mixture,
)
from scoup.terms import Problem

# Largest unfolding of a long mode that is copied: larger ones are compressed in passes.
MAX_UNFOLDED_NUMBERS = 1 << 21
# Problems are laid out one at a time: two threads at once would wait for the interpreter, and wake
# one another, at each of many short calls.
_laying_out = Lock()


def suits(data: CoupledData, spec: FitSpec) -> bool:
    """Tell whether a fit of this kind may be made in one call.

    >>> suits(CoupledData(np.ones((2, 3, 4))), FitSpec(rank=1))
    True
    """
    plain = spec.solver == "als" and spec.init == "parafac" and spec.constraints is None
    return plain and spec.starts == 1 and not data.is_masked and not data.blocks[0].is_streamed


def solve(problem: Problem, spec: FitSpec, seed: int) -> tuple[Solution, bool] | None:
    """Return the solution and whether a mode was compressed; None if that was not possible.

    >>> data = CoupledData(np.random.default_rng(0).standard_normal((4, 5, 6)))
    >>> solution, compressed = solve(Problem.of(data), FitSpec(rank=2), seed=0)
    >>> [factor.shape for factor in solution.flat], compressed
    ([(4, 2), (5, 2), (6, 2)], False)
    """
    data, rank, core = problem.data, spec.rank, _core(problem.data, spec)
    if not problem.zero_cost or not _compiled.suits(problem, rank, core):
        return None
    if core is not ALL_ROWS and data.shape[core.mode] * core.length > MAX_UNFOLDED_NUMBERS:
        return None
    with _laying_out:
        drawn = [draw() for draw in candidates(data, spec, seed)[0]]
        blocks, cells = _compiled.lay_out(problem, core)
        state = _compiled.state_for(blocks, rank, data.dtype)
        start = _start(problem, blocks, state, drawn, core, seed)
        limits = als.limits_for(problem, Stopping(spec.max_iter, spec.tol), rank)
        long, costs = _long(problem, core, drawn, cells), np.zeros(spec.max_iter)
    done, outcome = whole.fit(lapack(), (blocks, state), long, start, limits, costs)
    if outcome == UNSAFE:
        return None
    flat = _compiled.factors_of(blocks, state)
    if core is not ALL_ROWS:
        flat[core.mode] = long.factor.astype(data.dtype, copy=False)
    reason = _compiled.REASONS[outcome] or "max_iter"
    return Solution(flat, costs[:done].tolist(), reason), core is not ALL_ROWS


def _core(data: CoupledData, spec: FitSpec) -> Core:
    """Return which mode is to be compressed, as :mod:`scoup.compress` decides, and to what."""
    sweeps = spec.max_iter + PARAFAC_SWEEPS
    mode = compress.chosen_mode(data, spec.compress, spec.rank, sweeps)
    if mode is None:
        return ALL_ROWS
    length = prod(data.shape) // data.shape[mode] + CANDIDATES * spec.rank
    return Core(mode, length + sum(b.shape[1] for b in data.blocks[1:] if mode in b.factors))


def _long(problem: Problem, core: Core, drawn: list[list[Array]], cells: Array) -> whole.Long:
    """Return the mode that is compressed, if any, with all that is unfolded by it."""
    data, mode = problem.data, core.mode
    if core is ALL_ROWS:
        nothing, unused = np.empty((0, 0)), np.empty(0, data.dtype)
        cube = read_only(np.empty((0, 0, 0), data.dtype))
        ends, pivot = np.zeros(1, int), compress.MIN_PIVOT
        return whole.Long(cube, nothing, ends, mode, pivot, unused, nothing)
    tensor = np.asarray(data.blocks[0].values)
    n, before = tensor.shape[mode], prod(tensor.shape[:mode])
    cube = tensor.reshape(before, n, -1)
    matrices = [np.asarray(block.values) for block in data.blocks[1:] if mode in block.factors]
    columns = np.hstack([*matrices, *(flat[mode] for flat in drawn)]).astype(float, copy=False)
    widths = [tensor.size // n, *(matrix.shape[1] for matrix in matrices)]
    ends = np.array([0, *np.cumsum(widths), core.length])
    factor = np.empty((n, drawn[0][mode].shape[1]))
    return whole.Long(read_only(cube), columns, ends, mode, compress.MIN_PIVOT, cells, factor)


def _start(
    problem: Problem,
    blocks: layout.Blocks,
    state: layout.State,
    drawn: list[list[Array]],
    core: Core,
    seed: int,
) -> whole.Start:
    """Return the candidates, and the tensor alone, which they are tried on."""
    data, (rank, columns) = problem.data, (state.grams.shape[1], state.rows.shape[1])
    tensor, shape = _compiled.tensor_part(blocks, problem), core.shape(problem.terms[0])
    rows = np.zeros((1 + len(drawn), tensor.starts[-1], columns), data.dtype)
    for candidate, flat in zip(rows[1:], drawn, strict=True):
        for mode, (first, last) in enumerate(pairwise(tensor.starts.tolist())):
            if mode != core.mode:
                candidate[first:last, :rank] = flat[mode]
    slices = prod(sorted(shape)[:-2]) if has_algebraic_start(data, shape, rank) else 0
    *others, row, column = np.argsort(shape, kind="stable").tolist()
    alone = replace(problem, terms=problem.terms[:1])
    return whole.Start(
        rows,
        slice_mixture(seed, slices),
        np.array([row, column, *sorted(others)]),
        tensor,
        layout.State(
            state.rows[: tensor.starts[-1]],
            state.grams[: data.ndim],
            state.partials[: prod(shape) // max(shape)],
            state.fresh[:1],
        ),
        CANDIDATE_SWEEPS,
        PARAFAC_SWEEPS,
        als.limits_for(alone, Stopping(PARAFAC_SWEEPS, PARAFAC_TOL), rank),
        MAX_DISTANCE,
    )
