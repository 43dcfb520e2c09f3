"""Merging: is the joint merge ever worse than one repetition, fewer of them, or other merges?

``python -m benchmarks.merging --seeds 40`` merges 1 to 4 repetitions of small simulated data, dense
and sparse, at sampling factors from 2 to 32 (where samples of sparse data are tiny or empty), next
to 0 to 6 matrices of noise. It prints in how many problems each promise of the joint merge broke.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import product

import numpy as np

from scoup.coupled import CoupledData
from scoup.fit import fit_repetition
from scoup.merge import merge
from scoup.metrics import zero_cost
from scoup.records import Array, Fit, Sample
from scoup.sample import draw
from scoup.specs import FitSpec, MergeSpec, SampleSpec
from scoup.tensor import SparseTensor

RANK = 3
REPETITIONS = 4
SAMPLING = (2, 4, 8, 16, 32)
MAX_NOISE_MATRICES = 6
SHAPES = {"dense": (40, 50, 10), "sparse": (120, 120, 30)}
NOISE_COLUMNS = 20
OTHER_MERGES = ("paper", "authors")
FINISHES = ("none", "refit", "complete")
# Costs are compared up to this share of the zero model's: sums of squares are no more exact.
ROUNDING_SHARE = 1e-9


@dataclass(frozen=True)
class Broken:
    """By what share of the zero model's cost each promise was broken; 0 if it was kept.

    ``rise`` is the largest rise with a further repetition, the others compare the merge of all
    repetitions with the best single one and with the other merges.
    """

    rise: float
    single: float
    paper: float
    authors: float


def main() -> None:
    """Print a table: one row per finish, kind of data and sampling factor."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--kinds", nargs="+", choices=list(SHAPES), default=list(SHAPES))
    parser.add_argument("--sampling", nargs="+", type=int, default=list(SAMPLING))
    options = parser.parse_args()
    promises = [field.name for field in fields(Broken)]
    print("| data | s | finish | problems | " + " | ".join(promises) + " | largest |")
    print("|---" * (5 + len(promises)) + "|")
    for kind, sampling in product(options.kinds, options.sampling):
        outcomes = [
            study(kind, sampling, seed % (MAX_NOISE_MATRICES + 1), seed)
            for seed in range(options.seeds)
        ]
        for finish in FINISHES:
            broken = [outcome[finish] for outcome in outcomes]
            values = np.array([[getattr(b, name) for name in promises] for b in broken])
            cells = [kind, sampling, finish, len(broken)]
            cells += [*(values > ROUNDING_SHARE).sum(axis=0), f"{values.max():.1e}"]
            print(f"| {' | '.join(map(str, cells))} |", flush=True)


def study(
    kind: str, sampling: int, noise_matrices: int, seed: int, finishes: Sequence[str] = FINISHES
) -> dict[str, Broken]:
    """Sample, fit and merge one problem; return which promises were broken, by finish."""
    data = problem(kind, noise_matrices, seed)
    samples = draw(data, SampleSpec(rank=RANK, sampling=sampling, repetitions=REPETITIONS), seed)
    spec = FitSpec(rank=RANK, max_iter=50)
    fits = [fit_repetition(data, sample, spec, seed) for sample in samples]
    return {finish: compare(fits, samples, data, finish) for finish in finishes}


def compare(
    fits: Sequence[Fit], samples: Sequence[Sample], data: CoupledData, finish: str
) -> Broken:
    """Compare the joint merge of 1, 2, ... repetitions with all that must not be better."""
    zero = zero_cost(data)

    def cost(rule: str, numbers: Sequence[int]) -> float:
        chosen = [fits[k] for k in numbers], [samples[k] for k in numbers]
        return merge(*chosen, data, MergeSpec(merge=rule, finish=finish)).report.cost / zero

    counts = range(1, len(fits) + 1)
    joint = [cost("joint", range(count)) for count in counts]
    singles = [cost("joint", [number]) for number in range(len(fits))]
    paper, authors = ([cost(rule, range(count)) for count in counts] for rule in OTHER_MERGES)
    lowest = np.minimum.accumulate(singles)
    return Broken(
        *(
            max(0.0, float(excess.max()))
            for excess in (
                np.diff(joint),
                joint - lowest,
                np.subtract(joint, paper),
                np.subtract(joint, authors),
            )
        )
    )


def problem(kind: str, noise_matrices: int, seed: int) -> CoupledData:
    """Simulate noisy data of rank 3: a matrix about the first mode, others of pure noise."""
    rng = np.random.default_rng(seed)
    shape = SHAPES[kind]
    factors = [_factor(rng, rows, kind) for rows in (*shape, NOISE_COLUMNS)]
    A, B, C, D = factors
    tensor = _noisy(rng, np.einsum("if,jf,kf->ijk", A, B, C), kind)
    matrices = [_noisy(rng, A @ D.T, kind)]
    noise = {1: [rng.standard_normal((shape[1], NOISE_COLUMNS)) for _ in range(noise_matrices)]}
    values = SparseTensor.from_dense(tensor) if kind == "sparse" else tensor
    return CoupledData(
        values, {0: matrices, **(noise if noise_matrices else {})}, weights="balanced"
    )


def _factor(rng: np.random.Generator, rows: int, kind: str) -> Array:
    factor = rng.standard_normal((rows, RANK))
    return factor if kind == "dense" else np.abs(factor) * (rng.random((rows, RANK)) < 0.1)


def _noisy(rng: np.random.Generator, array: Array, kind: str) -> Array:
    """Add noise to every cell of dense data, and to some single cells of sparse data."""
    noise = 0.5 * array.std() * rng.standard_normal(array.shape)
    if kind == "sparse":
        noise = np.where(rng.random(array.shape) < 1e-3, rng.random(array.shape), 0.0)
    return array + noise


if __name__ == "__main__":
    main()
