"""Workers: SCOUP with two workers next to one, with as many threads as workers."""

from benchmarks.curves import Check, ratio
from benchmarks.measure import Contender, race
from benchmarks.outcome import Outcome

RANK, REPETITIONS, RUNS = 5, 8, 5
SAMPLING = {"brainq": (3, 86, 1), "facebook": (10, 10, 10)}
WORKERS = (1, 2)


def measure() -> Outcome:
    """Time the fits of eight repetitions, and the whole from densities to the merge."""
    contenders = [
        Contender(
            f"{name}, workers {count}",
            "benchmarks.small:fit_phase",
            {
                "name": name,
                "workers": count,
                "rank": RANK,
                "sampling": sampling,
                "repetitions": REPETITIONS,
            },
            RUNS,
        )
        for name, sampling in SAMPLING.items()
        for count in WORKERS
    ]
    results = race(contenders)
    checks = []
    for name in SAMPLING:
        alone, both = (results[f"{name}, workers {count}"] for count in WORKERS)
        words = f"{name}, {REPETITIONS} repetitions"
        gain = ratio(alone["runs"], both["runs"])
        checks.append(Check(f"{words}, fit phase: one worker / two", gain, ">=", 1.8))
        whole = alone["whole_seconds"] / both["whole_seconds"]
        checks.append(Check.single(f"{words}, whole: one worker / two", whole, ">=", 1.6))
    return Outcome(results, checks)
