"""Lay out a small problem for the compiled sweeps of :mod:`scoup.kernels.loop`, and run them."""

from collections.abc import Sequence
from itertools import pairwise
from math import ldexp, prod
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from scoup.kernels import blocks as layout
from scoup.kernels import loop
from scoup.kernels.fibres import read_only
from scoup.machine import MIN_PARALLEL_STEPS
from scoup.records import Array
from scoup.solvers import Stopping, ignore
from scoup.tensor import SparseTensor
from scoup.terms import Problem, Term, relative_weights

# Largest passes, in inner steps: larger ones run on several threads. Listed cells count more where
# rows take several vectors: the other path, which sorts the cells for each mode, reads them once.
MAX_STEPS = MIN_PARALLEL_STEPS
MANY_VECTORS_CELL_STEPS = 8
# Problems are laid out once: several starts are tried on the same one.
_layouts: WeakKeyDictionary[Problem, layout.Blocks] = WeakKeyDictionary()
REASONS = {loop.MAX_SWEEPS: "", loop.CONVERGED: "converged", loop.EXACT: "exact", loop.UNSAFE: ""}


class Core(NamedTuple):
    """A long ``mode`` that has coordinates instead of its rows, see :mod:`scoup.compress`."""

    mode: int
    length: int

    def shape(self, term: Term) -> tuple[int, ...]:
        """Return the shape of a term's core."""
        sizes = zip(term.factors, term.block.shape, strict=True)
        return tuple(self.length if n == self.mode else size for n, size in sizes)


ALL_ROWS = Core(-1, 0)


def suits(problem: Problem, rank: int, core: Core = ALL_ROWS) -> bool:
    """Tell whether a problem is in memory, small at this rank, complete and in one precision.

    >>> from scoup.coupled import CoupledData
    >>> suits(Problem.of(CoupledData(np.ones((2, 2, 2)))), rank=1)
    True
    """
    if problem.masked or any(term.block.is_streamed for term in problem.terms):
        return False
    if rank * sum(_steps(term, rank, core) for term in problem.terms) > MAX_STEPS:
        return False
    return {term.block.values.dtype for term in problem.terms} == {problem.data.dtype}


def sweep(
    problem: Problem, flat: list[Array], stopping: Stopping, limits: loop.Limits
) -> tuple[list[float], str]:
    """Sweep in place until the cost stops falling, or a sweep is unsafe and was not made.

    Return the costs and why it stopped, '' if there is more to do.

    >>> from scoup.coupled import CoupledData
    >>> flat = [np.ones((2, 1)) for _ in range(3)]
    >>> limits = loop.Limits(1e-6, 1e-12, 1e-9, 1e-8, 1e9, 1e3, 1e-14, 1e3)
    >>> sweep(Problem.of(CoupledData(np.full((2, 2, 2), 5.0))), flat, Stopping(9, 1e-6), limits)
    ([0.0], 'exact')
    """
    blocks = _layout(problem)
    state = _started(blocks, flat)
    costs = np.zeros(stopping.max_iter)
    done, outcome = 0, loop.MAX_SWEEPS
    # Whoever wants to know each cost wants it when it is known.
    step = stopping.max_iter if stopping.on_step is ignore else 1
    while done < stopping.max_iter and outcome == loop.MAX_SWEEPS:
        last = done
        done, outcome = loop.run_sweeps(
            blocks, state, limits, costs, (done, done + step), loop.NONE
        )
        for cost in costs[last:done].tolist():
            stopping.on_step(cost)
    flat[:] = factors_of(blocks, state)
    return costs[:done].tolist(), REASONS[outcome]


def sweep_from_best(
    problem: Problem,
    flats: Sequence[Sequence[Array]],
    counts: tuple[int, int],
    limits: loop.Limits,
    tensor_alone: bool = False,
) -> tuple[list[Array], float] | None:
    """Return where sweeps from the best of several starts end, and the cost there.

    None if a sweep is unsafe. ``counts`` are the sweeps from each start, by which the best is
    chosen, and those that follow.

    >>> from scoup.coupled import CoupledData
    >>> starts = [[np.full((2, 1), number) for _ in range(3)] for number in (0.0, 1.0)]
    >>> limits = loop.Limits(1e-6, 1e-12, 1e-9, 1e-8, 1e9, 1e3, 1e-14, 1e3)
    >>> problem = Problem.of(CoupledData(np.full((2, 2, 2), 5.0)))
    >>> modes, cost = sweep_from_best(problem, starts, (1, 2), limits)
    >>> [mode[0].round(9).tolist() for mode in modes], cost
    ([[5.0], [1.0], [1.0]], 0.0)
    """
    blocks = _layout(problem)
    blocks = tensor_part(blocks, problem) if tensor_alone else blocks
    state = _started(blocks, flats[0])
    starts = np.stack([_padded(flat) for flat in flats])
    cost = loop.run_best(blocks, state, limits, starts, *counts)
    return (factors_of(blocks, state), cost) if cost >= 0 else None


def with_sides(problem: Problem, flat: Sequence[Array], limits: loop.Limits) -> list[Array] | None:
    """Return the factors with the sides set by least squares; None if that is unsafe.

    >>> from scoup.coupled import CoupledData
    >>> problem = Problem.of(CoupledData(np.ones((2, 2, 2)), {0: np.full((2, 1), 7.0)}))
    >>> limits = loop.Limits(1e-6, 1e-12, 1e-9, 1e-8, 1e9, 1e3, 1e-14, 1e3)
    >>> flat = [np.ones((size, 1)) for size in problem.data.sizes]
    >>> with_sides(problem, flat, limits)[3].round(9).tolist()
    [[7.0]]
    """
    blocks = _layout(problem)
    state = _started(blocks, flat)
    first = problem.data.ndim
    _, outcome = loop.run_sweeps(blocks, state, limits, np.zeros(1), (0, 1), first)
    return None if outcome == loop.UNSAFE else factors_of(blocks, state)


