"""Stable voxels: those that repeat themselves over presentations, selected anew in each fold.

Only training nouns count. The mean correlation over pairs of presentations needs sums over nouns
only, so that a fold subtracts the terms of its two test nouns from the sums over all.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from scoup.errors import ScoupError
from scoup.experiments.leave_two_out import choices, folds, rival
from scoup.experiments.leave_two_out.prepared import Products, Setting, prepare
from scoup.records import Array

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class PresentationSums:
    """Sums over nouns of one subject's presentations (p, n, V): values, squares, pair products."""

    values: Array
    totals: Array
    squares: Array
    products: Array

    @staticmethod
    def of(presentations: Array) -> PresentationSums:
        """Sum over all nouns."""
        values = np.asarray(presentations, dtype=np.float64)
        if values.ndim != 3 or len(values) < 2:
            raise ScoupError.expected(
                "presentations", "shape (two or more, nouns, voxels)", values.shape
            )
        return PresentationSums(values, *_sums(values))

    def without(self, held: Array) -> Array:
        """Return the mean correlation (V,) over pairs of presentations, nouns ``held`` left out."""
        count = self.values.shape[1] - len(held)
        parts = zip(
            (self.totals, self.squares, self.products), _sums(self.values[:, held]), strict=True
        )
        totals, squares, products = (everything - part for everything, part in parts)
        first, second = _pairs(len(totals))
        spread = np.sqrt(np.maximum(squares - totals**2 / count, 0.0))
        covariance = products - totals[first] * totals[second] / count
        scale = spread[first] * spread[second]
        tiny = 1e-12 * squares.max(initial=1e-300)
        correlation = np.divide(
            covariance, scale, out=np.zeros_like(covariance), where=scale > tiny
        )
        return correlation.mean(axis=0)


def _pairs(count: int) -> Array:
    return np.array(list(combinations(range(count), 2))).T


def _sums(values: Array) -> tuple[Array, Array, Array]:
    first, second = _pairs(len(values))
    products = np.stack(
        [np.einsum("nv,nv->v", values[a], values[b]) for a, b in zip(first, second, strict=True)]
    )
    return values.sum(axis=1), np.einsum("pnv,pnv->pv", values, values), products


def contenders(
    presentations: Sequence[Array],
    answers: Array,
    pairs: Array,
    count: int,
    setting: Setting,
    alpha: float,
) -> dict[str, Array]:
    """Return margins (2, pairs, K) of each subject alone on its ``count`` most stable voxels.

    One table is that of the coupled model, the other that of ridge regression; both have their
    images prepared by ``setting``.
    """
    names = (f"alone, {count} stable voxels", f"ridge, {count} stable voxels")
    margins = np.empty((2, 2, len(pairs), len(presentations)))
    for subject, single in enumerate(presentations):
        sums, images = (
            PresentationSums.of(single),
            np.asarray(single, dtype=np.float64).mean(axis=0),
        )
        for number, held in enumerate(pairs):
            voxels = np.sort(np.argpartition(-sums.without(held), count - 1)[:count])
            selected = images[:, voxels]
            data = Products((selected @ selected.T)[:, None, :, None], answers)
            model = folds.match_folds(data, held[None], setting, [("least_squares", 1.0)])[0]
            ridge = rival.ridge_folds(prepare(data, held[None], setting), held[None], alpha)
            for way, matches in enumerate((model, ridge)):
                margins[way, :, number, subject] = choices.margins(matches)[:, 0, 0, 1, 0]
        log.info("stable voxels of subject %d of %d", subject + 1, len(presentations))
    return dict(zip(names, margins, strict=True))
