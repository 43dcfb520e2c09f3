"""Fit one coupled factorization to a data set or a sample of it."""

from contextlib import nullcontext
from functools import partial
from itertools import chain
from math import isfinite, ldexp
from typing import NamedTuple

import numpy as np

from scoup import small
from scoup.compress import Compression, chosen_mode, compress
from scoup.constraints import Constraints
from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.factors import wrap
from scoup.listing import load, members
from scoup.machine import kernel_limit, require_dense, serial_blas
from scoup.records import Array, Clock, Factors, Fit, FitReport, Sample
from scoup.seeds import generator
from scoup.solvers import Solution, Step, Stopping, ignore
from scoup.specs import FitSpec
from scoup.start import PARAFAC_SWEEPS, TUCKER_SWEEPS, Draw, begin, candidates
from scoup.terms import Problem, block_losses, model_losses
from scoup.units import UNIT_HINT, Units


def fit(
    data: CoupledData,
    spec: FitSpec,
    seed: int = 0,
    start: Factors | None = None,
    on_step: Step = ignore,
) -> Fit:
    """Minimise ``sum_b w_b |W_b * (X_b - model)|^2`` over all factors of rank ``spec.rank``.

    Under ``spec.constraints`` the minimum is over non-negative factors, whatever the signs of the
    data. ``start`` replaces the start that ``spec.init`` names. Of several ``starts`` the one of
    lowest cost is returned, and the final cost of each is reported.

    >>> rng = np.random.default_rng(0)
    >>> A, B, C, D = (rng.standard_normal((n, 2)) for n in (6, 7, 8, 5))
    >>> data = CoupledData(np.einsum("if,jf,kf->ijk", A, B, C), {0: A @ D.T})
    >>> result = fit(data, FitSpec(rank=2), seed=0)
    >>> bool(result.report.cost < 1e-6 * data.blocks[0].norm2)
    True
    """
    solver = load("scoup.solvers", spec.solver)
    clock, needs_dense = Clock(), getattr(solver, "NEEDS_DENSE", False)
    require_dense("rank", (sum(data.sizes), spec.rank), data.dtype)
    if spec.constraints and not getattr(solver, "CONSTRAINABLE", False):
        raise ScoupError.expected("solver", _constrainable(), repr(spec.solver))
    if needs_dense:
        copies = 5 + spec.rank / min(data.shape)
        require_dense(f"solver {spec.solver!r}", data.shape, data.dtype, copies)
    # Large dense products use all threads of BLAS; the small matrices of other solvers do not gain.
    with nullcontext() if needs_dense else serial_blas():
        outcome = _solve(data, spec, seed, start, on_step, clock)
    return Fit(outcome.units.restore(outcome.factors), _report(data, spec, outcome, clock))


def fit_repetition(
    data: CoupledData, sample: Sample, spec: FitSpec, seed: int, threads: int = 1
) -> Fit:
    """Fit one sample of the data; the start depends on the seed and the repetition alone.

    Only rows in which the sample has a non-zero are fitted; the others are zero, which is exact. A
    sample without any non-zero gives a fit of zeros. The bytes do not depend on ``threads``.

    >>> data = CoupledData(np.zeros((3, 3, 3)), {0: np.zeros((3, 2))})
    >>> everything = tuple(np.arange(size) for size in data.sizes)
    >>> empty = fit_repetition(data, Sample(0, everything, everything), FitSpec(rank=1), seed=0)
    >>> [factor.shape for factor in empty.factors.flat], empty.factors.modes[0].any().item()
    ([(3, 1), (3, 1), (3, 1), (2, 1)], False)
    """
    return fit_part(data.select(sample.indices), sample.repetition, spec, seed, threads)


def fit_part(part: CoupledData, repetition: int, spec: FitSpec, seed: int, threads: int = 1) -> Fit:
    """Fit the data of one sample, see :func:`fit_repetition`."""
    with kernel_limit(threads), serial_blas():
        seed = repetition_seed(seed, repetition)
        masses = part.rows_with_mass()
        if all(mass.all() for mass in masses):
            return fit(part, spec, seed)
        rows = [np.flatnonzero(mass) if mass.any() else np.zeros(1, int) for mass in masses]
        sizes, dtype, owners = part.sizes, part.dtype, part.owners
        part = part.select(rows)  # the sample with its empty rows is released before the fit
        small = fit(part, spec, seed)
    flat = [np.zeros((size, spec.rank), dtype) for size in sizes]
    for factor, index, fitted in zip(flat, rows, small.factors.flat, strict=True):
        factor[index] = fitted
    return Fit(Factors.from_flat(small.factors.weights, flat, owners), small.report)


def repetition_seed(seed: int, repetition: int) -> int:
    """Return the seed for fitting repetition k: a function of (seed, k) alone.

    >>> repetition_seed(0, 3) == repetition_seed(0, 3) != repetition_seed(0, 4)
    True
    """
    return int(generator(seed, "fit", repetition).integers(2**62))


class _Outcome(NamedTuple):
    """The solution of each start, and the best of them on all rows with its losses, in units."""

    units: Units
    solutions: list[Solution]
    best: Solution
    factors: Factors
    losses: list[float]
    compressed: bool


