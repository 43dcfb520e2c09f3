"""Small fits: compiled sweeps next to the plain path, and workers next to one another."""

from benchmarks.curves import Check, ratio
from benchmarks.measure import Contender, race
from benchmarks.outcome import Outcome

RANK, REPETITIONS = 5, 8
SAMPLING = {"brainq": (3, 86, 1), "facebook": (10, 10, 10)}
WORKERS = (1, 2)


def measure() -> Outcome:
    """Time a hundred fits of a sample of BrainQ, and the fit phase of SCOUP on two data sets."""
    contenders = [
        Contender(f"samples, {way}", "benchmarks.small:sample_fits", {"compiled": compiled}, 5)
        for way, compiled in (("compiled", True), ("plain", False))
    ]
    for name, sampling in SAMPLING.items():
        options = {"rank": RANK, "sampling": sampling, "repetitions": REPETITIONS}
        contenders += [
            Contender(
                f"{name}, workers {count}",
                "benchmarks.small:fit_phase",
                {"name": name, "workers": count, **options},
                7,
            )
            for count in WORKERS
        ]
    results = race(contenders)
    runs = {name: result["runs"] for name, result in results.items()}
    checks = [
        Check(
            "fits of a sample of BrainQ, plain path / compiled sweeps, one thread",
            ratio(runs["samples, plain"], runs["samples, compiled"]),
            ">=",
            4.0,
        )
    ]
    for name in SAMPLING:
        gain = ratio(*(runs[f"{name}, workers {count}"] for count in WORKERS))
        what = f"{name}, {REPETITIONS} repetitions, fit phase: one worker / two"
        checks.append(Check(what, gain, ">=", 1.8))
    return Outcome(results, checks)
