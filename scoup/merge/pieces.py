"""What the merges share: merged pieces, and the rows that all repetitions have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.records import Sample

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Pieces:
    """Merged raw factors with coverage, and what the merge found out about the repetitions."""

    flat: list[Array]
    coverage: tuple[Array, ...]
    scores: tuple[float, ...]
    rejected: tuple[int, ...]
    reference: int
    consistent: bool


def common_rows(flat: Sequence[Array], sample: Sample) -> list[Array]:
    """The rows of each factor that all repetitions share."""
    return [factor[rows] for factor, rows in zip(flat, sample.common_rows, strict=True)]


def covered(samples: Sequence[Sample], sizes: Sequence[int]) -> tuple[NDArray[np.bool_], ...]:
    """For each factor, which of its rows any of the samples holds."""
    masks = tuple(np.zeros(size, dtype=bool) for size in sizes)
    for sample in samples:
        for mask, index in zip(masks, sample.indices, strict=True):
            mask[index] = True
    return masks
