"""Small fits: compiled starts and sweeps next to the plain path, on one thread."""

from benchmarks.curves import Check, ratio
from benchmarks.measure import Contender, race
from benchmarks.outcome import Outcome

RUNS = 5


def measure() -> Outcome:
    """Time a hundred fits of a sample of BrainQ on both paths."""
    results = race(
        [
            Contender(way, "benchmarks.small:sample_fits", {"compiled": compiled}, RUNS)
            for way, compiled in (("compiled", True), ("plain", False))
        ]
    )
    gain = ratio(results["plain"]["runs"], results["compiled"]["runs"])
    what = "fits of a sample of BrainQ, plain path / compiled sweeps, one thread"
    return Outcome(results, [Check(what, gain, ">=", 4.0)])
