"""The library's whole fits as contenders: cost against time, and memory."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.machine import forget_peak, peak_bytes, resident_bytes
from benchmarks.ours import Run, facebook
from scoup import SCOUP, CoupledData
from scoup.fit import fit
from scoup.memory import release
from scoup.records import Factors
from scoup.solvers import opt
from scoup.specs import FitSpec


def problem(name: str) -> CoupledData:
    """Return the data that a curve speaks of.

    ``brainq``, ``facebook``: coupled. ``wall``, ``four``: the sparse tensor alone, as the peers can take it.
    ``missing30`` ...: a small BrainQ with that percentage of its cells missing.
    """
    if name == "brainq":
        tensor, questions = data.load_brainq()
        return CoupledData(tensor, {0: questions})
    if name.startswith("missing"):
        tensor, questions = data.load_brainq(data.SMALL_BRAINQ)
        return CoupledData(
            tensor, {0: questions}, data.missing(int(name.removeprefix("missing")) / 100)
        )
    if name == "facebook":
        return facebook()
    return CoupledData(data.load_wall() if name == "wall" else data.load_four_way())


def start(coupled: CoupledData, rank: int) -> Factors:
    """The random factors that every contender starts from."""
    flat = data.start(coupled.sizes, rank)
    return Factors.from_flat(np.ones(rank), flat, coupled.owners)


def curve(
    name: str, rank: int, sweeps: int, tol: float = 0.0, own_start: bool = False, **options: Any
) -> Run:
    """Fit from the shared start (or PARAFAC's, which then counts), noting the cost after each sweep.

    What a fit does after its last sweep (bringing a compressed mode back) is added to each point of the curve.
    """
    coupled = problem(name)
    first = None if own_start else start(coupled, rank)
    spec = FitSpec(
        rank=rank, init="parafac" if own_start else "random", max_iter=sweeps, tol=tol, **options
    )

    def run() -> dict[str, Any]:
        marks: list[tuple[float, float]] = []
        begin = time.perf_counter()
        result = fit(
            coupled, spec, 0, first, lambda cost: marks.append((time.perf_counter() - begin, cost))
        )
        seconds, after = time.perf_counter() - begin, result.report.seconds["finish"]
        points = [(at + after, cost) for at, cost in marks]
        return {
            "seconds": seconds,
            "cost": result.report.cost,
            "sweeps": float(len(marks)),
            "curve": points,
        }

    return run


def scoup(name: str, rank: int, **options: Any) -> Run:
    """SCOUP from densities to the finished merge: a curve of one point."""
    coupled = problem(name)

    def run() -> dict[str, Any]:
        begin = time.perf_counter()
        model = SCOUP(rank, **options).fit(coupled)
        seconds = time.perf_counter() - begin
        # Without a full sweep the merge's own cost speaks of covered rows; the curve speaks of all of them.
        whole = whole_cost(coupled, model.factors_)
        return {"seconds": seconds, "cost": whole, "curve": [(seconds, whole)]}

    return run


def whole_cost(coupled: CoupledData, factors: Factors) -> float:
    """The objective on all of the data."""
    from scoup.metrics import cost

    return cost(coupled, factors)


def memory(name: str, rank: int, method: str, **options: Any) -> Run:
    """Peak memory of a short fit above what the process held before it had any data; the data counts.

    ``method`` is ``scoup`` or a solver. What loading itself takes for a moment does not count.
    """
    _short(_tiny(name), rank, method, options)  # brings in the code

    def run() -> dict[str, float]:
        release()
        before = resident_bytes()
        coupled = problem(name)
        forget_peak()
        size = coupled.nbytes
        begin = time.perf_counter()
        factors = _short(coupled, rank, method, options)
        seconds, held = time.perf_counter() - begin, peak_bytes() - before
        own = float(sum(factor.nbytes for factor in factors.flat))
        return {
            "seconds": seconds,
            "data_bytes": float(size),
            "factor_bytes": own,
            "fit_bytes": float(held),
        }

    return run


def _tiny(name: str) -> CoupledData:
    """Data of the same kind, so small that its memory does not count."""
    if name == "brainq":
        tensor, questions = data.brainq(shape=(60, 600, 9))
        return CoupledData(tensor, {0: questions})
    matrices = {0: data.links(20_000, 2_000)} if name == "facebook" else {}
    return CoupledData(data.wall(10_000, (2_000, 2_000, 300)), matrices)


def _short(coupled: CoupledData, rank: int, method: str, options: dict[str, Any]) -> Factors:
    if method == "scoup":
        return SCOUP(rank, **options).fit(coupled).factors_
    # Two sweeps hold what any number does; L-BFGS holds more with each step, until it begins to forget.
    steps = opt.PAIRS + 3 if method == "opt" else 2
    spec = FitSpec(rank=rank, solver=method, init="random", max_iter=steps, tol=0.0, **options)
    return fit(coupled, spec, 0, start(coupled, rank)).factors