def _solve(
    data: CoupledData,
    spec: FitSpec,
    seed: int,
    start: Factors | None,
    on_step: Step,
    clock: Clock,
) -> _Outcome:
    """Start, compress if that pays, solve from each start, and expand the best solution."""
    solver, units = load("scoup.solvers", spec.solver), Units.of(data)
    stopping = Stopping(spec.max_iter, spec.tol)
    if on_step is not ignore:
        stopping = stopping._replace(on_step=lambda cost: on_step(ldexp(cost, units.cost)))
    data, terms_units = units.in_range(data)
    constraints = Constraints.of(spec.constraints, data)
    if start is None and on_step is ignore and small.suits(data, spec):
        outcome = _solve_at_once(data, spec, seed, (units, terms_units), clock)
        if outcome is not None:
            return outcome
    with clock("start"):
        starts = candidates(data, spec, seed, units.divide(start) if start else None)
    compressible = getattr(solver, "COMPRESSIBLE", False)
    with clock("compress"):
        useful = compressible or (start is None and spec.init == "parafac")
        short, starts = _compress(data, spec, starts, compressible) if useful else (None, starts)
    with clock("arrange"):
        arranged = data if short is None else short.data
        problem = Problem.of(arranged, terms_units, constraints)
    with clock("start"):
        flats = [
            begin(problem, spec, draws, seed + number) if start is None else draws[0]()
            for number, draws in enumerate(starts)
        ]
        if short is not None and not compressible:
            flats = [_expanded(flat, short) for flat in flats]
            problem, short = Problem.of(data, terms_units, constraints), None
    with clock("solve"):
        solutions = [solver.solve(problem, flat, stopping) for flat in flats]
    with clock("finish"):
        best = min(solutions, key=lambda solution: solution.costs[-1])
        if short is None:
            factors = wrap(best.flat, data, constraints=constraints)
            losses = model_losses(problem.terms, factors)
        else:
            losses = block_losses(problem.terms, best.flat)
            factors = wrap(_expanded(best.flat, short), data, constraints=constraints)
            if data.dtype != np.float64:  # compression has lost digits that the loss needs
                losses = model_losses(Problem.of(data, terms_units).terms, factors)
    return _Outcome(units, solutions, best, factors, losses, short is not None)


def _solve_at_once(
    data: CoupledData, spec: FitSpec, seed: int, units: tuple[Units, Units], clock: Clock
) -> _Outcome | None:
    """Make all steps of a small fit in one call, or none; ``units`` are those before and after
    blocks of extreme size were scaled.
    """
    with clock("solve"):
        problem = Problem.of(data, units[1])
        solved = small.solve(problem, spec, seed)
    if solved is None:
        return None
    solution, compressed = solved
    with clock("finish"):
        factors = wrap(solution.flat, data)
        losses = model_losses(problem.terms, factors)
    return _Outcome(units[0], [solution], solution, factors, losses, compressed)


def _report(data: CoupledData, spec: FitSpec, outcome: _Outcome, clock: Clock) -> FitReport:
    """Report a fit in the units of the data; the last cost is that of the final losses."""
    units, best = outcome.units, outcome.best
    pairs = zip(units.weights, outcome.losses, strict=True)
    final_cost = sum(weight * loss for weight, loss in pairs)
    if not isfinite(final_cost):
        raise ScoupError.expected("fit", "numbers of moderate size", "an overflow", UNIT_HINT)
    costs = [*best.costs[:-1], final_cost]
    finals = [final_cost if s is best else s.costs[-1] for s in outcome.solutions]
    norms = [ldexp(b.norm2, -2 * e) for b, e in zip(data.blocks, units.blocks, strict=True)]
    names = [block.name for block in data.blocks]
    parts = list(zip(names, outcome.losses, norms, units.blocks, strict=True))
    return FitReport(
        losses=tuple(ldexp(cost, units.cost) for cost in costs),
        block_losses={name: ldexp(loss, 2 * exponent) for name, loss, _, exponent in parts},
        block_fits={name: 1.0 - loss / (norm or 1.0) for name, loss, norm, _ in parts},
        stop=best.stop,
        solver=spec.solver,
        compressed=outcome.compressed,
        starts=tuple(ldexp(cost, units.cost) for cost in finals),
        seconds=clock.seconds,
    )


def _compress(
    data: CoupledData, spec: FitSpec, starts: list[list[Draw]], sweeping: bool
) -> tuple[Compression | None, list[list[Draw]]]:
    """Compress the longest mode if requested, or by default if that pays.

    For the start alone, unless the solver is ``sweeping`` over what is compressed, too. The starts
    come back with coordinates of the long mode instead of its rows. A non-negative mode stays as it
    is, since coordinates do not show the sign of a row.
    """
    sweeps = spec.starts * (sweeping * spec.max_iter + PARAFAC_SWEEPS)
    if spec.init == "tucker":  # needs few sweeps over all data, and makes its own small problem
        sweeps = spec.starts * min(spec.max_iter, TUCKER_SWEEPS)
    mode = chosen_mode(data, spec.compress, spec.rank, sweeps)
    if mode is None or mode in Constraints.of(spec.constraints, data).nonnegative:
        return None, starts
    drawn = [[draw() for draw in draws] for draws in starts]
    short = compress(data, mode, [flat[mode] for flat in chain(*drawn)])
    rows = iter(short.starts)
    return short, [[partial(_swap, flat, mode, next(rows)) for flat in flats] for flats in drawn]


def _constrainable() -> str:
    names = members("scoup.solvers")
    kept = [n for n in names if getattr(load("scoup.solvers", n), "CONSTRAINABLE", False)]
    return f"one that keeps constraints ({', '.join(kept)})"


def _expanded(flat: list[Array], short: Compression) -> list[Array]:
    return _swap(flat, short.mode, short.expand(flat[short.mode]))


def _swap(flat: list[Array], position: int, factor: Array) -> list[Array]:
    return [*flat[:position], factor, *flat[position + 1 :]]
