"""Alternating least squares by the lemma: an F x F solve and an MTTKRP for each factor.

    [A (.) B; M]^+ = (A'A * B'B + M'M)^+ [(A (.) B)', M']

Missing cells are left out exactly: each row then has its own F x F system. Such sweeps cost more
and converge more slowly. So a start that explains nothing is first improved on a small complete
problem (:class:`~scoup.solvers._filled.Filled`), and each sweep starts further along the last step
(:class:`~scoup.solvers._strides.Strides`). Without missing cells the iterates are those of
Algorithm 1.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from scoup import kernels
from scoup.constraints import Constraints
from scoup.kernels.loop import Limits
from scoup.normal import CUTOFF_EPS, MAX_INVERSE, MAX_SCALE_RATIO, Update, solve_normal
from scoup.records import Array
from scoup.solvers import Solution, Stopping, _compiled, _nonnegative
from scoup.solvers._equations import Equations
from scoup.solvers._filled import Filled, explains, pays
from scoup.solvers._strides import Strides
from scoup.terms import MAX_CANCELLATION, Problem, Term, grams_of, weighted

COMPRESSIBLE = CONSTRAINABLE = True

# Sweeps over the small problem that stands for one with missing cells: from each of a few starts,
# since one may end in a poor local minimum, and from the best of them.
WARM_UP_STARTS = 4
WARM_UP_SWEEPS, WARM_UP_TOL = (10, 500), 1e-5
# A sweep that raises the cost by more than this multiple of rounding errors is undone, unless the
# last factors take too much memory to be kept.
MAX_RISE = 1e3
MAX_KEPT_BYTES = 1 << 26
# The ALS update: the exact minimiser over all rows of one factor.
least_squares: Update = solve_normal


def exact_updates(constraints: Constraints, count: int) -> Sequence[Update]:
    """Return the update of each of ``count`` factors that minimises the cost over it.

    >>> exact_updates(Constraints(), 2) == [least_squares, least_squares]
    True
    """
    return constraints.choose(least_squares, _nonnegative.minimise, count)


def solve(
    problem: Problem,
    flat: list[Array],
    stopping: Stopping,
    update: Update = least_squares,
    bounded: Update = _nonnegative.improve,
) -> Solution:
    """Sweep until the cost changes by less than ``tol`` of itself.

    ``max_iter`` counts rejected sweeps too; the costs are those of accepted sweeps and never rise.
    Non-negative factors are updated by ``bounded``.

    >>> from scoup.coupled import CoupledData
    >>> start = [np.ones((2, 1)) for _ in range(3)]
    >>> solve(Problem.of(CoupledData(np.ones((2, 2, 2)))), start, Stopping(10, 1e-6)).stop
    'exact'
    """
    costs, reason = compiled_sweeps(problem, flat, stopping, [update])
    if reason or len(costs) == stopping.max_iter:
        return Solution(flat, costs, reason or "max_iter")
    strides, bounds = None, problem.constraints
    if problem.masked and update is least_squares:
        strides = Strides(flat, bounds.nonnegative, near=warm_up(problem, flat))
    grams, updates = grams_of(flat), bounds.choose(update, bounded, len(flat))
    keep_last = sum(factor.nbytes for factor in flat) <= MAX_KEPT_BYTES
    for _ in range(stopping.max_iter - len(costs)):
        last_flat = list(flat) if keep_last else []
        order = strides.set_out(flat, grams) if strides else None
        cost = weighted(problem.terms, sweep(problem.terms, flat, grams, order, updates))
        if strides and not strides.accept(cost, flat, grams):
            continue
        if keep_last and costs and not cost <= costs[-1] + MAX_RISE * problem.rounding:
            flat[:], reason = last_flat, "converged"  # the systems have no digits left
            break
        costs.append(cost)
        stopping.on_step(cost)
        if reason := stopping.reason(costs, problem.rounding):
            break
    return Solution(flat, costs, reason or "max_iter")


def compiled_sweeps(
    problem: Problem, flat: list[Array], stopping: Stopping, updates: Sequence[Update]
) -> tuple[list[float], str]:
    """Make the sweeps over a small problem in one compiled call; see :mod:`scoup.kernels.loop`.

    Return the costs and why it stopped, '' if there is more to do: where a problem is large,
    incomplete or ill-conditioned, or ``updates`` are others than least squares.

    >>> from scoup.coupled import CoupledData
    >>> flat, stopping = [np.ones((2, 1)) for _ in range(3)], Stopping(9, 1e-6)
    >>> problem = Problem.of(CoupledData(np.full((2, 2, 2), 5.0)))
    >>> compiled_sweeps(problem, flat, stopping, [least_squares])
    ([0.0], 'exact')
    """
    rank, same_type = flat[0].shape[1], flat[0].dtype == problem.data.dtype
    if {*updates} != {least_squares} or not same_type or not _compiled.suits(problem, rank):
        return [], ""
    return _compiled.sweep(problem, flat, stopping, limits_for(problem, stopping, rank))


def warm_up(problem: Problem, flat: list[Array]) -> list[int] | None:
    """Replace a start that explains nothing, in place, by the end of sweeps over a small problem.

    Return the order of the first sweep if the start is close to a minimum then. The longest factor
    of the small problem's end needs no update yet. Small and sparse problems stay as they are.

    >>> from scoup.coupled import CoupledData
    >>> flat = [np.full((n, 1), 100.0) for n in (30, 800, 3)]
    >>> known = np.random.default_rng(0).random((30, 800, 3)) < 0.9
    >>> warm_up(Problem.of(CoupledData(np.ones((30, 800, 3)), tensor_mask=known)), flat)
    [0, 2]
    >>> round(float(np.prod([factor[0, 0] for factor in flat])), 1)
    1.0
    """
    if not pays(problem):
        return None
    if explains(problem, flat):
        return list(range(len(flat)))
    filled = Filled.of(problem, flat[0].shape[1])
    if filled is None:
        return None
    draws = [partial(filled.shrink, flat, number) for number in range(WARM_UP_STARTS)]
    end = solve_from_best(filled.problem, draws, flat[0].shape[1], WARM_UP_SWEEPS, WARM_UP_TOL)
    if not end.costs[-1] < filled.problem.zero_cost:
        return None
    flat[:] = filled.expand(end.flat)
    return [position for position in range(len(flat)) if position != filled.longest]


def solve_from_best(
    problem: Problem,
    draws: Sequence[Callable[[], list[Array]]],
    rank: int,
    counts: tuple[int, int],
    tol: float,
    coupled: Problem | None = None,
) -> Solution:
    """Sweep from the best of several starts.

    ``counts`` are the sweeps from each start, by which the best is chosen, and those that follow.
    If the problem is the tensor of a ``coupled`` one, their layouts are shared.

    >>> from scoup.coupled import CoupledData
    >>> draws = [lambda: [np.ones((2, 1)) for _ in range(3)]] * 2
    >>> solve_from_best(Problem.of(CoupledData(np.ones((2, 2, 2)))), draws, 1, (1, 9), 1e-6).costs
    [0.0]
    """
    trial, rest = (Stopping(count, tol) for count in counts)
    known = [p for p in (coupled, problem) if p is not None and _compiled.suits(p, rank)]
    if known:
        flats, limits = [draw() for draw in draws], limits_for(problem, rest, rank)
        alone = known[0] is coupled
        end = _compiled.sweep_from_best(known[0], flats, counts, limits, tensor_alone=alone)
        if end is not None:
            return Solution(end[0], [end[1]], "")
    # A lazy minimum: only the best so far and the start at hand are in memory.
    trials = (solve(problem, draw(), trial) for draw in draws)
    return solve(problem, min(trials, key=lambda solution: solution.costs[-1]).flat, rest)


def improve_start(problem: Problem, flat: list[Array]) -> None:
    """Set the first mode and the sides by least squares, in place.

    For solvers whose steps are small: no start is then worse than a model of zeros.

    >>> from scoup.coupled import CoupledData
    >>> flat = [np.full((2, 1), 100.0) for _ in range(3)]
    >>> improve_start(Problem.of(CoupledData(np.ones((2, 2, 2)))), flat)
    >>> bool(np.allclose(flat[0], 1e-4))
    True
    """
    positions = [0, *range(problem.data.ndim, len(flat))]
    updates = exact_updates(problem.constraints, len(flat))
    sweep(problem.terms, flat, grams_of(flat), positions, updates)


def sweep(
    terms: Sequence[Term],
    flat: list[Array],
    grams: list[Array],
    positions: Sequence[int] | None = None,
    update: Update | Sequence[Update] = least_squares,
) -> list[float]:
    """Update each factor once, in place, modes first, then sides; return the loss of each term.

    ``update`` is that of all factors, or one per factor. The cost ``sum_b w_b loss_b`` never rises,
    since every update lowers it over one factor.

    >>> from scoup.coupled import CoupledData
    >>> flat = [np.ones((2, 1)) for _ in range(3)]
    >>> sweep(Problem.of(CoupledData(np.full((2, 2, 2), 5.0))).terms, flat, grams_of(flat))
    [0.0]
    >>> flat[0].round(9).tolist()
    [[5.0], [5.0]]
    """
    order = list(range(len(flat)) if positions is None else positions)
    losses = [0.0] * len(terms)
    for finished in updates_of(terms, flat, grams, order, update):
        for number, loss in finished.items():
            losses[number] = loss
    return losses


def updates_of(
    terms: Sequence[Term],
    flat: list[Array],
    grams: list[Array],
    order: Sequence[int],
    update: Update | Sequence[Update] = least_squares,
) -> Iterator[dict[int, float]]:
    """Make the updates of a sweep; after each, yield the losses that no later one changes.

    >>> from scoup.coupled import CoupledData
    >>> flat = [np.ones((2, 1)) for _ in range(3)]
    >>> terms = Problem.of(CoupledData(np.full((2, 2, 2), 5.0))).terms
    >>> list(updates_of(terms, flat, grams_of(flat), [0, 1, 2]))
    [{}, {}, {0: 0.0}]
    """
    for count, position in enumerate(order, start=1):
        change = update if callable(update) else update[position]
        yield _update_factor(terms, flat, grams, position, order[count:], change)


def _update_factor(
    terms: Sequence[Term],
    flat: list[Array],
    grams: list[Array],
    position: int,
    later: Sequence[int],
    update: Update,
) -> dict[int, float]:
    """Update one factor; return the loss of each term that no ``later`` update changes.

    A separate function, so that the equations are released before the next ones are formed.
    """
    equations = Equations(terms, flat, grams, position, later)
    flat[position] = equations.solve(flat, update)
    grams[position] = kernels.gram(flat[position])
    return equations.losses(flat, grams)


def limits_for(problem: Problem, stopping: Stopping, rank: int) -> Limits:
    """Return when the compiled sweeps stop: exactly when those of :func:`solve` do.

    >>> from scoup.coupled import CoupledData
    >>> limits_for(Problem.of(CoupledData(np.ones((2, 2, 2)))), Stopping(9, 1e-6), 1).tol
    1e-06
    """
    dtype, floor = problem.data.dtype, problem.rounding
    return Limits(
        tol=float(stopping.tol),
        floor=floor,
        max_rise=MAX_RISE * floor,
        min_pivot=kernels.MIN_PIVOT[dtype],
        max_inverse=MAX_INVERSE * float(np.finfo(dtype).max),
        max_cancellation=MAX_CANCELLATION,
        cutoff=CUTOFF_EPS * rank * float(np.finfo(dtype).eps),
        max_scale_ratio=MAX_SCALE_RATIO,
    )
