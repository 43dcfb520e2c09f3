"""Missing cells: what a masked sweep costs, and cost against time at 10, 30 and 60 % missing."""

from __future__ import annotations

from benchmarks.curves import Check, Spread, lowest, ratio, reach
from benchmarks.measure import Contender, Numbers, race
from benchmarks.outcome import Outcome
from benchmarks.parts.dense import CURVE, NEAR, PEER, arrivals

RANK, SWEEPS = 5, 200
SHARES = (10, 30, 60)
PATIENCE = 10.0
SWEEP = "benchmarks.ours:missing_sweep"


def measure() -> Outcome:
    """Sweeps first, then the fits of each share."""
    masked = [(solver, share) for solver in ("als", "cd") for share in SHARES]
    sweeps = race(
        [
            Contender("unmasked", SWEEP, {"rank": RANK}, 15),
            *(Contender(f"{solver} {share} %", SWEEP, {"rank": RANK, "share": share / 100, "solver": solver}, 15)
              for solver, share in masked),
        ]
    )  # fmt: skip
    plain = sweeps["unmasked"]["runs"]
    checks = [
        Check(f"masked sweep at {share} % missing / unmasked sweep", ratio(sweeps[f"als {share} %"]["runs"], plain),
              "<=", 10.0)
        for share in SHARES
    ]  # fmt: skip
    results = {f"sweep/{name}": numbers for name, numbers in sweeps.items()}
    remarks: list[str] = []
    for share in SHARES:
        fits = race(_fits(share))
        checks.append(
            Check(
                f"cd / als, time to cd's final cost at {share} % missing", sooner(fits), ">=", 5.0
            )
        )
        remarks += [f"{share} % missing, {line}" for line in arrivals(fits, NEAR * lowest(fits))]
        results |= {f"missing{share}/{name}": numbers for name, numbers in fits.items()}
    return Outcome(results, checks, remarks)


def _fits(share: int) -> list[Contender]:
    same = {"name": f"missing{share}", "rank": RANK, "sweeps": SWEEPS, "tol": 1e-8}
    peer = {
        "name": f"missing{share}",
        "rank": RANK,
        "sweeps": SWEEPS,
        "patience": PATIENCE,
        "peer": "tensorly parafac",
    }
    return [
        *(Contender(solver, CURVE, {**same, "solver": solver}, 5) for solver in ("als", "cd")),
        Contender("opt", CURVE, {**same, "solver": "opt"}, 1, warm=False),
        Contender("tensorly parafac", PEER, peer, 1, warm=False),
    ]


def sooner(fits: dict[str, Numbers]) -> Spread:
    """How many times sooner als has the cost at which cd ends, to six digits."""
    final = fits["cd"]["cost"] * (1 + 1e-6)
    return ratio(
        *([reach(curve, final) for curve in fits[solver]["curves"]] for solver in ("cd", "als"))
    )
