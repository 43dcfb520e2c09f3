"""Whole fits of other libraries as contenders: cost against time from the shared start, and memory.

All fit the tensor alone, except TensorLy's CMTF, which takes one dense matrix on the first mode.
Their factors are recorded after each sweep, with the clock stopped, and judged by our objective
with the best side factor, so that a peer that ignores the matrix is not penalised for it.
"""

import contextlib
import time
import warnings
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks import data
from benchmarks.fits import problem
from benchmarks.machine import forget_peak, peak_bytes, resident_bytes
from benchmarks.ours import Run
from benchmarks.peers import load_genten, pyttb_dense, pyttb_sparse
from scoup import CoupledData
from scoup.normal import pseudoinverse
from scoup.records import Array
from scoup.start import with_sides
from scoup.terms import Problem, block_losses, grams_of, weighted


class EnoughError(Exception):
    """A peer has done its sweeps or used up its time; raised as not all of them can be stopped."""


class Recorder:
    """Factors and seconds after each sweep, without the time for recording them."""

    def __init__(self, sweeps: int, max_seconds: float = float("inf")) -> None:
        self.sweeps, self.max_seconds = sweeps, max_seconds
        self.marks: list[tuple[float, list[Array]]] = []
        self._begin = time.perf_counter()

    def add(self, factors: Sequence[Array]) -> None:
        """Record the factors; raise :class:`EnoughError` after the last sweep."""
        now = time.perf_counter()
        self.marks.append((now - self._begin, [np.array(factor) for factor in factors]))
        if len(self.marks) >= self.sweeps or self.marks[-1][0] > self.max_seconds:
            raise EnoughError
        self._begin += time.perf_counter() - now


def judge(coupled: CoupledData) -> Callable[[Sequence[Array]], float]:
    """Return a function: the coupled cost of given modes with the best scales and side factors."""
    problem = Problem.of(coupled)
    terms = problem.terms

    def cost(modes: Sequence[Array]) -> float:
        flat = [np.ascontiguousarray(mode, dtype=np.float64) for mode in modes]
        position = len(flat) - 1
        grams, rhs = grams_of(flat), terms[0].rhs(flat, position)
        # pyttb stores the scale of its components separately; at a solution it is the best one.
        if terms[0].masked:
            rows = terms[0].gram(flat, grams, position)
            system = np.einsum("if,ig,ifg->fg", flat[position], flat[position], rows)
        else:
            system = reduce(np.multiply, grams)
        flat[position] = flat[position] * (
            pseudoinverse(system) @ np.einsum("if,if->f", flat[position], rhs)
        )
        return weighted(terms, block_losses(terms, with_sides(problem, flat)))

    return cost


Solve = Callable[[Recorder], Any]


def tensorly_cmtf(name: str, rank: int, own_start: bool = False) -> Solve:
    """TensorLy's coupled factorization, from the shared start or its own SVD of each unfolding."""
    from tensorly.decomposition import _cmtf_als as module

    del name  # BrainQ is the only data it can take
    tensor, questions = data.load_brainq()
    begin: Any = "svd" if own_start else (None, data.start(tensor.shape, rank))

    def solve(recorder: Recorder) -> None:
        plain, seen = module.khatri_rao, [0]

        def recording(matrices: Any, skip_matrix: int) -> Any:
            # A sweep starts with the last mode: the factors are still those of the previous sweep.
            if skip_matrix == len(matrices) - 1:
                seen[0] += 1
                if seen[0] > 1:
                    recorder.add(matrices)
            return plain(matrices, skip_matrix=skip_matrix)

        with patch.object(module, "khatri_rao", recording):
            module.coupled_matrix_tensor_3d_factorization(
                tensor, questions, rank, init=begin, n_iter_max=recorder.sweeps + 1, tol=-1.0
            )

    return solve


def tensorly_parafac(name: str, rank: int) -> Solve:
    """TensorLy's PARAFAC of a dense tensor alone; missing cells by its mask."""
    from tensorly.decomposition import parafac

    block = problem(name).blocks[0]
    tensor: Any = block.values
    mask = None if block.mask is None else np.asarray(block.mask, dtype=tensor.dtype)

    def solve(recorder: Recorder) -> None:
        seen = [0]

        def note(model: Any, error: Any) -> None:
            del error
            weights, modes = model
            seen[0] += 1
            if seen[0] > 1:  # the first is the start
                recorder.add([modes[0] * weights, *modes[1:]])

        begin = (None, data.start(tensor.shape, rank))
        # Its callback fails if the tolerance is zero.
        parafac(
            tensor,
            rank,
            n_iter_max=recorder.sweeps + 1,
            init=begin,
            tol=1e-300,
            mask=mask,
            callback=note,
        )

    return solve


def tensorly_hals(name: str, rank: int) -> Solve:
    """TensorLy's non-negative PARAFAC by HALS."""
    from tensorly.decomposition import _nn_cp as module

    tensor: Any = problem(name).blocks[0].values

    def solve(recorder: Recorder) -> None:
        plain, seen = module.unfolding_dot_khatri_rao, [0]

        def recording(unfolded: Any, model: Any, mode: int) -> Any:
            # A sweep starts with the first mode: the factors are those of the previous sweep.
            if mode == 0:
                seen[0] += 1
                if seen[0] > 1:
                    recorder.add(model[1])
            return plain(unfolded, model, mode)

        begin = (np.ones(rank), [np.abs(mode) for mode in data.start(tensor.shape, rank)])
        with patch.object(module, "unfolding_dot_khatri_rao", recording):
            module.non_negative_parafac_hals(
                tensor, rank, n_iter_max=recorder.sweeps + 1, init=begin, tol=0.0
            )

    return solve


