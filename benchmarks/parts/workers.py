"""Workers: SCOUP with two workers next to one, with as many threads as workers.

What two threads gain that do nothing but arithmetic is the limit of the machine: cores of a virtual
machine may share one of the processor.
"""

from benchmarks.curves import Check, ratio
from benchmarks.measure import Contender, race
from benchmarks.outcome import Outcome

RANK, REPETITIONS = 5, 8
# The shorter a run, the more of them: a single one of a tenth of a second says little.
RUNS = {"brainq": 15, "facebook": 5, "products": 9}
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
            RUNS[name],
        )
        for name, sampling in SAMPLING.items()
        for count in WORKERS
    ]
    contenders += [
        Contender(
            f"products, workers {n}",
            "benchmarks.limits:shared_products",
            {"workers": n},
            RUNS["products"],
        )
        for n in WORKERS
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
    limit = ratio(*(results[f"products, workers {count}"]["runs"] for count in WORKERS))
    remark = f"Two threads that do nothing but small matrix products gain {limit.middle:.2f} here."
    return Outcome(results, checks, [remark])
