"""A scan of ranks: for each, how well it fits, what it predicts of hidden cells, and what comes back when fitted again.

Every fold hides cells of the tensor and fits the rest from a start of its own, so that no hidden cell has touched the
model that predicts it. Split halves share no row of the mode that is split, so that what they agree on is in the data.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup import metrics
from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.factors import congruence, match
from scoup.fit import fit
from scoup.holdout import hold_out
from scoup.records import Factors, Fit
from scoup.seeds import generator
from scoup.specs import FitSpec, check_integer, check_number

log = logging.getLogger(__name__)
Array = NDArray[Any]

# A core of more numbers than this is not looked at: many modes at high rank.
LARGEST_CORE = 10**7


@dataclass(frozen=True)
class ScanSpec:
    """Which ranks are tried and how: ``hidden`` share of the cells in each of ``folds``, ``starts`` and ``halves``.

    >>> ScanSpec(ranks=(3, 1, 2)).ranks
    (1, 2, 3)
    """

    ranks: Sequence[int]
    hidden: float = 0.1
    folds: int = 5
    starts: int = 3
    halves: int = 3
    fit: FitSpec = field(default=FitSpec(rank=1, max_iter=50, tol=1e-5))

    def __post_init__(self) -> None:
        ranks = tuple(sorted({check_integer("ranks", rank, 1) for rank in self.ranks}))
        if not ranks:
            raise ScoupError.expected("ranks", "at least one rank", "none")
        object.__setattr__(self, "ranks", ranks)
        check_number("hidden", self.hidden, 0.01, 0.5)
        for name, least in (("folds", 2), ("starts", 1), ("halves", 1)):
            check_integer(name, getattr(self, name), least)


@dataclass(frozen=True, eq=False)
class Look:
    """What one rank shows.

    ``errors``: squared error on the hidden cells of each fold over their squares, so that 1 is the zero model's.
    ``seeds``, ``halves``: congruence (runs, F) of each component with its match in another fit, weakest first.
    ``core``: core consistency in percent, or None where it is not defined. ``triple``: smallest triple cosine.
    """

    rank: int
    best: Fit
    errors: Array
    seeds: Array
    halves: Array
    core: float | None
    triple: float


def scan(data: CoupledData, spec: ScanSpec, seed: int = 0) -> list[Look]:
    """Look at every rank of ``spec``, lowest first.

    >>> rng = np.random.default_rng(0)
    >>> data = CoupledData(np.einsum("if,jf,kf->ijk", *(rng.standard_normal((n, 2)) for n in (9, 8, 7))))
    >>> looks = scan(data, ScanSpec(ranks=(1, 2), folds=2, halves=1))
    >>> [bool(look.errors.mean() < 1e-3) for look in looks]
    [False, True]
    """
    specs = [replace(spec.fit, rank=rank) for rank in spec.ranks]
    # Part by part, so that one copy of the data is held at a time.
    errors = np.array(
        [_predict(data, specs, spec.hidden, fold_seed(seed, n)) for n in range(spec.folds)]
    )
    agreed = [_halves(data, specs, seed, n) for n in range(spec.halves)]
    looks = []
    for place, one in enumerate(specs):
        fits = sorted(
            (fit(data, one, fold_seed(seed, n)) for n in range(spec.starts)),
            key=lambda f: f.report.cost,
        )
        halves = [found[place] for found in agreed]
        looks.append(_look(data, fits, errors[:, place], halves))
        log.info("rank %d: error on hidden cells %.4f", one.rank, looks[-1].errors.mean())
    return looks


def _look(data: CoupledData, fits: Sequence[Fit], errors: Array, halves: Sequence[Array]) -> Look:
    best = fits[0].factors
    seeds = [agreement(best.flat, other.factors.flat) for other in fits[1:]]
    return Look(
        best.rank, fits[0], errors, _rows(seeds, best.rank), _rows(halves, best.rank),
        _core(data, best), metrics.degeneracy(best),
    )  # fmt: skip


def _rows(found: Sequence[Array], rank: int) -> Array:
    return np.array(found).reshape(len(found), rank)


def _predict(data: CoupledData, specs: Sequence[FitSpec], hidden: float, seed: int) -> list[float]:
    """Error of every rank on the cells that one fold hides."""
    fold = hold_out(data, hidden, seed)
    return [
        metrics.held_out_error(fold.truth, fold.coords, fit(fold.data, one, seed).factors)
        for one in specs
    ]


def _core(data: CoupledData, factors: Factors) -> float | None:
    if data.blocks[0].mask is not None or factors.rank**data.ndim > LARGEST_CORE:
        return None
    return metrics.core_consistency(data, factors)


def agreement(one: Sequence[Array], other: Sequence[Array]) -> Array:
    """Congruence (F,) of the components of two models after the best matching, weakest first.

    Their mean is the factor match score; the first tells whether *every* component was found again.

    >>> agreement([np.eye(3)[:, :2]], [np.eye(3)[:, 1:]]).tolist()
    [0.0, 1.0]
    """
    return np.sort(match(congruence(one, other))[1])


def split(data: CoupledData, seed: int, number: int) -> tuple[int, CoupledData, CoupledData]:
    """Deal the indices of the longest mode into two halves; return that mode and the data of each half.

    >>> mode, one, two = split(CoupledData(np.ones((4, 9, 3))), seed=0, number=0)
    >>> mode, one.shape, two.shape
    (1, (4, 4, 3), (4, 5, 3))
    """
    mode = int(np.argmax(data.shape))
    order = generator(seed, "rank", "half", number).permutation(data.shape[mode])
    everything = [np.arange(size) for size in data.sizes]

    def half(chosen: Array) -> CoupledData:
        return data.select(
            [np.sort(chosen) if n == mode else index for n, index in enumerate(everything)]
        )

    middle = data.shape[mode] // 2
    return mode, half(order[:middle]), half(order[middle:])


def _halves(data: CoupledData, specs: Sequence[FitSpec], seed: int, number: int) -> list[Array]:
    """Agreement of two halves at every rank, on all factors but that of the mode that was split."""
    mode, *halves = split(data, seed, number)
    found = []
    for one in specs:
        flats = [fit(half, one, fold_seed(seed, number)).factors.flat for half in halves]
        found.append(
            agreement(*([factor for n, factor in enumerate(flat) if n != mode] for flat in flats))
        )
    return found


def fold_seed(seed: int, number: int) -> int:
    """The seed of fold, start or split ``number``: a function of both alone.

    >>> fold_seed(0, 1) == fold_seed(0, 1) != fold_seed(1, 1)
    True
    """
    return int(generator(seed, "rank", number).integers(2**62))
