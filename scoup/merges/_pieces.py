"""What the merges share: merged pieces, and the rows that all repetitions have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.records import Sample

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Pieces:
    """Merged raw factors, and what the merge found out about the repetitions.

    Only the ``rows`` of each factor that some repetition holds are there; ``seen`` tells which of them the merge
    filled. On sparse data the others, zeros all, would take more memory than the data.
    """

    rows: tuple[Array, ...]
    flat: list[Array]
    seen: tuple[Array, ...]
    scores: tuple[float, ...]
    rejected: tuple[int, ...]
    reference: int
    consistent: bool

    def covered(self) -> Pieces:
        """Leave out the rows that were not filled."""
        if all(mask.all() for mask in self.seen):
            return self
        rows = tuple(index[mask] for index, mask in zip(self.rows, self.seen, strict=True))
        flat = [factor[mask] for factor, mask in zip(self.flat, self.seen, strict=True)]
        return replace(self, rows=rows, flat=flat, seen=tuple(mask[mask] for mask in self.seen))


def whole(flat: Sequence[Array], rows: Sequence[Array], sizes: Sequence[int]) -> list[Array]:
    """Put rows in their places, zeros elsewhere.

    >>> [factor.tolist() for factor in whole([np.ones((1, 1))], [np.array([1])], [3])]
    [[[0.0], [1.0], [0.0]]]
    """
    full = [
        np.zeros((size, part.shape[1]), part.dtype) for part, size in zip(flat, sizes, strict=True)
    ]
    for factor, index, part in zip(full, rows, flat, strict=True):
        factor[index] = part
    return full


def coverage(rows: Sequence[Array], sizes: Sequence[int]) -> tuple[Array, ...]:
    """Tell for each row of each factor whether it is among those given.

    >>> [mask.tolist() for mask in coverage([np.array([1])], [3])]
    [[False, True, False]]
    """
    masks = tuple(np.zeros(size, dtype=bool) for size in sizes)
    for mask, index in zip(masks, rows, strict=True):
        mask[index] = True
    return masks


def common_rows(flat: Sequence[Array], sample: Sample) -> list[Array]:
    """The rows of each factor that all repetitions share."""
    return [factor[rows] for factor, rows in zip(flat, sample.common_rows, strict=True)]


def sampled_rows(samples: Sequence[Sample]) -> tuple[Array, ...]:
    """For each factor, which of its rows any of the samples holds, in order.

    >>> common = (np.array([4]),)
    >>> [rows.tolist() for rows in sampled_rows([Sample(0, (np.array([n, 4]),), common) for n in (3, 0)])]
    [[0, 3, 4]]
    """
    positions = range(len(samples[0].indices))
    return tuple(
        np.unique(np.concatenate([sample.indices[n] for sample in samples])) for n in positions
    )
