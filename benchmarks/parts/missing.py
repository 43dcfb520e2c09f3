"""Missing cells: time of a masked sweep, and cost against time at 10, 30 and 60 % missing."""

from benchmarks.curves import Check, Spread, lowest, ratio, reach
from benchmarks.measure import Contender, Numbers, race
from benchmarks.outcome import Outcome
from benchmarks.parts.dense import CURVE, PEER, TARGET_COST_RATIO, arrivals

RANK, SWEEPS = 5, 200
PERCENTS = (10, 30, 60)
MAX_PEER_SECONDS = 10.0
SWEEP = "benchmarks.ours:missing_sweep"


def measure() -> Outcome:
    """Time sweeps first, then the fits at each percentage."""
    masked = [(solver, percent) for solver in ("als", "cd") for percent in PERCENTS]
    contenders = [Contender("unmasked", SWEEP, {"rank": RANK}, 15)]
    for solver, percent in masked:
        options = {"rank": RANK, "share": percent / 100, "solver": solver}
        contenders.append(Contender(f"{solver} {percent} %", SWEEP, options, 15))
    sweeps = race(contenders)
    unmasked = sweeps["unmasked"]["runs"]
    checks = []
    for percent in PERCENTS:
        slowdown = ratio(sweeps[f"als {percent} %"]["runs"], unmasked)
        what = f"masked sweep at {percent} % missing / unmasked sweep"
        checks.append(Check(what, slowdown, "<=", 10.0))
    results = {f"sweep/{name}": numbers for name, numbers in sweeps.items()}
    remarks: list[str] = []
    for percent in PERCENTS:
        fits = race(_fits(percent))
        checks.append(
            Check(
                f"cd / als, time to cd's final cost at {percent} % missing", sooner(fits), ">=", 5.0
            )
        )
        remarks += [
            f"{percent} % missing, {line}"
            for line in arrivals(fits, TARGET_COST_RATIO * lowest(fits))
        ]
        results |= {f"missing{percent}/{name}": numbers for name, numbers in fits.items()}
    return Outcome(results, checks, remarks)


def _fits(percent: int) -> list[Contender]:
    same = {"name": f"missing{percent}", "rank": RANK, "sweeps": SWEEPS, "tol": 1e-8}
    peer = {
        "name": f"missing{percent}",
        "rank": RANK,
        "sweeps": SWEEPS,
        "max_seconds": MAX_PEER_SECONDS,
        "peer": "tensorly parafac",
    }
    return [
        *(Contender(solver, CURVE, {**same, "solver": solver}, 5) for solver in ("als", "cd")),
        Contender("opt", CURVE, {**same, "solver": "opt"}, 1, warm=False),
        Contender("tensorly parafac", PEER, peer, 1, warm=False),
    ]


def sooner(fits: dict[str, Numbers]) -> Spread:
    """Return how many times sooner als reaches the final cost of cd, to six digits."""
    final = fits["cd"]["cost"] * (1 + 1e-6)
    return ratio(
        *([reach(curve, final) for curve in fits[solver]["curves"]] for solver in ("cd", "als"))
    )
