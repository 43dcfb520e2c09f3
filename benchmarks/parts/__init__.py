"""The parts of the benchmark, in the order in which they run: name -> function() -> Outcome."""

from benchmarks.parts import (
    dense,
    growth,
    kernels,
    memory,
    missing,
    nonnegative,
    small,
    sparse,
    workers,
)

PARTS = {
    "kernels": kernels.measure,
    "dense": dense.measure,
    "reference": dense.measure_reference,
    "tensorly": dense.measure_tensorly,
    "sparse": sparse.measure,
    "missing": missing.measure,
    "nonnegative": nonnegative.measure,
    "growth": growth.measure,
    "memory": memory.measure,
    "folds": dense.measure_folds,
    "small": small.measure,
    "workers": workers.measure,
}
