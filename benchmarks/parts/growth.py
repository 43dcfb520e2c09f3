"""How time and memory of a coupled sweep grow with non-zeros and rank, on one and two threads."""

from benchmarks.curves import Check, exponent, steepest
from benchmarks.measure import Contender, race
from benchmarks.outcome import Outcome

RANK = 25
CELLS = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000)
RANKS = (2, 5, 10, 25, 50)
TARGET = "benchmarks.ours:growing_sweep"


def measure() -> Outcome:
    """Vary the non-zeros, twice as many in the matrix, then the rank at Facebook's size."""
    results = {}
    # The largest takes a quarter of the machine's memory: one process at a time.
    for cells in CELLS:
        options = {"rank": RANK, "cells": cells, "count": 2 * cells}
        results |= race(
            [Contender(f"cells/{cells}", TARGET, options, 7 if cells < 10_000_000 else 3)]
        )
    sizes = {"cells": 740_000, "count": 1_600_000}
    results |= race(
        [Contender(f"rank/{rank}", TARGET, {"rank": rank, **sizes}, 7) for rank in RANKS]
    )

    def series(axis: str, steps: tuple[int, ...], key: str) -> list[float]:
        return [float(results[f"{axis}/{step}"][key]) for step in steps]

    input_bytes, held = series("cells", CELLS, "data_bytes"), series("cells", CELLS, "fit_bytes")
    both, alone = series("cells", CELLS, "seconds"), series("cells", CELLS, "one_thread")
    checks = [
        Check.single(
            "exponent of time in non-zeros, last two decades", steepest(CELLS, both), "<=", 1.05
        ),
        Check.single(
            "exponent of time in non-zeros, one thread", steepest(CELLS, alone), "<=", 1.05
        ),
        Check.single(
            "exponent of memory in non-zeros, last two decades", steepest(CELLS, held), "<=", 1.05
        ),
        Check.single(
            "exponent of time in rank", exponent(RANKS, series("rank", RANKS, "seconds")), "<=", 2.0
        ),
        Check.single("two threads / one, speed at most non-zeros", alone[-1] / both[-1], ">=", 1.0),
        Check.single(
            "peak memory / input at most non-zeros", held[-1] / input_bytes[-1], "<=", 4.0
        ),
    ]
    return Outcome(results, checks)
