"""The library's own contenders."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import data
from benchmarks.measure import forget_peak, peak_bytes, resident_bytes
from scoup import CMTF, SCOUP, CoupledData, kernels
from scoup.kernels import rows
from scoup.kernels.fibres import frozen
from scoup.kernels.pool import share
from scoup.metrics import cost
from scoup.records import Factors
from scoup.solvers import als
from scoup.terms import grams_of, terms_of

Array = NDArray[Any]
Run = Callable[[], dict[str, float] | None]


def facebook(cells: int = data.FACEBOOK_CELLS, count: int = data.FACEBOOK_LINKS, dtype: str = "float64") -> CoupledData:
    """Return the simulated Facebook data, wall posts coupled to friendships on the first mode."""
    tensor, matrix = data.load_wall(cells), data.load_links(count)
    return CoupledData(tensor.with_values(tensor.values.astype(dtype)), {0: matrix.astype(dtype)})


def coupled_sweep(rank: int, dtype: str = "float64", **sizes: int) -> Run:
    """One coupled ALS sweep: MTTKRPs of the tensor, products of the matrix, solves and loss."""
    coupled = facebook(dtype=dtype, **sizes)
    terms = terms_of(coupled)
    flat = [factor.astype(dtype) for factor in data.start(coupled.sizes, rank)]
    grams = grams_of(flat)
    return lambda: als.sweep(terms, flat, grams) and None


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
        return {"seconds": time.perf_counter() - start, "gathered_bytes": float(_gathered(fibres, modes, rank))}

    return run


def _gathered(fibres: kernels.Fibres, modes: Any, rank: int) -> int:
    """Bytes of factor rows that the kernels read: a leaf row for each cell, the others for each fibre."""
    fibre_rows = sum(fibres.host(n).starts.size - 1 for n in modes)
    return (len(modes) * fibres.values.size + fibre_rows) * rank * fibres.values.itemsize


def gather(rank: int, count: int = 2_000_000) -> Run:
    """Add up random rows of a factor of Facebook's length: what gathering alone costs on this machine."""
    factor = frozen(data.start(data.FACEBOOK[:1], rank)[0])
    chunks = 64
    index = data.generator(0, "gather").integers(0, len(factor), count).astype(np.int32)
    cuts = np.linspace(0, count, chunks + 1).astype(np.int32)
    cells = tuple(frozen(a) for a in (cuts, np.empty((0, 0), np.int32), cuts, index, np.ones(count)))
    out = np.empty((chunks, rank))
    kernel = rows.matrix_rows(rows.width_for(rank))

    def run() -> dict[str, float]:
        start = time.perf_counter()
        share(chunks, lambda a, b: kernel(a, b, cells, (factor,), factor, out))
        return {"seconds": time.perf_counter() - start, "gathered_bytes": float(count * factor[0].nbytes)}

    return run


def memory(rank: int, sweeps: int = 3) -> Run:
    """Peak memory of a coupled fit above what the process held before it had any data."""

    def run() -> dict[str, float]:
        forget_peak()
        before = resident_bytes()
        coupled = facebook()
        size = coupled.tensor.nbytes + sum(block.values.nbytes for block in coupled.blocks[1:])
        start = _start(coupled, rank)
        CMTF(rank, init=start, max_iter=sweeps, tol=0.0).fit(coupled)
        factors = sum(factor.nbytes for factor in start.flat)
        return {"data_bytes": float(size), "factor_bytes": float(factors), "fit_bytes": float(peak_bytes() - before)}

    return run


def _start(coupled: CoupledData, rank: int) -> Factors:
    flat = data.start(coupled.sizes, rank)
    return Factors(np.ones(rank), tuple(flat[: coupled.ndim]), {0: flat[coupled.ndim]})


def brainq(rank: int, sweeps: int, noise: float = 0.5, **options: Any) -> Run:
    """A full CMTF of the BrainQ shape, start and compression included."""
    coupled = CoupledData(*_tensor_and_questions(noise, rank))

    def run() -> dict[str, float]:
        model = CMTF(rank, max_iter=sweeps, tol=0.0, **options).fit(coupled)
        return {"cost": model.report_.cost, "sweeps": float(len(model.report_.losses))}

    return run


def brainq_from_start(rank: int, sweeps: int, noise: float = 0.5, **options: Any) -> Run:
    """The same from random factors that every solver shares."""
    coupled = CoupledData(*_tensor_and_questions(noise, rank))
    start = _start(coupled, rank)

    def run() -> dict[str, float]:
        model = CMTF(rank, init=start, max_iter=sweeps, tol=0.0, **options).fit(coupled)
        return {"cost": model.report_.cost, "sweeps": float(len(model.report_.losses))}

    return run


def brainq_scoup(rank: int, noise: float = 0.5, **options: Any) -> Run:
    """SCOUP on the BrainQ shape, from densities to the finished merge."""
    coupled = CoupledData(*_tensor_and_questions(noise, rank))

    def run() -> dict[str, float]:
        start = time.perf_counter()
        model = SCOUP(rank, **options).fit(coupled)
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "cost": cost(coupled, model.factors_)}

    return run


def _tensor_and_questions(noise: float, rank: int) -> tuple[Array, dict[int, Array]]:
    tensor, questions = data.brainq(noise, rank)
    return tensor, {0: questions}
