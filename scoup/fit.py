"""Fit one coupled factorization to a data set or a sample of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.clock import Clock
from scoup.compress import Compression, compress, longest, pays
from scoup.coupled import CoupledData
from scoup.factors import wrap
from scoup.memory import require_dense
from scoup.records import Factors, Fit, FitReport, FitSpec
from scoup.solvers import TERM_SOLVERS, reference
from scoup.solvers.start import PARAFAC_SWEEPS, given_start, parafac, random_modes, with_sides
from scoup.terms import block_losses, terms_of

Array = NDArray[Any]
Step = Callable[[float], None]


def fit(
    data: CoupledData, spec: FitSpec, seed: int = 0, start: Factors | None = None, on_step: Step = lambda cost: None
) -> Fit:
    """Minimise ``sum_b w_b |W_b * (X_b - model)|^2`` over all factors of rank ``spec.rank``.

    ``start`` replaces the start that ``spec.init`` names. Of several ``starts`` the one of
    lowest cost is returned, and the final cost of each is reported.

    >>> rng = np.random.default_rng(0)
    >>> A, B, C, D = (rng.standard_normal((n, 2)) for n in (6, 7, 8, 5))
    >>> data = CoupledData(np.einsum("if,jf,kf->ijk", A, B, C), {0: A @ D.T})
    >>> result = fit(data, FitSpec(rank=2), seed=0)
    >>> bool(result.report.cost < 1e-6 * data.blocks[0].norm2)
    True
    """
    clock = Clock()
    if spec.solver == "reference":
        require_dense("solver 'reference'", data.shape, data.dtype, copies=4 + spec.rank / min(data.shape))
    with clock("start"):
        starts = _starts(data, spec, seed, start)
    with clock("compress"):
        short = _compression(data, spec, starts)
        core = data if short is None else short.data
        starts = starts if short is None else [_shorten(one, short, n) for n, one in enumerate(starts)]
    with clock("arrange"):
        terms = [] if spec.solver == "reference" else terms_of(core)
    runs = []
    for one in starts:
        with clock("start"):
            flat = _prepare(core, terms, spec, one, given=start is not None)
        with clock("solve"):
            runs.append(_solve(core, terms, spec, flat, on_step))
    flat, costs, stop = min(runs, key=lambda run: run[1][-1])
    with clock("finish"):
        losses = block_losses(terms or terms_of(core), flat)
        if short is not None:
            flat = [short.expand(factor) if n == short.mode else factor for n, factor in enumerate(flat)]
        factors = wrap(flat, data)
    report = FitReport(
        losses=tuple(costs),
        block_losses={block.name: loss for block, loss in zip(data.blocks, losses, strict=True)},
        block_fits={b.name: 1.0 - loss / (b.norm2 or 1.0) for b, loss in zip(data.blocks, losses, strict=True)},
        stop=stop,
        solver=spec.solver,
        compressed=short is not None,
        starts=tuple(run[1][-1] for run in runs),
        seconds=clock.seconds,
    )
    return Fit(factors, report)


def _starts(data: CoupledData, spec: FitSpec, seed: int, start: Factors | None) -> list[list[Array]]:
    if start is not None:
        return [given_start(start, data, spec.rank)]
    return [random_modes(data, spec.rank, seed, number) for number in range(spec.starts)]


def _compression(data: CoupledData, spec: FitSpec, starts: list[list[Array]]) -> Compression | None:
    """Compress when asked to, or by itself when it pays; ``reference`` stays as printed, ``opt`` leaves the span."""
    if spec.solver != "als" or spec.compress is False:
        return None
    mode, sweeps = longest(data), spec.starts * (spec.max_iter + PARAFAC_SWEEPS)
    if mode is None or not (spec.compress is True or pays(data, mode, spec.rank, sweeps)):
        return None
    return compress(data, mode, [one[mode] for one in starts])


def _shorten(flat: list[Array], short: Compression, number: int) -> list[Array]:
    return [short.starts[number] if n == short.mode else factor for n, factor in enumerate(flat)]


def _prepare(data: CoupledData, terms: list, spec: FitSpec, flat: list[Array], given: bool) -> list[Array]:
    """Bring a start to a full list of factors: PARAFAC of the tensor if asked for, then the sides."""
    if given:
        return flat
    terms = terms or terms_of(data)
    modes = parafac(terms, flat) if spec.init == "parafac" else flat
    return with_sides(terms, modes, data.sizes)


def _solve(data: CoupledData, terms: list, spec: FitSpec, flat: list[Array], on_step: Step) -> Any:
    if spec.solver == "reference":
        return reference.solve(data, flat, spec.max_iter, spec.tol, on_step)
    return TERM_SOLVERS[spec.solver](terms, flat, spec.max_iter, spec.tol, on_step)