class _RecordingTensor:
    """A pyttb tensor that records the factors when a sweep starts."""

    def __init__(self, tensor: Any, recorder: Recorder) -> None:
        self._tensor, self._recorder, self._sweeps = tensor, recorder, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tensor, name)

    def mttkrp(self, factors: Any, mode: int) -> Any:
        if mode == 0:
            self._sweeps += 1
            if self._sweeps > 1:
                self._recorder.add(factors)
        return self._tensor.mttkrp(factors, mode)


def pyttb_cp(name: str, rank: int) -> Solve:
    """pyttb's CP-ALS of the tensor alone."""
    import pyttb

    values = problem(name).blocks[0].values
    tensor = pyttb_dense(values) if isinstance(values, np.ndarray) else pyttb_sparse(values)
    begin = pyttb.ktensor([np.asfortranarray(factor) for factor in data.start(values.shape, rank)])

    def solve(recorder: Recorder) -> None:
        options = {"stoptol": -1.0, "maxiters": recorder.sweeps + 1, "init": begin, "printitn": 0}
        pyttb.cp_als(_RecordingTensor(tensor, recorder), rank, **options)

    return solve


PEERS: dict[str, Callable[..., Solve]] = {
    "tensorly cmtf": tensorly_cmtf,
    "tensorly parafac": tensorly_parafac,
    "tensorly hals": tensorly_hals,
    "pyttb": pyttb_cp,
}


def curve(
    peer: str, name: str, rank: int, sweeps: int, max_seconds: float = float("inf"), **options: Any
) -> Run:
    """Run a peer for ``sweeps`` or ``max_seconds``; then compute its cost after each sweep."""
    solve, cost = PEERS[peer](name, rank, **options), judge(problem(name))

    def run() -> dict[str, Any]:
        recorder = Recorder(sweeps, max_seconds)
        _quietly(solve, recorder)
        points = [(at, cost(modes)) for at, modes in recorder.marks]
        return {
            "seconds": points[-1][0],
            "cost": points[-1][1],
            "sweeps": float(len(points)),
            "curve": points,
        }

    return run


def _quietly(solve: Solve, recorder: Recorder) -> None:
    with warnings.catch_warnings(), contextlib.suppress(EnoughError):
        warnings.simplefilter("ignore")
        solve(recorder)


def _genten(
    name: str, rank: int, method: str = "MttkrpDefault", races: bool = False
) -> Callable[[int], tuple[Any, Any]]:
    """Return a function of the number of sweeps: model and history of GenTen's CP-ALS."""
    import pyttb

    pygenten = load_genten(method, races)
    values = problem(name).blocks[0].values
    dense = isinstance(values, np.ndarray)
    tensor = (
        pygenten.make_gt_tensor(pyttb_dense(values))
        if dense
        else pygenten.make_gt_sptensor(pyttb_sparse(values))
    )
    begin = pyttb.ktensor([np.array(factor) for factor in data.start(values.shape, rank)])
    options: dict[str, Any] = {"rank": rank, "tol": 0.0, "printitn": 0}
    if not dense:
        options["mttkrp_method"] = getattr(pygenten.MTTKRP_Method, method)

    def solve(sweeps: int) -> tuple[Any, Any]:
        start = pygenten.make_gt_ktensor(begin)
        model, _, history = pygenten.cp_als(tensor, init=start, maxiters=sweeps, **options)
        return model, history

    return solve


def genten_curve(name: str, rank: int, sweeps: int, **options: Any) -> Run:
    """GenTen's history of its residual; its work before its clock starts counts.

    The cost of a matrix is that of the best side factor for GenTen's last factors.
    """
    solve, cost = _genten(name, rank, **options), judge(problem(name))
    import pygenten  # which has its number of threads by now

    def run() -> dict[str, Any]:
        begin = time.perf_counter()
        model, history = solve(sweeps)
        seconds = time.perf_counter() - begin
        entries = [history.getEntry(n) for n in range(1, sweeps + 1)]
        before = seconds - history.lastEntry().cum_time
        last = cost(pygenten.make_ttb_ktensor(model, copy=True).factor_matrices)
        rest = last - entries[-1].residual ** 2
        points = [(before + entry.cum_time, entry.residual**2 + rest) for entry in entries]
        return {"seconds": seconds, "cost": last, "sweeps": float(sweeps), "curve": points}

    return run


def memory(peer: str, name: str, rank: int) -> Run:
    """Peak memory of two sweeps of a peer, data included, above what the process held before."""
    import pygenten  # noqa: F401 - the code of all peers is loaded before the data
    import pyttb  # noqa: F401
    import tensorly.decomposition  # noqa: F401

    size = float(problem(name).nbytes)

    def run() -> dict[str, float]:
        before = resident_bytes()
        solve: Any = (
            _genten(name, rank, "MttkrpSingle", True)
            if peer == "genten"
            else PEERS[peer](name, rank)
        )
        forget_peak()
        begin = time.perf_counter()
        solve(2) if peer == "genten" else _quietly(solve, Recorder(2))
        seconds = time.perf_counter() - begin
        return {"seconds": seconds, "data_bytes": size, "fit_bytes": float(peak_bytes() - before)}

    return run
