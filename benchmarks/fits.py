"""The library's whole fits as contenders: cost against time, and memory."""

import time
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.machine import forget_peak, peak_bytes, resident_bytes
from benchmarks.ours import Run, facebook
from scoup import SCOUP, CoupledData
from scoup.fit import fit
from scoup.inspect import advise_plan
from scoup.machine import release
from scoup.metrics import cost
from scoup.records import Factors
from scoup.solvers import opt
from scoup.specs import FitSpec


def problem(name: str) -> CoupledData:
    """Return the data of a curve by name.

    ``brainq``, ``facebook``: coupled. ``wall``, ``four``: the sparse tensor alone, for the peers.
    ``parts``: dense and non-negative.
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
    if name == "parts":
        return CoupledData(data.parts())
    return CoupledData(data.load_wall() if name == "wall" else data.load_four_way())


def start(coupled: CoupledData, rank: int, nonnegative: bool = False) -> Factors:
    """Return the random factors from which every contender starts."""
    flat = data.start(coupled.sizes, rank)
    flat = [np.abs(factor) for factor in flat] if nonnegative else flat
    return Factors.from_flat(np.ones(rank), flat, coupled.owners)


def curve(
    name: str, rank: int, sweeps: int, tol: float = 0.0, own_start: bool = False, **options: Any
) -> Run:
    """Fit from the shared start (or PARAFAC's, whose time then counts), with the cost per sweep.

    Time after the last sweep, such as expanding a compressed mode, is added to every point.
    """
    coupled = problem(name)
    first = None if own_start else start(coupled, rank, "constraints" in options)
    init = options.pop("init", "parafac") if own_start else "random"
    spec = FitSpec(rank=rank, init=init, max_iter=sweeps, tol=tol, **options)

    def run() -> dict[str, Any]:
        marks: list[tuple[float, float]] = []
        begin = time.perf_counter()
        result = fit(
            coupled, spec, 0, first, lambda now: marks.append((time.perf_counter() - begin, now))
        )
        total, after = time.perf_counter() - begin, result.report.seconds["finish"]
        points = [(seconds + after, value) for seconds, value in marks]
        return {
            "seconds": total,
            "cost": result.report.cost,
            "sweeps": float(len(marks)),
            "curve": points,
        }

    return run


def scoup(name: str, rank: int, **options: Any) -> Run:
    """SCOUP from densities to the finished merge: a curve of one point.

    Without ``options`` but ``jobs`` all settings are those that `scoup inspect` advises, and the
    time of the advice counts, too.
    """
    coupled, advised = problem(name), "sampling" not in options

    def run() -> dict[str, Any]:
        begin = time.perf_counter()
        settings = advise_plan(coupled, rank) if advised else {"rank": rank}
        model = SCOUP(**settings, **options).fit(coupled)
        seconds = time.perf_counter() - begin
        # Without a full sweep the merge reports the cost of covered rows; the curve is on all rows.
        whole = cost(coupled, model.factors_)
        return {"seconds": seconds, "cost": whole, "curve": [(seconds, whole)]}

    return run


def memory(name: str, rank: int, method: str, **options: Any) -> Run:
    """Peak memory of a short fit, data included, above what the process held before.

    ``method`` is ``scoup`` or a solver. Memory that only loading the data takes does not count.
    """
    _short_fit(_tiny(name), rank, method, options)  # loads the code

    def run() -> dict[str, float]:
        release()
        before = resident_bytes()
        coupled = problem(name)
        forget_peak()
        size = coupled.nbytes
        begin = time.perf_counter()
        factors = _short_fit(coupled, rank, method, options)
        seconds, held = time.perf_counter() - begin, peak_bytes() - before
        return {
            "seconds": seconds,
            "data_bytes": float(size),
            "factor_bytes": float(sum(factor.nbytes for factor in factors.flat)),
            "fit_bytes": float(held),
        }

    return run


def _tiny(name: str) -> CoupledData:
    """Return data of the same kind, so small that its memory does not count."""
    if name == "brainq":
        tensor, questions = data.brainq(shape=(60, 600, 9))
        return CoupledData(tensor, {0: questions})
    matrices = {0: data.links(20_000, 2_000)} if name == "facebook" else {}
    return CoupledData(data.wall(10_000, (2_000, 2_000, 300)), matrices)


def _short_fit(coupled: CoupledData, rank: int, method: str, options: dict[str, Any]) -> Factors:
    if method == "scoup":
        return SCOUP(rank, **options).fit(coupled).factors_
    # Two sweeps hold as much as any number; L-BFGS holds more until its history is full. The start
    # is the fit's own: one that is passed in would stay with the caller and count as the fit's.
    steps = opt.PAIRS + 3 if method == "opt" else 2
    spec = FitSpec(rank=rank, solver=method, init="random", max_iter=steps, tol=0.0, **options)
    return fit(coupled, spec, 0).factors
