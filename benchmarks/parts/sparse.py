"""Whole fits of sparse data: Facebook's shape with and without its matrix, and four modes."""

from typing import Any

from benchmarks.curves import Check, lowest, ratio
from benchmarks.measure import Contender, Numbers, race
from benchmarks.outcome import Outcome
from benchmarks.parts.dense import CURVE, PEER, SCOUP, TARGET_COST_RATIO, arrivals, times

SWEEPS = 20
MAX_PEER_SECONDS = 20.0
RANKS = {"wall": 25, "facebook": 25, "four": 10}
TITLES = {"wall": "Facebook's tensor alone", "facebook": "Facebook's shape", "four": "four modes"}
PLAN: dict[str, Any] = {"sampling": (10, 10, 2), "repetitions": 4, "jobs": 2}
GENTEN = "benchmarks.rivals:genten_curve"
# GenTen's methods, and how much of the time of their sweeps a coupled one of ours may take.
SINGLE, RACING = "genten MttkrpSingle, one thread", "genten MttkrpSingle, threads that race"
GOALS = {SINGLE: 0.6, RACING: 1.0, "genten MttkrpDefault": 0.6}


def measure() -> Outcome:
    """Run three problems, with the peers that can take the data."""
    results: dict[str, Numbers] = {}
    for name in RANKS:
        own = race(_coupled(name) if name == "facebook" else _alone(name))
        results |= {f"{name}/{who}": numbers for who, numbers in own.items()}
    return judge(results)


def judge(results: dict[str, Numbers]) -> Outcome:
    """Compare whole fits, sorting included: all sweeps, and the time to 0.1 % of the best cost."""
    checks, remarks = [], []
    for peer, goal in GOALS.items():
        got = ratio(pace(results["facebook/als"]), pace(results[f"wall/{peer}"]))
        what = f"a coupled sweep within a fit / one of the tensor alone within a fit of {peer}"
        checks.append(Check(what, got, "<=", goal))
    for name in RANKS:
        own = {
            who.split("/")[1]: numbers
            for who, numbers in results.items()
            if who.startswith(f"{name}/")
        }
        target = TARGET_COST_RATIO * lowest(own)
        remarks += [f"{TITLES[name]}, {line}" for line in arrivals(own, target)]
        # Threads that race lose additions: what they reach is theirs alone.
        for peer in (who for who in own if who.startswith(("genten", "pyttb")) and who != RACING):
            whole = ratio(own[peer]["runs"], own["als"]["runs"])
            near = ratio(times(own[peer], target), times(own["als"], target))
            checks.append(Check(f"{TITLES[name]}: {peer} / als, {SWEEPS} sweeps", whole, ">=", 1.0))
            checks.append(
                Check(
                    f"{TITLES[name]}: {peer} / als, time to 0.1 % of the best cost", near, ">=", 1.0
                )
            )
    return Outcome(results, checks, remarks)


def pace(result: Numbers) -> list[float]:
    """Return the seconds per sweep after the first, for each run.

    >>> pace({"curves": [[(5.0, 9.0), (6.0, 8.0), (7.0, 7.0)]]})
    [1.0]
    """
    return [(curve[-1][0] - curve[0][0]) / (len(curve) - 1) for curve in result["curves"]]


def _alone(name: str) -> list[Contender]:
    same = {"name": name, "rank": RANKS[name], "sweeps": SWEEPS}
    return [
        Contender("als", CURVE, same, 5),
        Contender("opt", CURVE, {**same, "solver": "opt", "sweeps": 3 * SWEEPS}, 3),
        Contender("genten MttkrpDefault", GENTEN, {**same, "method": "MttkrpDefault"}, 5),
        Contender(SINGLE, GENTEN, {**same, "method": "MttkrpSingle"}, 5),
        Contender(RACING, GENTEN, {**same, "method": "MttkrpSingle", "races": True}, 5),
        Contender(
            "pyttb cp_als",
            PEER,
            {**same, "peer": "pyttb", "max_seconds": MAX_PEER_SECONDS},
            1,
            warm=False,
        ),
    ]


def _coupled(name: str) -> list[Contender]:
    same = {"name": name, "rank": RANKS[name], "sweeps": SWEEPS}
    plan = {"name": name, "rank": RANKS[name], **PLAN}
    return [
        Contender("als", CURVE, same, 5),
        Contender("als, own start", CURVE, {**same, "own_start": True}, 3),
        Contender("opt", CURVE, {**same, "solver": "opt"}, 1, warm=False),
        *(
            Contender(f"scoup {end}", SCOUP, {**plan, "finish": end}, 2)
            for end in ("none", "refit", "complete")
        ),
    ]
