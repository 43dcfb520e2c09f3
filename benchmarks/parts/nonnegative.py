"""Non-negative factors: time of a sweep next to a plain one, and cost against time."""

from benchmarks.curves import Check, lowest, ratio, reach
from benchmarks.measure import Contender, race
from benchmarks.outcome import Outcome
from benchmarks.parts.dense import CURVE, PEER, TARGET_COST_RATIO, arrivals

RANKS, PARTS_RANK, SAMPLE_RANK = (5, 10, 25), 10, 5
SWEEPS, MAX_PEER_SECONDS = 200, 60.0
PEER_NAME = "tensorly hals"


def measure() -> Outcome:
    """Time sweeps in turns with plain ones, then a fit next to TensorLy's."""
    results, checks = {}, []
    for what, target, options in _sweeps():
        plain, bounded = _pair(target, options)
        times = race([plain, bounded])
        results |= {f"{what}, {name}": numbers for name, numbers in times.items()}
        slowdown = ratio(times[bounded.name]["runs"], times[plain.name]["runs"])
        checks.append(Check(f"non-negative / plain sweep, {what}", slowdown, "<=", 2.0))
    options = {"name": "parts", "rank": PARTS_RANK, "sweeps": SWEEPS}
    fits = race(
        [
            Contender("als", CURVE, {**options, "tol": 1e-8, "constraints": "nonnegative"}, 5),
            Contender(
                PEER_NAME,
                PEER,
                {**options, "peer": PEER_NAME, "max_seconds": MAX_PEER_SECONDS},
                1,
                warm=False,
            ),
        ]
    )
    target = TARGET_COST_RATIO * lowest(fits)
    ours, theirs = ([reach(c, target) for c in fits[n]["curves"]] for n in ("als", PEER_NAME))
    checks.append(Check("TensorLy's HALS / als, time to its cost", ratio(theirs, ours), ">=", 1.0))
    final = fits["als"]["cost"] / fits[PEER_NAME]["cost"]
    checks.append(Check.single("final cost, als / TensorLy's HALS", final, "<=", 1.001))
    return Outcome({**results, **fits}, checks, arrivals(fits, target))


def _sweeps() -> list[tuple[str, str, dict]]:
    """Return what is swept: description, function and options."""
    cases = [
        (f"sparse coupled, rank {rank}", "benchmarks.ours:coupled_sweep", {"rank": rank})
        for rank in RANKS
    ]
    missing = {"rank": SAMPLE_RANK, "share": 0.3}
    return [
        *cases,
        ("dense, rank 10", "benchmarks.ours:parts_sweep", {"rank": PARTS_RANK}),
        ("30 % missing, rank 5", "benchmarks.ours:missing_sweep", missing),
        ("small compiled, rank 5", "benchmarks.ours:sample_sweep", {"rank": SAMPLE_RANK}),
    ]


def _pair(target: str, options: dict) -> tuple[Contender, Contender]:
    """Return the plain contender and the non-negative one."""
    setting = {"constraints": "nonnegative"} if "sample" in target else {"solver": "nonnegative"}
    return (
        Contender("plain", target, options, 9),
        Contender("nonnegative", target, {**options, **setting}, 9),
    )
