"""The records that pass between stages. Each checks itself when it is made and never changes."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from scoup.errors import ScoupError

Array = NDArray[Any]


def as_lists(groups: Mapping[int, Any]) -> dict[int, list[Any]]:
    """Return ``{mode: item or list of items}`` as ``{mode: list of items}``, sorted by mode.

    >>> as_lists({2: "c", 0: ("a", "b")})
    {0: ['a', 'b'], 2: ['c']}
    """
    return {
        int(mode): list(groups[mode]) if isinstance(groups[mode], (list, tuple)) else [groups[mode]]
        for mode in sorted(groups)
    }


def by_mode(items: Sequence[Any], owners: Sequence[int]) -> dict[int, list[Any]]:
    """Group a flat list, one item per matrix, by the mode of each matrix.

    >>> by_mode("xyz", [0, 0, 2])
    {0: ['x', 'y'], 2: ['z']}
    """
    groups: dict[int, list[Any]] = {}
    for item, owner in zip(items, owners, strict=True):
        groups.setdefault(owner, []).append(item)
    return groups


@dataclass(frozen=True, eq=False)
class Factors:
    """A coupled factorization of rank F.

    The tensor is ``sum_f weights[f] a_f o b_f o c_f ...`` with ``modes = (A, B, C, ...)``; the
    matrix i on mode m is ``modes[m] @ sides[m][i].T``. A single side per mode may be passed without
    its list. ``coverage`` holds a boolean mask for each of ``[*modes, *sides]``: rows that were
    never sampled are zero and False, so that they are not mistaken for rows that truly are zero.

    >>> modes = tuple(np.ones((n, 2)) for n in (3, 4, 5))
    >>> factors = Factors(np.ones(2), modes, {0: np.ones((6, 2))})
    >>> factors.rank, factors.names, len(factors.sides[0])
    (2, ['mode0', 'mode1', 'mode2', 'side0'], 1)
    """

    weights: Array
    modes: tuple[Array, ...]
    sides: dict[int, Any] = field(default_factory=dict)
    coverage: tuple[NDArray[np.bool_], ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.modes, (list, tuple)) or not self.modes:
            raise ScoupError.expected("modes", "a factor per mode", type(self.modes).__name__)
        object.__setattr__(self, "modes", tuple(self.modes))
        if not isinstance(self.sides, Mapping) or set(self.sides) - set(range(len(self.modes))):
            raise ScoupError.expected("sides", "a dict {mode: side factors}", repr(self.sides)[:60])
        object.__setattr__(self, "sides", as_lists(self.sides))
        rank = np.shape(self.weights)
        for name, array in zip(["weights", *self.names], [self.weights, *self.flat], strict=True):
            if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu":
                raise ScoupError.expected(name, "an array of numbers", type(array).__name__)
        if len(rank) != 1:
            raise ScoupError.expected(
                "weights", "a vector, one number per component", f"shape {rank}"
            )
        for name, factor in zip(self.names, self.flat, strict=True):
            if factor.ndim != 2 or factor.shape[1] != rank[0]:
                raise ScoupError.expected(name, f"{rank[0]} columns", f"shape {factor.shape}")
        if not self.coverage:
            masks = tuple(np.ones(len(factor), dtype=bool) for factor in self.flat)
            object.__setattr__(self, "coverage", masks)
        if [len(mask) for mask in self.coverage] != [len(factor) for factor in self.flat]:
            sizes = [np.shape(mask) for mask in self.coverage]
            raise ScoupError.expected("coverage", "one mask per factor, one entry per row", sizes)

    @classmethod
    def from_flat(
        cls,
        weights: Array,
        flat: Sequence[Array],
        owners: Sequence[int],
        coverage: Sequence[Array] = (),
    ) -> Factors:
        """Build factors from the list ``[*modes, *sides]``; ``owners`` are the modes of the sides.

        >>> Factors.from_flat(np.ones(1), [np.ones((2, 1))] * 5, [0, 0]).names
        ['mode0', 'mode1', 'mode2', 'side0', 'side1']
        """
        order = len(flat) - len(owners)
        sides = by_mode(flat[order:], owners)
        return cls(weights, tuple(flat[:order]), sides, tuple(coverage))

    @property
    def rank(self) -> int:
        """Number of components F."""
        return len(self.weights)

    @property
    def flat(self) -> list[Array]:
        """All factor matrices: modes, then sides by mode and position."""
        return [*self.modes, *(side for group in self.sides.values() for side in group)]

    @property
    def owners(self) -> list[int]:
        """The mode of each side, in the order of :attr:`flat`."""
        return [mode for mode, group in self.sides.items() for _ in group]

    @property
    def names(self) -> list[str]:
        """Names of the matrices in :attr:`flat`."""
        modes = [f"mode{n}" for n in range(len(self.modes))]
        return [*modes, *(f"side{n}" for n in range(len(self.owners)))]

    def replace_flat(self, flat: Sequence[Array], weights: Array | None = None) -> Factors:
        """Return factors of the same layout and coverage with other matrices."""
        weights = self.weights if weights is None else weights
        return Factors.from_flat(weights, flat, self.owners, self.coverage)


@dataclass(frozen=True, eq=False)
class Labels:
    """What the indices of one mode (or of the columns of one matrix) stand for.

    ``name`` says what an index is (``noun``, ``voxel``, ``day``), ``ids`` names each one, and
    ``columns`` add facts about each, such as the category of a noun or the x of a voxel.

    >>> len(Labels("noun", np.array(["bear", "cat"]), {"category": np.array(["animal", "animal"])}))
    2
    """

    name: str
    ids: Array
    columns: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key, column in {"ids": self.ids, **self.columns}.items():
            if (
                np.ndim(column) != 1
                or np.size(column) != np.size(self.ids)
                or np.asarray(column).dtype.hasobject
            ):
                got = f"shape {np.shape(column)} of {np.asarray(column).dtype}"
                raise ScoupError.expected(
                    f"{self.name}.{key}", f"{np.size(self.ids)} plain values", got
                )

    def __len__(self) -> int:
        return int(np.size(self.ids))


@dataclass(frozen=True)
class SourceFile:
    """One raw file: where it came from and what it was.

    ``time`` is when it was downloaded; empty for simulated files.
    """

    name: str
    address: str
    sha256: str
    bytes: int
    time: str = ""


@dataclass(frozen=True)
class Provenance:
    """Where a data set came from and why; it travels with the data into every number and picture.

    ``source`` is ``download``, ``cache``, ``local`` or ``simulate``; ``reason`` says why, in a few
    words.

    >>> Provenance("brainq", "simulate", "no host could be reached", seed=0, size="tiny").mark
    'simulated'
    """

    dataset: str
    source: str
    reason: str = ""
    files: tuple[SourceFile, ...] = ()
    size: str = "full"
    seed: int | None = None
    licence: str = ""
    citation: str = ""

    def __post_init__(self) -> None:
        if self.source not in ("download", "cache", "local", "simulate"):
            raise ScoupError.expected(
                "source", "download, cache, local or simulate", repr(self.source)
            )
        object.__setattr__(
            self,
            "files",
            tuple(f if isinstance(f, SourceFile) else SourceFile(**f) for f in self.files),
        )

    @property
    def simulated(self) -> bool:
        """Whether the data is a simulated stand-in."""
        return self.source == "simulate"

    @property
    def mark(self) -> str:
        """The word for titles, tags and captions: ``simulated`` or ``real``."""
        return "simulated" if self.simulated else "real"


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
            if np.any(np.diff(index) <= 0) or not np.isin(common, index).all():
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


# What is measured: the meaning of a number, the number in its context, and a claim about it.

DIRECTIONS = ("higher", "lower", "none")


@dataclass(frozen=True)
class Measure:
    """What a number means: its unit, which direction is better, and its bounds.

    >>> Measure("accuracy", "share", "higher", 0.0, 1.0, "pairs matched correctly").text
    'pairs matched correctly'
    """

    name: str
    unit: str
    direction: str
    low: float | None = None
    high: float | None = None
    text: str = ""

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise ScoupError.expected(
                f"direction of {self.name}", f"one of {DIRECTIONS}", repr(self.direction)
            )


@dataclass(frozen=True)
class Metric:
    """One measured number with all that is needed to understand it on its own.

    ``at`` holds its coordinates on the axes of the experiment, such as
    ``{"repetitions": 3, "merge": "joint"}``.
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
            raise ScoupError.expected(
                f"metric {self.name}", f"a value from {low} to {high}", self.value
            )


