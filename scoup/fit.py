"""Fit one coupled factorization to a data set or a sample of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from numpy.typing import NDArray

from scoup import start as starting
from scoup.clock import Clock
from scoup.compress import Compression, compress, longest, pays
from scoup.coupled import CoupledData
from scoup.factors import wrap
from scoup.memory import require_dense
from scoup.records import Factors, Fit, FitReport, Sample
from scoup.seeds import generator
from scoup.solvers import TERM_SOLVERS, reference
from scoup.specs import FitSpec
from scoup.start import Draw
from scoup.terms import Term, block_losses, terms_of
from scoup.threads import one_thread, serial_blas

Array = NDArray[Any]
Step = Callable[[float], None]


def fit(
    data: CoupledData,
    spec: FitSpec,
    seed: int = 0,
    start: Factors | None = None,
    on_step: Step = lambda cost: None,
) -> Fit:
    """Minimise ``sum_b w_b |W_b * (X_b - model)|^2`` over all factors of rank ``spec.rank``.

    ``start`` replaces the start that ``spec.init`` names. Of several ``starts`` the one of
    lowest cost is returned, and the final cost of each is reported.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> A, B, C, D = (rng.standard_normal((n, 2)) for n in (6, 7, 8, 5))
    >>> data = CoupledData(np.einsum("if,jf,kf->ijk", A, B, C), {0: A @ D.T})
    >>> result = fit(data, FitSpec(rank=2), seed=0)
    >>> bool(result.report.cost < 1e-6 * data.blocks[0].norm2)
    True
    """
    clock = Clock()
    if spec.solver == "reference":
        require_dense(
            "solver 'reference'", data.shape, data.dtype, copies=4 + spec.rank / min(data.shape)
        )
    # The printed algorithm is timed against the others and keeps all threads of its large products.
    with nullcontext() if spec.solver == "reference" else serial_blas():
        flat, runs, losses, compressed = _fit(data, spec, seed, start, on_step, clock)
    best = min(runs, key=lambda run: run.costs[-1])
    report = FitReport(
        losses=tuple(best.costs),
        block_losses={block.name: loss for block, loss in zip(data.blocks, losses, strict=True)},
        block_fits={
            b.name: 1.0 - loss / (b.norm2 or 1.0)
            for b, loss in zip(data.blocks, losses, strict=True)
        },
        stop=best.stop,
        solver=spec.solver,
        compressed=compressed,
        starts=tuple(run.costs[-1] for run in runs),
        seconds=clock.seconds,
    )
    return Fit(wrap(flat, data), report)


class Run(NamedTuple):
    """Where one start led: raw factors, every cost, and why it stopped."""

    flat: list[Array]
    costs: list[float]
    stop: str


def _fit(
    data: CoupledData, spec: FitSpec, seed: int, start: Factors | None, on_step: Step, clock: Clock
) -> tuple[list[Array], list[Run], list[float], bool]:
    """Start, compress, solve from each start; return the best factors, all runs, block losses, and if compressed."""
    with clock("start"):
        draws = [[]] if start is not None else _draws(data, spec, seed)
        given = None if start is None else starting.given_start(start, data, spec.rank)
    with clock("compress"):
        short, draws, given = _shortened(data, spec, draws, given)
        core = data if short is None else short.data
    with clock("arrange"):
        terms = terms_of(core)
    runs = []
    for number, few in enumerate(draws):
        with clock("start"):
            begin = [given or _prepare(core, terms, spec, few, seed + number)]
            given = None
        with clock("solve"):
            runs.append(Run(*_solve(core, terms, spec, begin, on_step)))
    with clock("finish"):
        flat = min(runs, key=lambda run: run.costs[-1]).flat
        losses = block_losses(terms, flat)
        if short is not None:
            flat = [
                short.expand(factor) if n == short.mode else factor for n, factor in enumerate(flat)
            ]
    return flat, runs, losses, short is not None


def _draws(data: CoupledData, spec: FitSpec, seed: int) -> list[list[Draw]]:
    """How to draw random modes for each start: one set to begin from, or several for PARAFAC to choose among."""
    count = starting.CANDIDATES if spec.init == "parafac" else 1
    return [
        [
            partial(starting.random_modes, data, spec.rank, seed, number * count + one)
            for one in range(count)
        ]
        for number in range(spec.starts)
    ]


def _shortened(
    data: CoupledData, spec: FitSpec, draws: list[list[Draw]], given: list[Array] | None
) -> tuple[Compression | None, list[list[Draw]], list[Array] | None]:
    """Compress when asked to, or by itself when it pays; ``reference`` stays as printed, ``opt`` leaves the span.

    The starts come back with the coordinates of the long mode in place of its rows.
    """
    mode, sweeps = longest(data), spec.starts * (spec.max_iter + starting.PARAFAC_SWEEPS)
    if spec.solver != "als" or spec.compress is False or mode is None:
        return None, draws, given
    if spec.compress is not True and not pays(data, mode, spec.rank, sweeps):
        return None, draws, given
    drawn = [[draw() for draw in few] for few in draws]
    starts = [flat[mode] for flat in ([given] if given else chain(*drawn))]
    short = compress(data, mode, starts)
    rows = iter(short.starts)

    def swap(flat: list[Array], own: Array) -> list[Array]:
        return [own if n == mode else factor for n, factor in enumerate(flat)]

    if given:
        return short, draws, swap(given, next(rows))
    return short, [[partial(swap, flat, next(rows)) for flat in few] for few in drawn], None


def _prepare(
    core: CoupledData, terms: list[Term], spec: FitSpec, few: list[Draw], seed: int
) -> list[Array]:
    """Bring a start to a full list of factors: PARAFAC of the tensor if asked for, then the sides."""
    if spec.init != "parafac":
        return starting.with_sides(terms, few[0](), core.sizes)
    exact = starting.algebraic_modes(core, spec.rank, seed)
    modes = starting.parafac(terms, few if exact is None else [lambda: exact, *few])
    return starting.with_sides(terms, modes, core.sizes)


def _solve(
    data: CoupledData, terms: list[Term], spec: FitSpec, begin: list[list[Array]], on_step: Step
) -> Any:
    """Solve from the only item of ``begin``, taken out of it: the solver alone holds its start, and lets go of it."""
    if spec.solver == "reference":
        return reference.solve(data, begin.pop(), spec.max_iter, spec.tol, on_step)
    return TERM_SOLVERS[spec.solver](terms, begin.pop(), spec.max_iter, spec.tol, on_step)


def fit_repetition(data: CoupledData, sample: Sample, spec: FitSpec, seed: int) -> Fit:
    """Extract one sample and fit it; its start depends on the seed and its own number only."""
    with one_thread():
        return fit(data.select(sample.indices), spec, repetition_seed(seed, sample.repetition))


def repetition_seed(seed: int, repetition: int) -> int:
    """The seed of repetition k's fit: a function of (seed, k) alone.

    >>> repetition_seed(0, 3) == repetition_seed(0, 3) != repetition_seed(0, 4)
    True
    """
    return int(generator(seed, "fit", repetition).integers(2**62))
