"""Peak memory of a short fit, data included, each contender in a separate process."""

from typing import Any

from benchmarks.curves import Check
from benchmarks.measure import Contender, Numbers, race
from benchmarks.outcome import Outcome
from benchmarks.parts import dense, sparse
from scoup.solvers import opt

OURS, PEERS = "benchmarks.fits:memory", "benchmarks.rivals:memory"
# Peak memory over input; the sparse goal does not count the factors, nor what a method keeps by
# definition: pairs of past steps in single precision and two gradients, as large as the factors.
GOAL_RATIOS = {"facebook": 4.0, "brainq": 1.6}
KEPT_FACTORS = {"opt": opt.PAIRS + 2}
TITLES = {"facebook": "Facebook's shape", "brainq": "BrainQ's shape"}


def measure() -> Outcome:
    """Run one contender after another, so that each has all the memory."""
    contenders = [*_dense(), *_sparse()]
    results: dict[str, Numbers] = {}
    for contender in contenders:
        results |= race([contender])
    checks = []
    for name, result in results.items():
        data, who = name.split("/")
        if data in GOAL_RATIOS and who in (
            "als",
            "als compressed",
            "opt",
            "scoup none",
            "scoup complete",
        ):
            room, apart = result["fit_bytes"], ""
            if data == "facebook":
                kept = KEPT_FACTORS.get(who, 0)
                room -= (1 + kept) * result["factor_bytes"]
                apart = ", factors apart" + (f" and {kept} times their size kept" if kept else "")
            what = f"{TITLES[data]}, {who}: peak memory / input{apart}"
            checks.append(Check.single(what, room / result["data_bytes"], "<=", GOAL_RATIOS[data]))
    return Outcome(results, checks)


def _dense() -> list[Contender]:
    same: dict[str, Any] = {"name": "brainq", "rank": dense.RANK}
    plan = {"sampling": (3, 86, 1), "repetitions": 4, "jobs": 2}
    return [
        _ours("als compressed", {**same, "method": "als", "compress": True}),
        _ours("als", {**same, "method": "als", "compress": False}),
        _ours("opt", {**same, "method": "opt"}),
        _ours("scoup none", {**same, "method": "scoup", **plan}),
        _ours("scoup complete", {**same, "method": "scoup", "finish": "complete", **plan}),
        _ours("reference", {**same, "method": "reference"}),
        *(_peer(peer, same) for peer in ("tensorly cmtf", "tensorly parafac", "pyttb", "genten")),
    ]


def _sparse() -> list[Contender]:
    same: dict[str, Any] = {"name": "facebook", "rank": 25}
    alone = {"name": "wall", "rank": 25}
    return [
        _ours("als", {**same, "method": "als"}),
        _ours("opt", {**same, "method": "opt"}),
        _ours("scoup none", {**same, "method": "scoup", **sparse.PLAN}),
        _ours("scoup complete", {**same, "method": "scoup", "finish": "complete", **sparse.PLAN}),
        _ours("als", {**alone, "method": "als"}),
        *(_peer(peer, alone) for peer in ("pyttb", "genten")),
    ]


def _ours(who: str, options: dict[str, Any]) -> Contender:
    return Contender(f"{options['name']}/{who}", OURS, options, 1, warm=False)


def _peer(who: str, options: dict[str, Any]) -> Contender:
    return Contender(f"{options['name']}/{who}", PEERS, {**options, "peer": who}, 1, warm=False)
