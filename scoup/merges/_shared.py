"""What the merges share: the record of a matching, and the rows that repetitions hold."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scoup.records import Array, Sample


@dataclass(frozen=True, eq=False)
class Matching:
    """Which rows of each factor are covered, and what a merge found out about the repetitions.

    ``scores`` are the match of each repetition with the ``reference``, ``rejected`` those left out;
    ``consistent`` tells whether all factors of a repetition got the same permutation.
    """

    rows: tuple[Array, ...]
    scores: tuple[float, ...]
    rejected: tuple[int, ...]
    reference: int
    consistent: bool


def common_rows(flat: Sequence[Array], sample: Sample) -> list[Array]:
    """Return the rows of each factor that all repetitions share."""
    return [factor[rows] for factor, rows in zip(flat, sample.common_rows, strict=True)]


def sampled_rows(samples: Sequence[Sample]) -> tuple[Array, ...]:
    """Return for each factor the rows that any of the samples holds, in order.

    >>> samples = [Sample(0, (np.array([n, 4]),), (np.array([4]),)) for n in (3, 0)]
    >>> [rows.tolist() for rows in sampled_rows(samples)]
    [[0, 3, 4]]
    """
    columns = zip(*(sample.indices for sample in samples), strict=True)
    return tuple(np.unique(np.concatenate(indices)) for indices in columns)
