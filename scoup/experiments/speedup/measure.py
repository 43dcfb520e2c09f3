"""Speedup: relative cost against relative time, every contender in one process, alone on the machine."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import median
from typing import Any

import numpy as np

from scoup import metrics
from scoup.coupled import CoupledData
from scoup.estimators import CMTF, SCOUP
from scoup.experiments._controls import controls, costs, random_factors
from scoup.measures import Claim, Context, Measure, Metric, pick
from scoup.sample import densities
from scoup.threads import threads

log = logging.getLogger(__name__)

SECONDS = Measure(
    "seconds", "s", "lower", 0.0, None, "wall-clock time from data to model, median of the repeats"
)
SPEEDUP = Measure("speedup", "ratio", "higher", 0.0, None, "time of the reference over this one's")
# What counts as "the same approximation error" as the reference's.
EQUAL_COST = 1.01
FULL: dict[str, dict[str, Any]] = {
    "reference": {"solver": "reference", "compress": False},
    "als": {"solver": "als", "compress": False},
    "compressed als": {"solver": "als", "compress": True},
}


@dataclass(frozen=True)
class SpeedupSpec:
    """Which contenders are timed, and how often."""

    rank: int
    shared: float
    sampling: Sequence[Any]
    repetitions: int
    finishes: Sequence[str]
    workers: Sequence[int]
    sweeps: int
    repeats: int


@dataclass(frozen=True, eq=False)
class Contender:
    """An estimator, the threads it may use, how often it is timed, and its place on the axes."""

    estimator: CMTF | SCOUP
    threads: int
    repeats: int
    at: dict[str, Any]


def measure(data: CoupledData, spec: SpeedupSpec, context: Context) -> list[Metric]:
    """Return time and cost of every contender, relative to the reference, which comes first."""
    zero, found = metrics.zero_cost(data), list[Metric]()
    reference = (0.0, 0.0)
    for contender in contenders(spec, context.seed):
        _warm(data, contender)
        seconds, cost = _time(data, contender)
        reference = reference if found else (seconds, cost)
        log.info("%s: %.3f s, relative cost %.4f", contender.at, seconds, cost / reference[1])
        found += [context.metric(SECONDS, seconds, **contender.at)]
        found += [context.metric(SPEEDUP, reference[0] / seconds, **contender.at)]
        found += costs(context, cost, reference[1], zero, **contender.at)
    chance = random_factors(data, spec.rank, context.seed)
    return found + controls(context, data, chance, reference[1], "random")


def contenders(spec: SpeedupSpec, seed: int) -> Iterator[Contender]:
    """Yield the full fits, then SCOUP for every sampling, finish and number of workers."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    for name, options in FULL.items():
        estimator = CMTF(spec.rank, max_iter=spec.sweeps, tol=0.0, seed=seed, **options)
        repeats = 1 if name == "reference" else spec.repeats
        at = {"contender": name, "workers": cores, "sampling": "1", "finish": "none"}
        yield Contender(estimator, cores, repeats, at)
    for sampling, finish, workers in product(spec.sampling, spec.finishes, spec.workers):
        sampler = SCOUP(
            spec.rank, sampling=sampling, repetitions=spec.repetitions, shared=spec.shared, finish=finish,
            jobs=workers, seed=seed,
        )  # fmt: skip
        words = "x".join(f"{s:g}" for s in np.atleast_1d(sampling))
        at = {"contender": "SCOUP", "workers": workers, "sampling": words, "finish": finish}
        yield Contender(sampler, min(workers, cores), spec.repeats, at)


def _time(data: CoupledData, contender: Contender) -> tuple[float, float]:
    """Return the median seconds of the repeats and the cost, which is the same in each."""
    seconds = []
    with threads(contender.threads):
        for _ in range(contender.repeats):
            started = time.perf_counter()
            contender.estimator.fit(data)
            seconds.append(time.perf_counter() - started)
    return median(seconds), contender.estimator.report_.cost


def _warm(data: CoupledData, contender: Contender) -> None:
    """Compile every kernel the contender uses, on the densest corner of the data (the first may be empty)."""
    corner = data.select([np.sort(np.argsort(density)[-16:]) for density in densities(data)])
    short = {"max_iter": 2} | (
        {"sampling": 1, "repetitions": 1} if isinstance(contender.estimator, SCOUP) else {}
    )
    type(contender.estimator)(**{**contender.estimator.get_params(), **short}).fit(corner)


def claims(found: Sequence[Metric]) -> list[Claim]:
    """Set the paper's 50 and 100 times beside our fastest at equal cost and at any cost, and the lemma's 2 times."""
    best = _best(found, EQUAL_COST)
    text = "time of plain ALS over that of SCOUP at equal cost"
    judged = [Claim.of((text, "50", "ratio"), best, 50.0)] if best else []
    judged.append(
        Claim.of(("the same at a higher cost", "100", "ratio"), _best(found, np.inf), 100.0)
    )
    lemma = pick(found, "speedup", contender="als")
    text = "speedup of full ALS by the lemma (paper: of the pseudoinverse alone)"
    return [*judged, Claim.of((text, "2", "ratio"), lemma, 2.0)]


def _best(found: Sequence[Metric], bound: float) -> list[Metric]:
    """The speedups, over seeds, of SCOUP's fastest setting whose median relative cost is within ``bound``."""
    settings = {tuple(sorted(run.at.items())) for run in pick(found, "speedup", contender="SCOUP")}
    runs = [
        pick(found, "speedup", **dict(setting))
        for setting in sorted(settings)
        if median(run.value for run in pick(found, "relative_cost", **dict(setting))) <= bound
    ]
    return max(runs, key=lambda group: median(run.value for run in group), default=[])
