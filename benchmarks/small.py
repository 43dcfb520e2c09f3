"""Fits of samples, and the fit phase of SCOUP, as contenders."""

import time
from typing import Any

import numpy as np

from benchmarks import fits
from benchmarks.ours import Run
from scoup import CoupledData
from scoup.fit import fit
from scoup.machine import one_thread, threads
from scoup.pipeline import run as run_pipeline
from scoup.seeds import generator
from scoup.solvers import _compiled
from scoup.specs import FitSpec, PlanSpec

# A sample of BrainQ under the paper's factors: nouns, voxels, subjects, and questions.
SHAPE, QUESTIONS = (20, 905, 9), 73
FITS = 100


def sample_fits(compiled: bool, rank: int = 5) -> Run:
    """Fit samples one after another on one thread; without ``compiled`` by the plain path."""
    if not compiled:
        _compiled.MAX_STEPS = -1
    rng, spec = generator(0, "small"), FitSpec(rank=rank)
    data = CoupledData(rng.standard_normal(SHAPE), {0: rng.standard_normal((SHAPE[0], QUESTIONS))})

    def run() -> dict[str, Any]:
        with one_thread():
            start = time.perf_counter()
            costs = [fit(data, spec, seed).report.cost for seed in range(FITS)]
            return {"seconds": time.perf_counter() - start, "cost": float(np.median(costs))}

    return run


def fit_phase(name: str, workers: int, **options: Any) -> Run:
    """Run SCOUP on as many threads as workers; the time is that of the fits, and of the whole."""
    data, plan = fits.problem(name), PlanSpec(**options)

    def run() -> dict[str, float]:
        with threads(workers):
            result = run_pipeline(data, plan, 0, workers=workers)
        return {
            "seconds": result.seconds["fit"],
            "whole_seconds": sum(result.seconds.values()),
            "cost": result.merged.report.cost,
        }

    return run
