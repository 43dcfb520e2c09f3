"""Detect: factorize samples of a network and describe every component of every repetition, and of the merge.

Values. ``counts`` are posts; ``binary`` and ``log`` tame floods; ``rare`` divides each cell by the days on which
its two users met at all: long conversations, which otherwise drown everything, count for next to nothing, while a
poster who writes on many walls where he never writes, on one day, keeps all of his weight.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.coupled import CoupledData
from scoup.experiments.anomaly.kinds import Found, describe, rank
from scoup.fit import fit, repetition_seed
from scoup.merge import merge
from scoup.records import Factors, Fit, Sample
from scoup.sample import densities, draw
from scoup.specs import FitSpec, MergeSpec, SampleSpec, check_choice
from scoup.tensor import SparseTensor
from scoup.threads import one_thread

log = logging.getLogger(__name__)
Array = NDArray[Any]
VALUES = ("counts", "binary", "log", "rare")
SHOWN = 400  # entries of a factor column that a picture keeps


@dataclass(frozen=True)
class DetectSpec:
    """How cells are valued and weighed, and how samples are drawn, fitted and merged."""

    value: str
    weights: str | Sequence[float]
    sample: SampleSpec
    fit: FitSpec
    merge: MergeSpec
    jobs: int = 1

    def __post_init__(self) -> None:
        check_choice("value", self.value, VALUES)


def valued(posts: SparseTensor, value: str) -> SparseTensor:
    """Turn counts of posts into the values that are factorized.

    >>> posts = SparseTensor(np.array([[0, 0], [1, 1], [0, 3]]), np.array([4.0, 1.0]), (2, 2, 4))
    >>> valued(posts, "rare").values.tolist()
    [0.5, 0.5]
    """
    if value == "counts":
        return posts
    if value == "log":
        return posts.with_values(np.log1p(posts.values))
    if value == "binary":
        return posts.with_values(np.ones(posts.nnz))
    pair = posts.coords[0].astype(np.int64) * posts.shape[1] + posts.coords[1]
    _, place, count = np.unique(pair, return_inverse=True, return_counts=True)
    return posts.with_values(1.0 / count[place])


def prepare(data: CoupledData, spec: DetectSpec) -> CoupledData:
    """Value and weigh the data; matrices that count for nothing are left out, which spares their passes."""
    posts = data.blocks[0].values
    assert isinstance(posts, SparseTensor)
    values = valued(posts, spec.value)
    if not isinstance(spec.weights, str) and not any(list(spec.weights)[1:]):
        return CoupledData(values)
    return CoupledData(values, data.matrices, weights=spec.weights)


def detect(data: CoupledData, spec: DetectSpec, seed: int) -> dict[str, Any]:
    """Return the table of everything found, best first, and the panels of the strongest of each kind.

    ``data`` holds counts of posts. Each entry says from which repetition it comes; ``merged`` is their merge.
    """
    ready, posts = prepare(data, spec), data.blocks[0].values
    assert isinstance(posts, SparseTensor)
    samples = draw(ready, spec.sample, seed)
    fits = _fit_all(ready, samples, spec, seed)
    models = [
        (f"repetition {s.repetition}", f.factors, s.indices)
        for f, s in zip(fits, samples, strict=True)
    ]
    if len(fits) > 1:
        merged = merge(fits, samples, ready, spec.merge).factors
        models.append(("merged", merged, tuple(np.arange(len(mode)) for mode in merged.modes)))
    described = [
        [describe(m, f, at[:3], posts, name) for f in range(m.rank)] for name, m, at in models
    ]
    found = rank(one for model in described for some in model for one in some)
    log.info("%d components, %d different", sum(map(len, described)), len(found))
    return {
        "found": [asdict(one) for one in found],
        "components": sum(map(len, described)),
        "sizes": [list(s.sizes) for s in samples],
        "panels": list(_panels(found, models, described)),
    }


def _fit_all(
    data: CoupledData, samples: Sequence[Sample], spec: DetectSpec, seed: int
) -> list[Fit]:
    def one(sample: Sample) -> Fit:
        with one_thread():
            return _fit_alive(
                data.select(sample.indices), spec.fit, repetition_seed(seed, sample.repetition)
            )

    with ThreadPoolExecutor(max(1, spec.jobs)) as pool:
        return list(pool.map(one, samples))


def _fit_alive(data: CoupledData, spec: FitSpec, seed: int) -> Fit:
    """Fit the rows that the sample has any mass in; the others are zero, which is exact."""
    # A sample of so sparse a tensor may well hold no post at all: one row stays, and its component is empty.
    alive = [
        rows if (rows := np.flatnonzero(density > 0)).size else np.zeros(1, int)
        for density in densities(data)
    ]
    small = fit(data.select(alive), spec, seed)
    flat = [np.zeros((size, spec.rank)) for size in data.sizes]
    for whole, part, rows in zip(flat, small.factors.flat, alive, strict=True):
        whole[rows] = part
    factors = Factors.from_flat(small.factors.weights, flat, data.owners)
    return Fit(factors, small.report)


def _panels(
    found: Sequence[Found], models: Sequence[Any], described: Sequence[Sequence[Sequence[Found]]]
) -> Iterator[Any]:
    """Give the factor columns of the strongest component that is of a kind by itself, its largest entries only."""
    own: dict[Any, list[tuple[float, int, int]]] = {}
    for number, model in enumerate(described):
        for column, readings in enumerate(model):
            if readings:
                own.setdefault(readings[0].name, []).append((readings[0].weight, number, column))
    drawn: set[str] = set()
    for best in found:
        if best.kind not in drawn and best.name in own:
            drawn.add(best.kind)
            _, number, column = max(own[best.name])
            _, factors, indices = models[number]
            columns = [
                _entries(mode[:, column], at)
                for mode, at in zip(factors.modes, indices, strict=False)
            ]
            counts = next(iter(described[number][column])).counts
            yield {"found": {**asdict(best), "counts": counts}, "columns": columns}


def _entries(vector: Array, index: Array) -> dict[str, list[Any]]:
    order = np.sort(np.argsort(-np.abs(vector), kind="stable")[:SHOWN])
    order = order[vector[order] != 0]
    top = vector[np.abs(vector).argmax()]
    return {"index": index[order].tolist(), "value": (vector[order] / top).round(6).tolist()}
