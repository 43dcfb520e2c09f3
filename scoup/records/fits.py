"""What passes through sample, fit and merge."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from scoup.errors import ScoupError
from scoup.records.factors import Array, Factors


@dataclass(frozen=True, eq=False)
class Sample:
    """The indices of one repetition: sorted arrays, one for each of ``[*modes, *sides]``.

    ``common`` are those shared by every repetition, a subset of ``indices``.

    >>> sample = Sample(0, (np.array([1, 4, 6]),), (np.array([4]),))
    >>> sample.sizes, [rows.tolist() for rows in sample.common_rows]
    ((3,), [[1]])
    """

    repetition: int
    indices: tuple[Array, ...]
    common: tuple[Array, ...]

    def __post_init__(self) -> None:
        for index, common in zip(self.indices, self.common, strict=True):
            places = np.searchsorted(index, common)
            held = places.max(initial=-1) < len(index) and np.array_equal(index[places], common)
            if np.any(np.diff(index) <= 0) or not held:
                raise ScoupError.expected(
                    "sample", "sorted unique indices with the common ones among them", index
                )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of sampled indices of each factor."""
        return tuple(len(index) for index in self.indices)

    @property
    def common_rows(self) -> list[Array]:
        """Positions of the common indices within ``indices``."""
        return [
            np.searchsorted(index, common)
            for index, common in zip(self.indices, self.common, strict=True)
        ]


class Clock:
    """Adds up the seconds of named phases, for a report.

    >>> clock = Clock()
    >>> with clock("solve"):
    ...     pass
    >>> list(clock.seconds)
    ['solve']
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        """Time the body and add it to ``phase``."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - start


@dataclass(frozen=True, eq=False)
class FitReport:
    """What happened in one fit: every loss, how it stopped, where the time went.

    >>> report = FitReport((3.0, 2.0), {"tensor": 2.0}, {"tensor": 0.5}, "converged", "als")
    >>> report.cost, report.iterations
    (2.0, 2)
    """

    losses: tuple[float, ...]
    block_losses: dict[str, float]
    block_fits: dict[str, float]
    stop: str
    solver: str
    compressed: bool = False
    starts: tuple[float, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def cost(self) -> float:
        """The objective at the end."""
        return self.losses[-1]

    @property
    def iterations(self) -> int:
        """Number of sweeps (or accepted steps) made."""
        return len(self.losses)


@dataclass(frozen=True, eq=False)
class Fit:
    """Factors of one data set or sample, with the report of how they were found."""

    factors: Factors
    report: FitReport


@dataclass(frozen=True, eq=False)
class MergeReport:
    """What happened in a merge.

    ``scores`` holds the factor match score of each repetition with the reference repetition,
    ``rejected`` the repetitions left out, ``coverage`` the share of rows covered in each factor.
    """

    cost: float
    block_losses: dict[str, float]
    block_fits: dict[str, float]
    scores: tuple[float, ...]
    rejected: tuple[int, ...]
    reference: int
    coverage: tuple[float, ...]
    output_size: int
    consistent: bool = True
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Merged:
    """The merged factors and the report of the merge."""

    factors: Factors
    report: MergeReport
