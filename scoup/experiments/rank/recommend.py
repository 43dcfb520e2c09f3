"""Which rank to take, and why: what a scan of ranks supports, if it supports any.

Two witnesses that fail in different ways. The error on hidden cells says which ranks predict as
well as any; it is flat above the right one. Split halves say whether every component is recovered;
they are blind to what is still missing. The recommendation is the largest rank that both support,
and "not sure" where there is none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scoup.errors import ScoupError
from scoup.experiments.rank import DEGENERATE_COSINE
from scoup.experiments.rank.scan import Look
from scoup.records import Array

# A rank counts as equal to the best one if its error is larger by fewer standard errors than this
# (of the difference, over folds), or if it loses less than this share of what the best rank gains
# over the first one tried: of data that is all positive one component explains nearly everything,
# and says nothing about the others.
MAX_STANDARD_ERRORS = 2.0
NEGLIGIBLE_SHARE = 0.01
# All components are recovered if the weakest one has at least this congruence in two halves ...
MIN_HALVES_CONGRUENCE = 0.6
# ... or this one from two starts: these see the same data, so they must agree better than halves.
MIN_STARTS_CONGRUENCE = 0.9
MIN_CORE_PERCENT = 50.0


@dataclass(frozen=True)
class Recommendation:
    """A rank or None for "not sure", the best rank to look at in any case, and the reasons.

    >>> Recommendation(None, 1, ("Nothing predicts the hidden cells.",)).words
    'not sure'
    """

    rank: int | None
    shown: int
    reasons: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The recommendation in words."""
        return "not sure" if self.rank is None else f"rank {self.rank}"


def recommend(looks: Sequence[Look]) -> Recommendation:
    """Choose the largest rank that predicts as well as any and is recovered from split halves."""
    if not looks:
        raise ScoupError.expected("looks", "at least one rank", "none")
    errors = np.array([look.errors for look in looks])
    middles = np.median(errors, axis=1)
    # A rank at which a fold went astray is no reason to give up those that predict in all of them.
    predicts = [_clearly_positive(1.0 - folds) for folds in errors]
    best = int(np.argmin(np.where(predicts, middles, np.inf) if any(predicts) else middles))
    if not predicts[best]:
        why = (
            "No rank predicts the hidden cells better than zero does "
            f"(relative error {_error(looks[best]):.3f})."
        )
        return Recommendation(None, looks[0].rank, (why,), _warnings(looks[0]))
    if best == len(looks) - 1 and best > 0 and not _alike(errors, best - 1, best):
        why = (
            "The error on hidden cells still falls at the largest rank tried, "
            f"{looks[best].rank}: try larger ones."
        )
        return _unsure(looks, looks[best], (why,))
    alike = [n for n in range(len(looks)) if predicts[n] and _alike(errors, n, best)]
    return _by_halves(looks, [looks[n] for n in alike])


def _by_halves(looks: Sequence[Look], alike: Sequence[Look]) -> Recommendation:
    """Of the ranks that predict alike, take the largest whose components are all recovered."""
    low, high = alike[0], alike[-1]
    text = f"Hidden cells are predicted best by rank {low.rank}" + (
        f", and no better by any up to {high.rank}" if high is not low else ""
    )
    error = f"{text} (relative error {_error(low):.3f}, that of zero being 1)."
    stable = [look for look in alike if weakest(look.halves) >= MIN_HALVES_CONGRUENCE]
    if not stable:
        lost = (
            "But its components do not all come back in split halves "
            f"(weakest congruence {weakest(low.halves):.2f})."
        )
        return _unsure(looks, low, (error, lost))
    chosen = stable[-1]
    recovered = (
        f"At rank {chosen.rank} every component comes back in split halves "
        f"(weakest congruence {weakest(chosen.halves):.2f})."
    )
    warnings = (*_at_end(looks, chosen), *_warnings(chosen))
    return Recommendation(chosen.rank, chosen.rank, (error, recovered), warnings)


def _at_end(looks: Sequence[Look], chosen: Look) -> tuple[str, ...]:
    """Say that a better rank may lie beyond those that were tried."""
    if len(looks) == 1:
        return (f"Rank {chosen.rank} is the only one that was tried: try others.",)
    if chosen is looks[-1]:
        return (f"Rank {chosen.rank} is the largest that was tried: try larger ones.",)
    if chosen is looks[0] and chosen.rank > 1:
        return (f"Rank {chosen.rank} is the smallest that was tried: try smaller ones.",)
    return ()


def _unsure(looks: Sequence[Look], best: Look, reasons: tuple[str, ...]) -> Recommendation:
    """Recommend nothing, and name the largest rank that could still be looked at."""
    stable = [
        look
        for look in looks
        if look.rank < best.rank and weakest(look.halves) >= MIN_HALVES_CONGRUENCE
    ]
    if not stable:
        return Recommendation(None, best.rank, reasons, _warnings(best))
    hint = (
        "The largest rank whose components all come back in split halves is "
        f"{stable[-1].rank}; it predicts worse."
    )
    return Recommendation(None, stable[-1].rank, (*reasons, hint), _warnings(stable[-1]))


def weakest(congruences: Array) -> float:
    """Return the median over runs (rows, weakest first) of the weakest component's congruence.

    >>> weakest(np.array([[0.25, 0.9], [0.75, 1.0]]))
    0.5
    """
    return float(np.median(congruences[:, 0])) if len(congruences) else 1.0


def _error(look: Look) -> float:
    return float(np.median(look.errors))


def _clearly_positive(gains: Array) -> bool:
    """Whether the mean gain over folds is clear of zero."""
    return bool(gains.mean() > MAX_STANDARD_ERRORS * gains.std(ddof=1) / np.sqrt(gains.size))


def _alike(errors: Array, number: int, best: int) -> bool:
    """Whether a rank predicts as well as the best one, fold by fold, up to chance or a trifle."""
    lost = errors[number] - errors[best]
    gained = np.median(errors[0]) - np.median(errors[best])
    return not _clearly_positive(lost) or bool(np.median(lost) <= NEGLIGIBLE_SHARE * gained)


def _warnings(look: Look) -> tuple[str, ...]:
    """Return what speaks against a rank and is not seen by the two witnesses."""
    warnings = []
    if look.triple <= DEGENERATE_COSINE:
        warnings.append(
            f"Degenerate at rank {look.rank}: two components cancel each other "
            f"(triple cosine {look.triple:.2f})."
        )
    if look.core is not None and look.core < MIN_CORE_PERCENT:
        warnings.append(
            f"Core consistency is {look.core:.0f} % at rank {look.rank}: so many components do "
            "not fit a diagonal core."
        )
    if weakest(look.seeds) < MIN_STARTS_CONGRUENCE:
        warnings.append(f"Different starts end in different components at rank {look.rank}.")
    return tuple(warnings)
