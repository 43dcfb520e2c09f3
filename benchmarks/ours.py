"""Kernels and sweeps of scoup as contenders."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.machine import forget_peak, peak_bytes, resident_bytes
from scoup import CoupledData, kernels
from scoup.constraints import Constraints
from scoup.experiments.leave_two_out import folds, prepared
from scoup.machine import release, serial_blas, threads
from scoup.seeds import generator
from scoup.solvers import Stopping, als, cd
from scoup.solvers._nonnegative import improve
from scoup.terms import Problem, grams_of, terms_of

Run = Callable[[], dict[str, Any] | None]
TIMED_SWEEPS = 5


def facebook(
    cells: int = data.FACEBOOK_CELLS, count: int = data.FACEBOOK_LINKS, dtype: str = "float64"
) -> CoupledData:
    """Return the simulated Facebook data, wall posts coupled to friendships on the first mode."""
    tensor, matrix = data.load_wall(cells), data.load_links(count)
    same = tensor.dtype == dtype
    return CoupledData(
        tensor if same else tensor.with_values(tensor.values.astype(dtype)),
        {0: matrix.astype(dtype, copy=False)},
    )


def coupled_sweep(rank: int, dtype: str = "float64", solver: str = "als") -> Run:
    """One coupled ALS sweep as in a fit: MTTKRPs, products with the matrix, solves and loss."""
    return _sweep(facebook(dtype=dtype), rank, solver)


def parts_sweep(rank: int, solver: str = "als") -> Run:
    """One sweep over dense data of non-negative parts."""
    return _sweep(CoupledData(data.parts()), rank, solver)


def sample_sweep(rank: int, constraints: str | None = None) -> Run:
    """One compiled sweep over a small dense problem, coupled to a matrix."""
    rng = generator(0, "sample")
    coupled = CoupledData(rng.random((20, 905, 9)), {0: rng.random((20, 73))})
    problem = Problem.of(coupled, constraints=Constraints.of(constraints, coupled))
    flat = [np.abs(factor) for factor in data.start(coupled.sizes, rank)]

    def run() -> dict[str, float]:
        begin = time.perf_counter()
        solution = als.solve(problem, list(flat), Stopping(100, 0.0))
        return {"seconds": (time.perf_counter() - begin) / len(solution.costs)}

    return run


def missing_sweep(rank: int, share: float = 0.0, solver: str = "als") -> Run:
    """One sweep over a small BrainQ, uncompressed, with a share of its cells missing."""
    tensor, questions = data.load_brainq(data.SMALL_BRAINQ)
    mask = data.missing(share) if share else None
    return _sweep(CoupledData(tensor, {0: questions}, mask), rank, solver)


def _sweep(coupled: CoupledData, rank: int, solver: str = "als") -> Run:
    terms = terms_of(coupled)
    flat = [factor.astype(coupled.dtype) for factor in data.start(coupled.sizes, rank)]
    updates = {"als": als.least_squares, "cd": cd.coordinate_pass, "nonnegative": improve}
    update = updates[solver]
    if solver == "nonnegative":
        flat = [np.abs(factor) for factor in flat]
    grams = grams_of(flat)

    def run() -> dict[str, float]:
        # Sweeps follow one another as in a fit; the first is not timed, as for the peers.
        current, current_grams = list(flat), list(grams)
        with serial_blas():
            als.sweep(terms, current, current_grams, update=update)
            start = time.perf_counter()
            for _ in range(TIMED_SWEEPS):
                als.sweep(terms, current, current_grams, update=update)
            return {"seconds": (time.perf_counter() - start) / TIMED_SWEEPS}

    return run


def growing_sweep(rank: int, cells: int, count: int) -> Run:
    """One coupled sweep on two threads and on one, and its memory, data included."""
    # A small sweep first, so that code does not count as memory of the data.
    _sweep(facebook(100_000, 200_000), rank)()
    release()
    forget_peak()
    before = resident_bytes()
    coupled = facebook(cells, count)
    size = coupled.nbytes
    terms, flat = terms_of(coupled), data.start(coupled.sizes, rank)
    grams = grams_of(flat)

    def seconds() -> float:
        with serial_blas():
            start = time.perf_counter()
            als.sweep(terms, list(flat), list(grams))
            return time.perf_counter() - start

    def run() -> dict[str, float]:
        both = seconds()
        held = peak_bytes() - before
        with threads(1):
            alone = seconds()
        return {
            "seconds": both,
            "one_thread": alone,
            "fit_bytes": float(held),
            "data_bytes": float(size),
        }

    return run


def mttkrp(rank: int, mode: int | None = None, dtype: str = "float64") -> Run:
    """MTTKRP of one mode, or of all three one after another."""
    tensor = data.load_wall()
    fibres = kernels.arrange(tensor.coords, tensor.values.astype(dtype), tensor.shape)
    factors = [factor.astype(dtype) for factor in data.start(tensor.shape, rank)]
    modes = range(3) if mode is None else [mode]

    def run() -> dict[str, float]:
        start = time.perf_counter()
        for n in modes:
            kernels.mttkrp(fibres, factors, n)
        return {
            "seconds": time.perf_counter() - start,
            "gathered_bytes": float(gathered(fibres, modes, rank)),
        }

    return run


def gathered(fibres: kernels.Fibres, modes: Sequence[int], rank: int) -> int:
    """Bytes of factor rows that kernels read: one leaf row per cell, the others per fibre."""
    fibre_rows = sum(fibres.order_for(n).starts.size - 1 for n in modes)
    return (len(modes) * fibres.values.size + fibre_rows) * rank * fibres.values.itemsize


def leave_two_out(rank: int = 2) -> Run:
    """All 1,770 leave-two-out fits of the nine-subject tensor, and the comparison of each pair."""
    tensor, questions = data.load_brainq()
    coupled = CoupledData(tensor, {0: questions})
    held = np.array([(i, j) for i in range(60) for j in range(i)])

    def run() -> dict[str, float]:
        start = time.perf_counter()
        with serial_blas():
            whole = prepared.products(coupled)
            setting, rules = prepared.Setting(rank=rank), [("least_squares", 0.0)]
            matches = folds.match_folds(whole, held, setting, rules)
        return {"seconds": time.perf_counter() - start, "folds": float(len(matches[0].cosine))}

    return run
