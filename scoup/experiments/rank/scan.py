"""Scan ranks: how well each fits, what it predicts of hidden cells, and what another fit recovers.

Every fold hides cells of the tensor and fits the rest from a separate start, so that no hidden cell
has touched the model that predicts it. Split halves share no row of the mode that is split, so that
what they agree on is in the data.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from scoup import metrics
from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.experiments.rank import FoldCount, HiddenShare
from scoup.fit import fit
from scoup.holdout import hold_out
from scoup.match import congruence, match
from scoup.records import Array, Factors, Fit
from scoup.seeds import generator
from scoup.specs import Count, FitSpec, check

log = logging.getLogger(__name__)

DEFAULT_FIT = FitSpec(rank=1, max_iter=50, tol=1e-5)
MAX_CORE_NUMBERS = 10**7  # many modes at high rank have a larger core, which is not computed


@dataclass(frozen=True, eq=False)
class Look:
    """What one rank shows.

    ``errors``: squared error on the hidden cells of each fold over their squares; 1 is that of the
    zero model. ``seeds``, ``halves``: congruence (runs, F) of each component with its match in
    another fit, weakest first. ``core``: core consistency in percent, or None where it is not
    defined. ``triple``: smallest triple cosine.
    """

    rank: int
    best: Fit
    errors: Array
    seeds: Array
    halves: Array
    core: float | None
    triple: float


def scan(
    data: CoupledData,
    ranks: Iterable[int],
    *,
    hidden: float = 0.1,
    folds: int = 5,
    starts: int = 3,
    halves: int = 3,
    fit_spec: FitSpec = DEFAULT_FIT,
    seed: int = 0,
) -> list[Look]:
    """Look at every rank, lowest first.

    ``hidden`` is the share of the cells that each of ``folds`` hides, ``starts`` the number of fits
    to all data, ``halves`` the number of splits of the longest mode in two. ``fit_spec`` says how
    every fit is made; its rank is not used.

    >>> rng = np.random.default_rng(0)
    >>> A, B, C = (rng.standard_normal((size, 2)) for size in (9, 8, 7))
    >>> data = CoupledData(np.einsum("if,jf,kf->ijk", A, B, C))
    >>> looks = scan(data, ranks=(1, 2), folds=2, halves=1)
    >>> [bool(look.errors.mean() < 1e-3) for look in looks]
    [False, True]
    """
    specs = [fit_spec.replace(rank=rank) for rank in sorted(set(ranks))]
    if not specs:
        raise ScoupError.expected("ranks", "at least one rank", "none")
    check("hidden", hidden, HiddenShare)
    check("folds", folds, FoldCount)
    check("starts", starts, Count)
    check("halves", halves, Count)
    # Step by step, so that only one copy of the data is held at a time.
    errors = np.array(
        [_fold_errors(data, specs, hidden, derived_seed(seed, fold)) for fold in range(folds)]
    )
    agreements = [_split_agreements(data, specs, seed, number) for number in range(halves)]
    looks = []
    for position, spec in enumerate(specs):
        fits = fits_from_starts(data, spec, starts, seed)
        matches = [by_rank[position] for by_rank in agreements]
        looks.append(_look(data, fits, errors[:, position], matches))
        log.info("rank %d: error on hidden cells %.4f", spec.rank, looks[-1].errors.mean())
    return looks


def fits_from_starts(data: CoupledData, spec: FitSpec, starts: int, seed: int) -> list[Fit]:
    """Return a fit from each start, the best first."""
    fits = (fit(data, spec, derived_seed(seed, start)) for start in range(starts))
    return sorted(fits, key=lambda result: result.report.cost)


def _look(data: CoupledData, fits: Sequence[Fit], errors: Array, halves: Sequence[Array]) -> Look:
    best = fits[0].factors
    seeds = [agreement(best.flat, other.factors.flat) for other in fits[1:]]

    def table(rows: Sequence[Array]) -> Array:
        return np.array(rows).reshape(len(rows), best.rank)

    core, triple = _core(data, best), metrics.degeneracy(best)
    return Look(best.rank, fits[0], errors, table(seeds), table(halves), core, triple)


def _fold_errors(
    data: CoupledData, specs: Sequence[FitSpec], hidden: float, seed: int
) -> list[float]:
    """Return the error of every rank on the cells that one fold hides."""
    fold = hold_out(data, hidden, seed)
    return [
        metrics.held_out_error(fold.truth, fold.coords, fit(fold.data, spec, seed).factors)
        for spec in specs
    ]


def _core(data: CoupledData, factors: Factors) -> float | None:
    if data.blocks[0].mask is not None or factors.rank**data.ndim > MAX_CORE_NUMBERS:
        return None
    return metrics.core_consistency(data, factors)


def agreement(one: Sequence[Array], other: Sequence[Array]) -> Array:
    """Return the congruence (F,) of matched components of two models, weakest first.

    The mean is the factor match score; the first says whether *every* component was recovered.

    >>> agreement([np.eye(3)[:, :2]], [np.eye(3)[:, 1:]]).tolist()
    [0.0, 1.0]
    """
    return np.sort(match(congruence(one, other))[1])


def split(data: CoupledData, seed: int, number: int) -> tuple[int, CoupledData, CoupledData]:
    """Deal the indices of the longest mode into two halves; return that mode and both halves.

    >>> mode, one, two = split(CoupledData(np.ones((4, 9, 3))), seed=0, number=0)
    >>> mode, one.shape, two.shape
    (1, (4, 4, 3), (4, 5, 3))
    """
    mode = int(np.argmax(data.shape))
    order = generator(seed, "rank", "half", number).permutation(data.shape[mode])
    indices = [np.arange(size) for size in data.sizes]

    def half(chosen: Array) -> CoupledData:
        return data.select(
            [np.sort(chosen) if n == mode else index for n, index in enumerate(indices)]
        )

    middle = data.shape[mode] // 2
    return mode, half(order[:middle]), half(order[middle:])


def _split_agreements(
    data: CoupledData, specs: Sequence[FitSpec], seed: int, number: int
) -> list[Array]:
    """Return the agreement of two halves at every rank, without the factor of the split mode."""
    mode, *halves = split(data, seed, number)
    agreements = []
    for spec in specs:
        flats = [fit(half, spec, derived_seed(seed, number)).factors.flat for half in halves]
        one, other = ([factor for n, factor in enumerate(flat) if n != mode] for flat in flats)
        agreements.append(agreement(one, other))
    return agreements


def derived_seed(seed: int, number: int) -> int:
    """Return the seed of fold, start or split ``number``: a function of both alone.

    >>> derived_seed(0, 1) == derived_seed(0, 1) != derived_seed(1, 1)
    True
    """
    return int(generator(seed, "rank", number).integers(2**62))