@dataclass(frozen=True)
class Context:
    """Where the metrics of one job come from; turns measured values into metrics.

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
        """Return ``value`` of ``measure`` as a metric of this context with coordinates ``at``."""
        bounds = (measure.low, measure.high)
        return Metric(
            measure.name, float(value), measure.unit, measure.direction, bounds, measure.text,
            **asdict(self), at=at,
        )  # fmt: skip

    def on(self, **changes: Any) -> Self:
        """Return the same context with another variant, plan or seed."""
        return replace(self, **changes)


# A claim whose control passes too says nothing about the method.
VERDICTS = ("holds", "does not hold", "cannot tell")


@dataclass(frozen=True)
class Claim:
    """A claim of the paper next to what was measured and to what a control reaches.

    ``ours`` is the median over the runs, ``low`` and ``high`` are its quartiles, and ``bar`` is
    what the median must reach (from above unless ``higher``). ``setting`` names what the row is
    about; ``controls`` maps the name of a null or control to what it got; ``note`` adds what a
    reader must know, such as "by construction".

    A claim without a control is refused, since nobody could tell what it says: an experiment whose
    control was not measured makes no claim.
    """

    experiment: str
    claim: str
    setting: str
    paper: str
    unit: str
    bar: float
    higher: bool
    ours: float
    low: float
    high: float
    runs: int
    provenance: str
    controls: Mapping[str, float]
    verdict: str
    note: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ScoupError.expected("verdict", f"one of {VERDICTS}", repr(self.verdict))
        if not self.controls:
            raise ScoupError.expected(
                f"controls of {self.claim!r}",
                "the name of a null or control and what it got",
                "none",
                "measure one, or make no claim",
            )
        numbers = [self.bar, self.ours, self.low, self.high, *self.controls.values()]
        if not all(math.isfinite(number) for number in numbers):
            raise ScoupError.expected(f"claim {self.claim!r}", "finite numbers", numbers)

    @classmethod
    def of(
        cls,
        text: str,
        runs: Sequence[Metric],
        *,
        setting: str,
        paper: str,
        unit: str,
        bar: float,
        controls: Mapping[str, float | Sequence[Metric]],
        higher: bool = True,
        note: str = "",
    ) -> Self:
        """Compare the median of ``runs``, and of each control, with ``bar``.

        A control is a number or the metrics of its runs; without runs it was not measured, and is
        left out. The claim does not hold if our median misses the bar; if some control reaches it
        too, the claim says nothing: "cannot tell".

        >>> context = Context("accuracy", "brainq", "whole", "scoup", 0, "simulated")
        >>> runs = [context.metric(Measure("purity", "share", "higher"), 0.7)]
        >>> facts = {"setting": "rank 5", "paper": "shown", "unit": "share", "bar": 0.6}
        >>> Claim.of("groups are pure", runs, controls={"dealt at random": 0.3}, **facts).verdict
        'holds'
        >>> Claim.of("groups are pure", runs, controls={"matrix alone": 0.7}, **facts).verdict
        'cannot tell'
        """
        low, ours, high = (
            float(q) for q in np.quantile([run.value for run in runs], [0.25, 0.5, 0.75])
        )
        measured = {name: control for name, control in controls.items() if control != []}
        medians = {name: _median(control) for name, control in measured.items()}
        passes = {name: value >= bar if higher else value <= bar for name, value in medians.items()}
        verdict = "cannot tell" if any(passes.values()) else "holds"
        if not (ours >= bar if higher else ours <= bar):
            verdict = "does not hold"
        return cls(
            runs[0].experiment, text, setting, paper, unit, bar, higher, ours, low, high,
            len(runs), runs[0].provenance, medians, verdict, note,
        )  # fmt: skip


def _median(control: float | Sequence[Metric]) -> float:
    values = [control] if isinstance(control, (int, float)) else [run.value for run in control]
    return float(np.median(values))


def controls_text(claim: Mapping[str, Any]) -> str:
    """Return the controls of a claim in words.

    >>> controls_text({"controls": {"ridge": 0.72, "chance": 0.5}})
    'ridge: 0.72; chance: 0.5'
    """
    return "; ".join(f"{name}: {value:.3g}" for name, value in claim["controls"].items())


def pick(metrics: Iterable[Metric], name: str, **where: Any) -> list[Metric]:
    """Return the metrics called ``name`` whose fields and coordinates equal ``where``."""
    return [metric for metric in metrics if metric.name == name and _matches(metric, where)]


def _matches(metric: Metric, where: Mapping[str, Any]) -> bool:
    absent = object()
    return all(
        metric.at.get(key, getattr(metric, key, absent)) == value for key, value in where.items()
    )
