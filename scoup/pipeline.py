"""Stand-in for the pipeline that helper `core` writes."""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from scoup.fit import fit, repetition_seed
from scoup.merge import merge
from scoup.records import Factors, Fit, Merged, Sample
from scoup.sample import densities, draw
from scoup.specs import FitSpec, MergeSpec, PlanSpec, SampleSpec
from scoup.threads import one_thread


class Run(NamedTuple):
    """Samples, fits and their merge."""

    samples: list[Sample]
    fits: list[Fit]
    merged: Merged


def run(data, plan: PlanSpec, seed: int, *, workers: int = 1, density=None) -> Run:
    """Sample, fit and merge."""
    samples = draw(data, plan.part(SampleSpec), seed, density)

    def one(sample: Sample) -> Fit:
        with one_thread():
            return _fit(data.select(sample.indices), plan.part(FitSpec), seed, sample.repetition)

    with ThreadPoolExecutor(workers) as pool:
        fits = list(pool.map(one, samples))
    return Run(samples, fits, merge(fits, samples, data, plan.part(MergeSpec)))


def _fit(data, spec, seed, repetition):
    if not data.blocks[0].is_sparse:
        return fit(data, spec, repetition_seed(seed, repetition))
    alive = [
        rows if (rows := np.flatnonzero(density > 0)).size else np.zeros(1, int)
        for density in densities(data)
    ]
    small = fit(data.select(alive), spec, repetition_seed(seed, repetition))
    flat = [np.zeros((size, spec.rank)) for size in data.sizes]
    for whole, part, rows in zip(flat, small.factors.flat, alive, strict=True):
        whole[rows] = part
    order = data.ndim
    factors = Factors(small.factors.weights, tuple(flat[:order]), data.nest_sides(flat[order:]))
    return Fit(factors, small.report)
