"""Result files of the stages: index sets, fits, merged models, hidden cells, and metrics with their meaning.

Seconds are never written beside numbers that can be made again to the byte: they have files of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup import store
from scoup.errors import ScoupError
from scoup.records import Fit, FitReport, Merged, MergeReport, Sample

Array = NDArray[Any]
SAMPLES, TRUTH, MATERIAL = "samples", "truth", "material"
DIRECTIONS = ("higher", "lower", "none")


@dataclass(frozen=True)
class Measure:
    """What a number means: its unit, which way is better, and between which bounds it must lie.

    >>> Measure("accuracy", "share", "higher", 0.0, 1.0, "pairs decided rightly").text
    'pairs decided rightly'
    """

    name: str
    unit: str
    direction: str
    low: float | None = None
    high: float | None = None
    text: str = ""

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise ScoupError.expected(f"direction of {self.name}", f"one of {DIRECTIONS}", repr(self.direction))


@dataclass(frozen=True)
class Metric:
    """One measured number with all that is needed to read it alone.

    ``at`` says where on the axes of its experiment it was measured, such as ``{"repetitions": 3, "merge": "joint"}``.
    """

    name: str
    value: float
    unit: str
    direction: str
    range: tuple[float | None, float | None]
    text: str
    experiment: str
    dataset: str
    variant: str
    plan: str
    seed: int
    provenance: str
    at: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        low, high = self.range
        if not math.isfinite(self.value):
            raise ScoupError.expected(f"metric {self.name}", "a finite number", self.value)
        if (low is not None and self.value < low) or (high is not None and self.value > high):
            raise ScoupError.expected(f"metric {self.name}", f"a value from {low} to {high}", self.value)


@dataclass(frozen=True)
class Context:
    """Where the metrics of one job come from; it turns measured values into metrics.

    >>> context = Context("accuracy", "brainq", "whole", "scoup", 0, "simulated")
    >>> context.metric(Measure("relative_cost", "ratio", "lower", 0.0), 1.5, repetitions=2).at
    {'repetitions': 2}
    """

    experiment: str
    dataset: str
    variant: str
    plan: str
    seed: int
    provenance: str

    def metric(self, measure: Measure, value: float, **at: Any) -> Metric:
        """Return ``value`` of ``measure`` as a metric of this context, measured ``at`` these coordinates."""
        bounds = (measure.low, measure.high)
        return Metric(
            measure.name, float(value), measure.unit, measure.direction, bounds, measure.text,
            **asdict(self), at=at,
        )  # fmt: skip

    def on(self, **changes: Any) -> Context:
        """Return the same context with another variant, plan or seed."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Claim:
    """One claim of the paper beside what was measured: the median over runs, its quartiles, and whether it holds.

    ``holds`` is None where the paper gives no number to compare with.
    """

    experiment: str
    claim: str
    paper: str
    unit: str
    ours: float
    low: float
    high: float
    runs: int
    provenance: str
    holds: bool | None

    @classmethod
    def of(cls, texts: tuple[str, str, str], runs: Sequence[Metric], bar: float | None, higher: bool = True) -> Claim:
        """Judge the median of ``runs`` against ``bar``; ``texts`` are the claim, the paper's number and the unit."""
        low, ours, high = (float(q) for q in np.quantile([run.value for run in runs], [0.25, 0.5, 0.75]))
        holds = None if bar is None else bool(ours >= bar if higher else ours <= bar)
        return cls(runs[0].experiment, *texts, ours, low, high, len(runs), runs[0].provenance, holds)


def pick(metrics: Iterable[Metric], name: str, **where: Any) -> list[Metric]:
    """Return the metrics called ``name`` whose fields or coordinates have the values given."""
    return [metric for metric in metrics if metric.name == name and _lies(metric, where)]


def _lies(metric: Metric, where: Mapping[str, Any]) -> bool:
    missing = object()
    return all(metric.at.get(key, getattr(metric, key, missing)) == value for key, value in where.items())


def write_metrics(path: store.PathLike, metrics: Iterable[Metric], notes: Mapping[str, Any] | None = None) -> None:
    """Write metrics as JSON; ``notes`` are plain facts about them all, such as the settings of the experiment."""
    rows = [asdict(metric) for metric in metrics]
    if not rows:
        raise ScoupError.expected("metrics", "at least one", "none", f"{path} would say nothing")
    store.write_json(path, {"metrics": rows, "notes": dict(notes or {})})


def read_metrics(*paths: store.PathLike) -> list[Metric]:
    """Read the metrics of one file or more."""
    rows = [row for path in paths for row in store.read_json(path)["metrics"]]
    return [Metric(**{**row, "range": tuple(row["range"])}) for row in rows]


def write_samples(path: store.PathLike, samples: Sequence[Sample]) -> None:
    """Write the index sets of all repetitions of a plan."""
    arrays = {f"common.{n}": common for n, common in enumerate(samples[0].common)}
    for sample in samples:
        arrays |= {f"rep{sample.repetition}.{n}": index for n, index in enumerate(sample.indices)}
    store.write_archive(path, SAMPLES, {"factors": len(samples[0].common), "repetitions": len(samples)}, arrays)


def read_samples(path: store.PathLike) -> list[Sample]:
    """Read what :func:`write_samples` wrote."""
    meta, arrays = store.read_archive(path, SAMPLES)
    common = tuple(arrays[f"common.{n}"] for n in range(meta["factors"]))
    return [
        Sample(rep, tuple(arrays[f"rep{rep}.{n}"] for n in range(meta["factors"])), common)
        for rep in range(meta["repetitions"])
    ]


def write_fit(path: store.PathLike, fit: Fit) -> None:
    """Write a fit without its seconds."""
    store.write_factors(path, fit.factors, asdict(replace(fit.report, seconds={})))


def read_fit(path: store.PathLike) -> Fit:
    """Read what :func:`write_fit` wrote."""
    return Fit(store.read_factors(path), FitReport(**_tuples(FitReport, store.read_factors_meta(path))))


def write_merged(path: store.PathLike, merged: Merged) -> None:
    """Write a merged model without its seconds."""
    store.write_factors(path, merged.factors, asdict(replace(merged.report, seconds={})))


def read_merged(path: store.PathLike) -> Merged:
    """Read what :func:`write_merged` wrote."""
    return Merged(store.read_factors(path), MergeReport(**_tuples(MergeReport, store.read_factors_meta(path))))


def _tuples(record: type, meta: Mapping[str, Any]) -> dict[str, Any]:
    """Turn JSON's lists back into the tuples of a record."""
    kinds = {item.name: str(item.type) for item in fields(record)}
    return {name: tuple(value) if kinds[name].startswith("tuple") else value for name, value in meta.items()}


def write_truth(path: store.PathLike, coords: Array, truth: Array) -> None:
    """Write the hidden cells: coords (N, n) and their values (n,)."""
    store.write_archive(path, TRUTH, {}, {"coords": coords.astype(np.int32), "truth": truth})


def read_truth(path: store.PathLike) -> tuple[Array, Array]:
    """Read what :func:`write_truth` wrote."""
    _, arrays = store.read_archive(path, TRUTH)
    return arrays["coords"], arrays["truth"]
