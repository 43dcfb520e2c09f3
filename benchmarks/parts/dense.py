"""Whole fits of the BrainQ shape at rank 5: cost against time, ours and the peers', from one random start."""

from __future__ import annotations

from typing import Any

from benchmarks.curves import Check, Spread, lowest, ratio, reach
from benchmarks.measure import Contender, Numbers, race
from benchmarks.outcome import Outcome

RANK, SWEEPS = 5, 100
# Peers that are in no goal are stopped after so many seconds (GenTen after so many sweeps: it cannot be told to).
PATIENCE, GENTEN_SWEEPS = 25.0, 10
NEAR = 1.001
SAME: dict[str, Any] = {"name": "brainq", "rank": RANK}
SHARED = {**SAME, "sweeps": SWEEPS}
OWN = {**SAME, "sweeps": 200, "tol": 1e-7, "own_start": True}
# The paper's sampling, and one that keeps all nouns, whose factor is then known well enough for one full sweep. Fits of
# samples need not be more exact than samples are: to 1e-4 they end in the same cost, to six digits, as by default.
PAPER = {**SAME, "sampling": (3, 86, 1), "repetitions": 4}
WIDE = {**SAME, "sampling": (1, 300, 1), "repetitions": 2, "tol": 1e-4}
CURVE, SCOUP, PEER = "benchmarks.fits:curve", "benchmarks.fits:scoup", "benchmarks.rivals:curve"


def _fast() -> list[Contender]:
    """What the slow contenders are compared with, run beside each of them."""
    return [
        Contender("als compressed", CURVE, SHARED, 7),
        Contender("als compressed, own start", CURVE, OWN, 7),
        Contender("scoup complete (3, 86, 1)", SCOUP, {**PAPER, "finish": "complete"}, 7),
        Contender("scoup complete (1, 300, 1)", SCOUP, {**WIDE, "finish": "complete"}, 7),
    ]


def measure() -> Outcome:
    """Ours against one another and against the peers that fit the tensor alone."""
    slow = {**SHARED, "patience": PATIENCE}
    results = race(
        [
            *_fast(),
            Contender("scoup none (3, 86, 1)", SCOUP, {**PAPER, "finish": "none"}, 5),
            Contender("scoup refit (3, 86, 1)", SCOUP, {**PAPER, "finish": "refit"}, 5),
            Contender("als", CURVE, {**SHARED, "compress": False}, 3),
            Contender("opt", CURVE, {**SHARED, "solver": "opt"}, 1, warm=False),
            Contender(
                "tensorly parafac", PEER, {**slow, "peer": "tensorly parafac"}, 1, warm=False
            ),
            Contender("pyttb cp_als", PEER, {**slow, "peer": "pyttb"}, 1, warm=False),
            Contender(
                "genten cp_als",
                "benchmarks.rivals:genten_curve",
                {**SAME, "sweeps": GENTEN_SWEEPS},
                1,
                False,
            ),
        ]
    )
    target = NEAR * lowest(results)
    fitted = min(
        ("als compressed", "als compressed, own start"),
        key=lambda name: _time(results[name], target).middle,
    )
    checks = [
        Check(f"{fitted} / scoup complete (1, 300, 1), time to 0.1 % of the best cost",
              ratio(times(results[fitted], target), times(results["scoup complete (1, 300, 1)"], target)), ">=", 2.0),
    ]  # fmt: skip
    return Outcome(results, checks, arrivals(results, target))


def measure_reference() -> Outcome:
    """Algorithm 1 as printed, for 100 sweeps."""
    slow = {**SHARED, "solver": "reference"}
    results = race([*_fast(), Contender("reference", CURVE, slow, 1, warm=False)])
    target = NEAR * lowest(results)
    mine, other, scoup = (
        results[n] for n in ("als compressed", "reference", "scoup complete (3, 86, 1)")
    )
    checks = [
        Check("reference / als compressed, time to 0.1 % of the best cost",
              ratio(times(other, target), times(mine, target)), ">=", 100.0),
        Check("reference / als compressed, 100 sweeps", ratio(other["runs"], mine["runs"]), ">=", 100.0),
        Check.single("difference of their costs", abs(mine["cost"] / other["cost"] - 1), "<=", 1e-6),
        Check("reference, 100 sweeps / scoup complete (3, 86, 1)", ratio(other["runs"], scoup["runs"]), ">=", 200.0),
        Check.single("scoup complete (3, 86, 1), cost / reference's", scoup["cost"] / other["cost"], "<=", 1.01),
    ]  # fmt: skip
    return Outcome(results, checks, arrivals(results, target))


def measure_tensorly() -> Outcome:
    """TensorLy's CMTF for 100 sweeps from the shared start, and from its own."""
    shared = {**SHARED, "peer": "tensorly cmtf"}
    own = {**shared, "sweeps": 8, "own_start": True}
    results = race(
        [
            *_fast(),
            Contender("tensorly cmtf", PEER, shared, 1, warm=False),
            Contender("tensorly cmtf, own start", PEER, own, 1, warm=False),
        ]
    )
    return judge_tensorly(results)


def judge_tensorly(results: dict[str, Numbers]) -> Outcome:
    """Compare from the shared start, and each from its own."""
    target = NEAR * lowest(results)
    mine, other = results["als compressed"], results["tensorly cmtf"]
    ready, svd = results["als compressed, own start"], results["tensorly cmtf, own start"]
    checks = [
        Check("tensorly cmtf / als compressed, time to 0.1 % of the best cost",
              ratio(times(other, target), times(mine, target)), ">=", 100.0),
        Check("tensorly cmtf / als compressed, each from its own start, time to 0.1 % of the best cost",
              ratio(times(svd, target), times(ready, target)), ">=", 100.0),
        Check("tensorly cmtf from its own start / scoup complete (1, 300, 1), time to 0.1 % of the best cost",
              ratio(times(svd, target), times(results["scoup complete (1, 300, 1)"], target)), ">=", 100.0),
        Check("tensorly cmtf / als compressed, 100 sweeps", ratio(other["runs"], mine["runs"]), ">=", 100.0),
        Check.single("als compressed, cost / tensorly's - 1", mine["cost"] / other["cost"] - 1, "<=", 1e-6),
    ]  # fmt: skip
    return Outcome(results, checks, arrivals(results, target))


def measure_folds() -> Outcome:
    """All leave-two-out folds of the nine-subject tensor."""
    results = race([Contender("1,770 folds", "benchmarks.ours:leave_two_out", {"rank": 2}, 5)])
    return Outcome(results, [Check("1,770 leave-two-out folds, seconds", Spread.of(results["1,770 folds"]["runs"]),
                                   "<=", 180.0)])  # fmt: skip


def times(result: Numbers, target: float) -> list[float]:
    """Seconds until each run of a contender has reached the target."""
    return [reach(curve, target) for curve in result["curves"]]


def _time(result: Numbers, target: float) -> Spread:
    return Spread.of(times(result, target))


def arrivals(results: dict[str, Numbers], target: float) -> list[str]:
    """Say when each contender comes within 0.1 % of the best cost, and where it ends."""
    best = target / NEAR
    remarks = []
    for name, result in results.items():
        if "curves" not in result:
            continue
        when = _time(result, target)
        text = (
            f"{when.middle:.3g} s"
            if when.middle < float("inf")
            else f"not within {result['seconds']:.3g} s"
        )
        remarks.append(
            f"{name}: within 0.1 % of the best cost after {text}; ends at {result['cost'] / best:.6f} of it"
        )
    return remarks
