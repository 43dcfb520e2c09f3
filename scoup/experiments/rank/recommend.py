"""Which rank to take, and why: the decision that a scan of ranks supports, or that it supports none.

Two witnesses that fail in different ways. Error on hidden cells says which ranks predict as well as any; it is flat
above the right one. Split halves say whether every component comes back; they are blind to what is still missing.
The recommendation is the largest rank that both support, and "not sure" where there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.errors import ScoupError
from scoup.experiments.rank.scan import Look

Array = NDArray[Any]

# Ranks whose error is this many standard errors (of the difference, over folds) above the least count as equal to
# it, and so do those that lose less than this share of what the best rank explains beyond the first one tried: of
# data that is all positive one component explains nearly everything, and says nothing about the others.
ERRORS_APART = 2.0
NEGLIGIBLE = 0.01
# The weakest component of two halves has at least this congruence where all of them came back.
FOUND_AGAIN = 0.6
# Of two starts: they see the same data, so they must agree better than halves.
SAME_AGAIN = 0.9
DEGENERATE = -0.85
CORE_FINE = 50.0


@dataclass(frozen=True)
class Recommendation:
    """A rank or None for "not sure", the rank that is best to look at in any case, and the reasons in sentences.

    >>> Recommendation(None, 1, ("Nothing predicts the hidden cells.",)).words
    'not sure'
    """

    rank: int | None
    shown: int
    reasons: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The recommendation as a reader would say it."""
        return "not sure" if self.rank is None else f"rank {self.rank}"


def recommend(looks: Sequence[Look]) -> Recommendation:
    """Choose the largest rank that predicts as well as any and whose components all come back in split halves."""
    if not looks:
        raise ScoupError.expected("looks", "at least one rank", "none")
    errors = np.array([look.errors for look in looks])
    best = int(np.argmin(np.median(errors, axis=1)))
    if not _better(1.0 - errors[best]):
        why = f"No rank predicts the hidden cells better than zero does (relative error {_error(looks[best]):.3f})."
        return Recommendation(None, looks[0].rank, (why,), _warnings(looks[0]))
    if best == len(looks) - 1 and best > 0 and not _alike(errors, best - 1, best):
        why = f"The error on hidden cells still falls at the largest rank tried, {looks[best].rank}: try larger ones."
        return _unsure(looks, looks[best], (why,))
    alike = [n for n in range(len(looks)) if _alike(errors, n, best)]
    return _by_halves(looks, alike)


def _by_halves(looks: Sequence[Look], alike: Sequence[int]) -> Recommendation:
    """Of the ranks that predict alike, take the largest whose components all come back."""
    low, high = looks[alike[0]], looks[alike[-1]]
    told = f"Hidden cells are predicted best by rank {low.rank}" + (
        f", and no better by any up to {high.rank}" if high is not low else ""
    )
    error = f"{told} (relative error {_error(low):.3f}, that of zero being 1)."
    stable = [looks[n] for n in alike if weakest(looks[n].halves) >= FOUND_AGAIN]
    if stable:
        chosen = stable[-1]
        score = weakest(chosen.halves)
        back = f"At rank {chosen.rank} every component comes back in split halves (weakest congruence {score:.2f})."
        return Recommendation(chosen.rank, chosen.rank, (error, back), _warnings(chosen))
    worst = f"But its components do not all come back in split halves (weakest congruence {weakest(low.halves):.2f})."
    return _unsure(looks, low, (error, worst))


def _unsure(looks: Sequence[Look], best: Look, reasons: tuple[str, ...]) -> Recommendation:
    """Recommend nothing, and name the largest rank that could still be looked at."""
    stable = [
        look for look in looks if look.rank < best.rank and weakest(look.halves) >= FOUND_AGAIN
    ]
    if not stable:
        return Recommendation(None, best.rank, reasons, _warnings(best))
    hint = f"The largest rank whose components all come back in split halves is {stable[-1].rank}; it predicts worse."
    return Recommendation(None, stable[-1].rank, (*reasons, hint), _warnings(stable[-1]))


def weakest(agreed: Array) -> float:
    """Median over runs of the congruence of the component that matched worst; runs are rows, weakest first.

    >>> weakest(np.array([[0.25, 0.9], [0.75, 1.0]]))
    0.5
    """
    return float(np.median(agreed[:, 0])) if len(agreed) else 1.0


def _error(look: Look) -> float:
    return float(np.median(look.errors))


def _better(gains: Array) -> bool:
    """Whether gains over folds are clear of zero."""
    return bool(gains.mean() > ERRORS_APART * gains.std(ddof=1) / np.sqrt(gains.size))


def _alike(errors: Array, one: int, best: int) -> bool:
    """Whether rank ``one`` predicts as well as ``best``, fold by fold, but for chance or next to nothing."""
    lost = errors[one] - errors[best]
    gained = np.median(errors[0]) - np.median(errors[best])
    return not _better(lost) or bool(np.median(lost) <= NEGLIGIBLE * gained)


def _warnings(look: Look) -> tuple[str, ...]:
    """What speaks against a rank that the two witnesses do not see."""
    found = []
    if look.triple <= DEGENERATE:
        found.append(
            f"Degenerate at rank {look.rank}: two components cancel each other (triple cosine {look.triple:.2f})."
        )
    if look.core is not None and look.core < CORE_FINE:
        found.append(
            f"Core consistency is {look.core:.0f} % at rank {look.rank}: so many components do not fit a diagonal core."
        )
    if weakest(look.seeds) < SAME_AGAIN:
        found.append(f"Different starts end in different components at rank {look.rank}.")
    return tuple(found)
