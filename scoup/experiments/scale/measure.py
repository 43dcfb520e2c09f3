"""Scale: what sampling saves when the tensor stays on disk and every sweep must read it."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.estimators import CMTF, SCOUP
from scoup.evidence import Claim, Context, Measure, Metric, pick
from scoup.experiments._controls import EXPLAINED, CostScale
from scoup.experiments._records import Inputs, Outcome
from scoup.experiments.scale import Spec
from scoup.machine import forget_peak, peak_megabytes, release
from scoup.metrics import zero_cost
from scoup.records import Array, FitReport
from scoup.sample import densities
from scoup.sharded import ShardedTensor
from scoup.specs import PlanSpec

SECONDS = Measure("seconds", "s", "lower", 0.0, None, "wall-clock time from shards to model")
PASSES = Measure("passes_read", "passes", "lower", 0.0, None, "how often all shards were read")
MEMORY = Measure(
    "peak_memory", "MB", "lower", 0.0, None,
    "most memory that the process held, libraries included",
)  # fmt: skip
FOUND = Measure(
    "members_found", "share", "higher", 0.0, 1.0,
    "share of a group among as many users with the largest entries of a component",
)  # fmt: skip
SAMPLED, STREAMED, IN_MEMORY, EARLY = "SCOUP", "streaming ALS", "ALS in memory", "ALS, same passes"
HEAVIEST, ANYBODY = "heaviest users", "users at random"
MIN_EXPLAINED_SHARE, MIN_FOUND_SHARE = 0.99, 0.8


@dataclass(frozen=True, eq=False)
class Run:
    """A fit: its factor of users, the cost after each sweep (of SCOUP the last), and its price."""

    users: Array
    costs: Sequence[float]
    seconds: float
    passes: float
    megabytes: float


def measure(inputs: Inputs, spec: Spec, context: Context) -> Outcome:
    """Return what each contender explains and finds, its time and its passes."""
    plan, data = inputs.model(spec.plan).spec, inputs.view(spec.plan)
    tensor = data.blocks[0].values
    groups = [
        np.array(g["users"]) for g in inputs.planted.get("planted", []) if g["kind"] == "group"
    ]
    if not isinstance(tensor, ShardedTensor) or not groups:
        raise ScoupError.expected("data", "shards with planted groups", "none", "kind: events")
    runs = {SAMPLED: _run(_sampler(plan, context.seed), data)}
    exact = CMTF(plan.rank, init="random", max_iter=spec.sweeps, tol=0.0, seed=context.seed)
    runs[STREAMED] = _run(exact, data)
    if tensor.nnz <= spec.memory_cells:
        runs[IN_MEMORY] = _run(exact, data.select([np.arange(size) for size in data.sizes]))
    metrics = list(_costs(runs, CostScale(runs[STREAMED].costs[-1], zero_cost(data)), context))
    columns = {name: np.abs(run.users) for name, run in runs.items()}
    columns[HEAVIEST] = densities(data)[0][:, None]
    columns[ANYBODY] = np.roll(columns[SAMPLED], len(columns[SAMPLED]) // 2, axis=0)
    metrics += _groups(columns, groups, context)
    metrics = [replace(metric, at={**metric.at, "cells": tensor.nnz}) for metric in metrics]
    return Outcome(metrics, notes={"sweeps": spec.sweeps})


def _sampler(plan: PlanSpec, seed: int) -> SCOUP:
    settings = {name: getattr(plan, name) for name in SCOUP().get_params() if hasattr(plan, name)}
    return SCOUP(**settings, seed=seed)


def _run(estimator: CMTF | SCOUP, data: CoupledData) -> Run:
    release()
    forget_peak()
    tensor, started = data.blocks[0].values, time.perf_counter()
    before = tensor.passes if isinstance(tensor, ShardedTensor) else 0
    estimator.fit(data)
    seconds = time.perf_counter() - started
    after = tensor.passes if isinstance(tensor, ShardedTensor) else 0
    report = estimator.report_
    costs = report.losses if isinstance(report, FitReport) else (report.cost,)
    return Run(estimator.factors_.modes[0], costs, seconds, after - before, peak_megabytes())


def _costs(runs: dict[str, Run], scale: CostScale, context: Context) -> Iterator[Metric]:
    """Yield time, memory, passes and explained share of each run; that of ALS after each sweep."""
    for name, run in runs.items():
        yield context.metric(SECONDS, run.seconds, contender=name)
        yield context.metric(MEMORY, run.megabytes, contender=name)
        if run.passes:
            yield context.metric(PASSES, run.passes, contender=name)
    exact, sampled = runs[STREAMED], runs[SAMPLED]
    # The last pass is for the final cost only.
    per_sweep, sampled_passes = (exact.passes - 1) / len(exact.costs), round(sampled.passes, 2)
    for sweep, cost in enumerate(exact.costs, start=1):
        passes, share = sweep * per_sweep, scale.explained(cost)
        yield context.metric(EXPLAINED, share, contender=STREAMED, passes=passes)
    share = scale.explained(sampled.costs[-1])
    yield context.metric(EXPLAINED, share, contender=SAMPLED, passes=sampled_passes)
    sweeps = min(ceil(sampled_passes / per_sweep), len(exact.costs))
    share = scale.explained(exact.costs[sweeps - 1])
    yield context.metric(EXPLAINED, share, contender=EARLY, passes=sampled_passes)


def _groups(
    columns: dict[str, Array], groups: Sequence[Array], context: Context
) -> Iterator[Metric]:
    """Yield the share of each group that the best component of each contender holds at its top."""
    for name, matrix in columns.items():
        for number, members in enumerate(groups):
            top = np.argpartition(-matrix, members.size, axis=0)[: members.size]
            found = np.isin(top, members).mean(axis=0).max()
            at = {"contender": name, "group": number, "members": members.size}
            yield context.metric(FOUND, found, **at)


def claims(metrics: Sequence[Metric]) -> list[Claim]:
    """Judge whether SCOUP explains as much as ALS in fewer passes, and finds the groups."""
    rows = []
    for dataset in dict.fromkeys(metric.dataset for metric in pick(metrics, PASSES.name)):
        here = [metric for metric in metrics if metric.dataset == dataset]
        passes = pick(here, PASSES.name, contender=SAMPLED)[0]
        setting = f"{passes.at['cells']:,} cells on disk, {passes.value:.1f} passes"
        for peak in pick(here, MEMORY.name, contender=SAMPLED)[:1]:
            setting += f", {peak.value:.0f} MB"
        facts: dict[str, Any] = {"setting": setting, "paper": "-", "unit": "share"}
        early = {EARLY: pick(here, EXPLAINED.name, contender=EARLY)}
        explained = pick(here, EXPLAINED.name, contender=SAMPLED)
        text = "SCOUP explains as much as exact ALS after many more passes"
        rows.append(Claim.of(text, explained, bar=MIN_EXPLAINED_SHARE, controls=early, **facts))
        nulls = {name: pick(here, FOUND.name, contender=name) for name in (HEAVIEST, ANYBODY)}
        found = pick(here, FOUND.name, contender=SAMPLED)
        text = "groups of 20 to 200 users are found"
        rows.append(Claim.of(text, found, bar=MIN_FOUND_SHARE, controls=nulls, **facts))
    return rows
