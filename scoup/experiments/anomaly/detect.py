"""Detect: describe every component of every repetition of a plan, and of their merge."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from scoup.experiments._records import Model
from scoup.experiments.anomaly.kinds import Finding, best_first, describe, largest
from scoup.records import Array, Factors
from scoup.tensor import SparseTensor

log = logging.getLogger(__name__)
MAX_PANEL_ENTRIES = 400  # of a factor column in a figure


@dataclass(frozen=True)
class Table:
    """Everything that one plan finds, best first.

    ``components`` is the number of components read; ``panels`` hold the factor columns of the
    strongest component of each kind.
    """

    findings: Sequence[Finding]
    components: int
    panels: Sequence[dict[str, Any]]


@dataclass(frozen=True, eq=False)
class _Source:
    """Factors of one repetition or of the merge, and what their rows stand for."""

    name: str
    factors: Factors
    indices: Sequence[Array]


def detect(model: Model, posts: SparseTensor, modes: Sequence[int] = (0, 1, 2)) -> Table:
    """Describe all components of a plan; ``posts`` are the counts, whatever the plan made of them.

    ``modes`` are those of the model that are whom, who and when, as in ``posts``. Each finding says
    which repetition it comes from; ``merged`` is their merge, which is read only if there are
    several.
    """
    sources = [
        _Source(
            f"repetition {sample.repetition}",
            _ordered(fit.factors, modes),
            [sample.indices[mode] for mode in modes],
        )
        for fit, sample in zip(model.fits, model.samples, strict=True)
    ]
    if len(model.fits) > 1:
        merged = _ordered(model.merged.factors, modes)
        sources.append(_Source("merged", merged, [np.arange(len(mode)) for mode in merged.modes]))
    described = [
        [
            describe(source.factors, column, source.indices, posts, source.name)
            for column in range(source.factors.rank)
        ]
        for source in sources
    ]
    findings = best_first(
        finding for columns in described for readings in columns for finding in readings
    )
    components = sum(map(len, described))
    log.info("%s: %d components, %d different", model.plan, components, len(findings))
    return Table(findings, components, list(_panels(findings, sources, described)))


def _ordered(factors: Factors, modes: Sequence[int]) -> Factors:
    """Return the factors of the tensor's modes in another order, without those of matrices."""
    return Factors(factors.weights, tuple(factors.modes[mode] for mode in modes))


def _panels(
    findings: Sequence[Finding],
    sources: Sequence[_Source],
    described: Sequence[Sequence[Sequence[Finding]]],
) -> Iterator[dict[str, Any]]:
    """Yield the largest entries of the strongest component whose first reading is of a kind."""
    first_readings: dict[Any, list[tuple[float, int, int]]] = {}
    for number, columns in enumerate(described):
        for column, readings in enumerate(columns):
            if readings:
                first = readings[0]
                first_readings.setdefault(first.name, []).append((first.weight, number, column))
    drawn: set[str] = set()
    for best in findings:
        if best.kind not in drawn and best.name in first_readings:
            drawn.add(best.kind)
            _, number, column = max(first_readings[best.name])
            source = sources[number]
            yield {
                "found": {**asdict(best), "counts": described[number][column][0].counts},
                "columns": [
                    _entries(mode[:, column], index)
                    for mode, index in zip(source.factors.modes, source.indices, strict=True)
                ],
            }


def _entries(vector: Array, index: Array) -> dict[str, list[Any]]:
    rows = np.sort(largest(vector, MAX_PANEL_ENTRIES))
    rows = rows[vector[rows] != 0]
    top = vector[np.abs(vector).argmax()]
    return {"index": index[rows].tolist(), "value": (vector[rows] / top).round(6).tolist()}