def _layout(problem: Problem) -> layout.Blocks:
    if problem not in _layouts:
        _layouts[problem] = lay_out(problem)[0]
    return _layouts[problem]


def tensor_part(whole: layout.Blocks, problem: Problem) -> layout.Blocks:
    """Return the layout of the tensor alone: the first part of each array."""
    tensor, order = problem.terms[:1], problem.data.ndim
    cells = int(whole.table[0, layout.CELLS])
    return layout.Blocks(
        whole.values[:cells],
        whole.coords[: cells * order],
        whole.table[:1],
        whole.numbers[:1],
        _shares(tensor, order),
        whole.starts[: order + 1],
        whole.nonnegative[:order],
    )


def _padded(flat: Sequence[Array]) -> Array:
    """Return all factors, one below the other, with zeros up to whole vectors."""
    rows = np.concatenate(flat)
    columns = -(-rows.shape[1] // layout.WIDTH) * layout.WIDTH
    padded = np.zeros((len(rows), columns), rows.dtype)
    padded[:, : rows.shape[1]] = rows
    return padded


def factors_of(blocks: layout.Blocks, state: layout.State) -> list[Array]:
    """Return the factors in ``state``, without padding."""
    rank, spans = state.grams.shape[1], pairwise(blocks.starts.tolist())
    return [np.ascontiguousarray(state.rows[first:last, :rank]) for first, last in spans]


def _steps(term: Term, rank: int, core: Core) -> int:
    """Return the cells that a pass over a term reads, in the time of dense ones."""
    values = term.block.in_memory
    if not isinstance(values, SparseTensor):
        return prod(core.shape(term))
    return values.nnz * (MANY_VECTORS_CELL_STEPS if rank > layout.WIDTH else 1)


def lay_out(problem: Problem, core: Core = ALL_ROWS) -> tuple[layout.Blocks, Array]:
    """Lay the data of the terms out as :class:`~scoup.kernels.blocks.Blocks` describes.

    Return also its cells to write to. Where a term has a core, its cells are zeros.
    """
    terms = problem.terms
    sizes = list(problem.data.sizes[: 1 + max(max(term.factors) for term in terms)])
    if core.mode >= 0:
        sizes[core.mode] = core.length
    most_modes = max(len(term.factors) for term in terms)
    table: list[list[int]] = []
    values: list[Array] = []
    coords = [np.empty(0, np.int32)]
    ends = [0, 0, 0]  # of values, coordinates and partial products
    for term in terms:
        shape, is_sparse, cells = core.shape(term), term.block.is_sparse, term.block.in_memory
        if core.mode in term.factors:
            cells = np.zeros(shape, cells.dtype)
        longest, order, starts = shape.index(max(shape)), len(shape), tuple(ends)
        if isinstance(cells, SparseTensor):
            values.append(cells.values)
            coords.append(cells.coords.astype(np.int32, copy=False).reshape(-1))
            ends[1] += coords[-1].size
        else:
            values.append(np.moveaxis(cells, longest, 0).reshape(-1))
            ends[2] += cells.size // max(shape)
        ends[0] += values[-1].size
        padding = [0] * (most_modes - order)
        triangular = core.mode >= 0 and not table  # the tensor's root
        line = [is_sparse, order, longest, values[-1].size, *starts, triangular, *term.factors]
        table.append([*line, *padding])
    numbers = [(term.weight, term.norm2, ldexp(1.0, -term.exponent)) for term in terms]
    joined = _joined(values)
    blocks = layout.Blocks(
        read_only(joined),
        read_only(_joined(coords[1:] or coords)),
        np.array(table, np.int64),
        np.array(numbers),
        _shares(terms, len(sizes)),
        np.concatenate([[0], np.cumsum(sizes)]),
        np.array([position in problem.constraints.nonnegative for position in range(len(sizes))]),
    )
    return blocks, joined


def _joined(parts: Sequence[Array]) -> Array:
    """Concatenate, without a copy if there is one part."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _shares(terms: Sequence[Term], factors: int) -> Array:
    """Return the weights of blocks in the normal equations of each factor, (factors, blocks)."""
    shares = np.zeros((factors, len(terms)))
    for position in range(factors):
        involved = [n for n, term in enumerate(terms) if position in term.factors]
        shares[position, involved] = relative_weights([terms[n].weight for n in involved])
    return shares


def state_for(blocks: layout.Blocks, rank: int, dtype: np.dtype) -> layout.State:
    """Return a state with factors of zeros, of which nothing else is known yet."""
    lengths = np.diff(blocks.starts).tolist()
    dense = [line for line in blocks.table.tolist() if not line[layout.IS_SPARSE]]
    products = sum(
        line[layout.CELLS] // lengths[line[layout.FACTORS_AT + line[layout.LONGEST]]]
        for line in dense
    )
    columns = -(-rank // layout.WIDTH) * layout.WIDTH
    return layout.State(
        np.zeros((int(blocks.starts[-1]), columns), dtype),
        np.empty((len(lengths), rank, rank)),
        np.empty((products, columns), dtype),
        np.zeros(len(blocks.table), np.bool_),
    )


def _started(blocks: layout.Blocks, flat: Sequence[Array]) -> layout.State:
    """Return the start of the sweeps."""
    state = state_for(blocks, flat[0].shape[1], flat[0].dtype)
    state = state._replace(rows=_padded(flat))
    loop.set_grams(blocks, state)
    return state
