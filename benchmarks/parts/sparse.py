"""Whole fits of sparse data: Facebook's shape with and without its matrix, and a tensor of four modes."""

from __future__ import annotations

from typing import Any

from benchmarks.curves import Check, lowest, ratio
from benchmarks.measure import Contender, Numbers, race
from benchmarks.outcome import Outcome
from benchmarks.parts.dense import CURVE, NEAR, PEER, SCOUP, arrivals, times

SWEEPS = 20
PATIENCE = 40.0
RANKS = {"wall": 25, "facebook": 25, "four": 10}
PLAN: dict[str, Any] = {"sampling": (10, 10, 2), "repetitions": 4, "jobs": 2}
GENTEN = "benchmarks.rivals:genten_curve"


def measure() -> Outcome:
    """Three problems, one after the other; peers where they can take the data."""
    results: dict[str, Numbers] = {}
    checks, remarks = [], []
    for name in RANKS:
        own = race(_coupled(name) if name == "facebook" else _alone(name))
        target = NEAR * lowest(own)
        remarks += [f"{name}, {line}" for line in arrivals(own, target)]
        if name != "facebook":
            mine = times(own["als"], target)
            for peer in ("genten MttkrpSingle", "genten MttkrpDefault", "pyttb cp_als"):
                got = ratio(times(own[peer], target), mine)
                checks.append(Check(f"{name}: {peer} / als, time to 0.1 % of the best cost", got, ">=", 1.0))
        results |= {f"{name}/{who}": numbers for who, numbers in own.items()}
    return Outcome(results, checks, remarks)


def _alone(name: str) -> list[Contender]:
    same = {"name": name, "rank": RANKS[name], "sweeps": SWEEPS}
    return [
        Contender("als", CURVE, same, 5),
        Contender("opt", CURVE, {**same, "solver": "opt", "sweeps": 3 * SWEEPS}, 3),
        Contender("genten MttkrpDefault", GENTEN, {**same, "method": "MttkrpDefault"}, 5),
        Contender("genten MttkrpSingle", GENTEN, same, 5),
        Contender("pyttb cp_als", PEER, {**same, "peer": "pyttb", "patience": PATIENCE}, 1, warm=False),
    ]


def _coupled(name: str) -> list[Contender]:
    same = {"name": name, "rank": RANKS[name], "sweeps": SWEEPS}
    plan = {"name": name, "rank": RANKS[name], **PLAN}
    return [
        Contender("als", CURVE, same, 5),
        Contender("als, own start", CURVE, {**same, "own_start": True}, 3),
        Contender("opt", CURVE, {**same, "solver": "opt", "sweeps": 3 * SWEEPS}, 3),
        *(Contender(f"scoup {end}", SCOUP, {**plan, "finish": end}, 2) for end in ("none", "refit", "complete")),
    ]
