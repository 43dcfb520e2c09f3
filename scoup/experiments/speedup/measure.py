"""Speedup: cost against time, every contender in one process, alone on the machine."""

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf
from statistics import median
from typing import Any

import numpy as np

from scoup.coupled import CoupledData
from scoup.estimators import CMTF, SCOUP
from scoup.experiments._controls import CostScale, costs, random_control
from scoup.experiments._records import Inputs, Outcome
from scoup.experiments.speedup import Spec
from scoup.machine import max_threads, threads
from scoup.metrics import zero_cost
from scoup.records import Claim, Context, Measure, Metric, pick
from scoup.sample import densities
from scoup.specs import PlanSpec

log = logging.getLogger(__name__)

SECONDS = Measure(
    "seconds", "s", "lower", 0.0, None, "wall-clock time from data to model, median of the repeats"
)
SPEEDUP = Measure("speedup", "ratio", "higher", 0.0, None, "time of the reference over this one's")
# What counts as "the same approximation error" as the reference's.
MAX_EQUAL_COST = 1.01
WARM_UP_INDICES = 16  # per mode
FULL_FITS: dict[str, dict[str, Any]] = {
    "reference": {"solver": "reference", "compress": False},
    "als": {"solver": "als", "compress": False},
    "compressed als": {"solver": "als", "compress": True},
}


@dataclass(frozen=True, eq=False)
class Contender:
    """An estimator, the threads it may use, how often it is timed, and its coordinates."""

    estimator: CMTF | SCOUP
    threads: int
    repeats: int
    at: dict[str, Any]


def measure(inputs: Inputs, spec: Spec, context: Context) -> Outcome:
    """Return time and cost of every contender, relative to the reference, which comes first."""
    plan, data = inputs.model(spec.plan).spec, inputs.view(spec.plan)
    context = context.on(plan="full")
    metrics: list[Metric] = []
    for contender in contenders(spec, plan, context.seed):
        _compile(data, contender)
        seconds, cost = _time(data, contender)
        if not metrics:
            reference_seconds, scale = seconds, CostScale(cost, zero_cost(data))
        log.info("%s: %.3f s, relative cost %.4f", contender.at, seconds, scale.relative(cost))
        metrics.append(context.metric(SECONDS, seconds, **contender.at))
        metrics.append(context.metric(SPEEDUP, reference_seconds / seconds, **contender.at))
        metrics += costs(context, cost, scale, **contender.at)
    metrics += random_control(context, data, plan.rank, scale)
    settings = spec.to_dict()
    names = ("sampling", "repetitions", "finishes", "workers", "sweeps", "repeats")
    return Outcome(metrics, notes={name: settings[name] for name in names})


def contenders(spec: Spec, plan: PlanSpec, seed: int) -> Iterator[Contender]:
    """Yield the full fits, then SCOUP for every sampling, finish and number of workers."""
    cores = max_threads()
    for name, options in FULL_FITS.items():
        estimator = CMTF(plan.rank, max_iter=spec.sweeps, tol=0.0, seed=seed, **options)
        repeats = 1 if name == "reference" else spec.repeats
        at = {"contender": name, "workers": cores, "sampling": "1", "finish": "none"}
        yield Contender(estimator, cores, repeats, at)
    for sampling, finish, workers in product(spec.sampling, spec.finishes, spec.workers):
        sampler = SCOUP(
            plan.rank, sampling=sampling, repetitions=spec.repetitions, shared=plan.shared,
            finish=finish, jobs=workers, seed=seed,
        )  # fmt: skip
        words = "x".join(f"{factor:g}" for factor in np.atleast_1d(sampling))
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


def _compile(data: CoupledData, contender: Contender) -> None:
    """Compile the kernels of a contender on the densest corner of the data; others may be empty."""
    indices = [np.sort(np.argsort(density)[-WARM_UP_INDICES:]) for density in densities(data)]
    short: dict[str, Any] = {"max_iter": 2}
    if isinstance(contender.estimator, SCOUP):
        short |= {"sampling": 1, "repetitions": 1}
    settings = {**contender.estimator.get_params(), **short}
    type(contender.estimator)(**settings).fit(data.select(indices))


def claims(metrics: Sequence[Metric]) -> list[Claim]:
    """Compare with the paper: 50 times at equal cost, 100 times at any, twice by the lemma."""
    rows = [
        (
            "time of plain ALS over that of SCOUP",
            "equal cost",
            50,
            _fastest(metrics, MAX_EQUAL_COST),
        ),
        ("time of plain ALS over that of SCOUP", "any cost", 100, _fastest(metrics, inf)),
        (
            "time of plain ALS over that of ALS by the lemma (paper: of the pseudoinverse alone)",
            "all data",
            2,
            pick(metrics, "speedup", contender="als"),
        ),
    ]
    return [
        Claim.of(
            text,
            runs,
            setting=setting,
            paper=str(bar),
            unit="ratio",
            bar=bar,
            controls={"plain": 1},
        )
        for text, setting, bar, runs in rows
        if runs
    ]


def _fastest(metrics: Sequence[Metric], bound: float) -> list[Metric]:
    """Return the speedups, one per seed, of SCOUP's fastest setting of median cost <= ``bound``."""
    settings = {
        tuple(sorted(run.at.items())) for run in pick(metrics, "speedup", contender="SCOUP")
    }
    runs = [
        pick(metrics, "speedup", **dict(setting))
        for setting in sorted(settings)
        if median(run.value for run in pick(metrics, "relative_cost", **dict(setting))) <= bound
    ]
    return max(runs, key=lambda group: median(run.value for run in group), default=[])
