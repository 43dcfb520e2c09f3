"""Stable voxels: the few that repeat themselves over presentations, chosen anew in each fold from its training nouns.

The mean correlation over pairs of presentations needs sums over nouns only, so that leaving two nouns out of a fold
takes two nouns' terms off the sums of all.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.errors import ScoupError
from scoup.experiments.leave_two_out import choices, folds, rival
from scoup.experiments.leave_two_out.folds import Products, Setting

log = logging.getLogger(__name__)
Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over nouns of one subject's presentations (p, n, V): of values, squares, and products of pairs."""

    values: Array
    single: Array
    squares: Array
    products: Array

    @staticmethod
    def of(presentations: Array) -> Sums:
        """Take the sums over all nouns."""
        values = np.asarray(presentations, dtype=np.float64)
        if values.ndim != 3 or len(values) < 2:
            raise ScoupError.expected(
                "presentations", "shape (two or more, nouns, voxels)", values.shape
            )
        return Sums(values, *_sums(values))

    def without(self, held: Array) -> Array:
        """Mean correlation (V,) over pairs of presentations of the nouns that are not ``held``."""
        count = self.values.shape[1] - len(held)
        parts = zip(
            (self.single, self.squares, self.products), _sums(self.values[:, held]), strict=True
        )
        single, squares, products = (whole - part for whole, part in parts)
        first, second = _pairs(len(single))
        spread = np.sqrt(np.maximum(squares - single**2 / count, 0.0))
        shared = products - single[first] * single[second] / count
        scale = spread[first] * spread[second]
        tiny = 1e-12 * squares.max(initial=1e-300)
        return np.divide(shared, scale, out=np.zeros_like(shared), where=scale > tiny).mean(axis=0)


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
    """Margins (2, pairs, K) of each subject alone on its ``count`` most stable voxels, by the model and by ridge."""
    names = (f"alone, {count} stable voxels", f"ridge, {count} stable voxels")
    found = np.empty((2, 2, len(pairs), len(presentations)))
    for subject, single in enumerate(presentations):
        sums, images = Sums.of(single), np.asarray(single, dtype=np.float64).mean(axis=0)
        for number, held in enumerate(pairs):
            chosen = np.sort(np.argpartition(-sums.without(held), count - 1)[:count])
            few = images[:, chosen]
            data = Products((few @ few.T)[:, None, :, None], answers)
            model = folds.match_folds(data, held[None], setting, [("least_squares", 1.0)])[0]
            for way, matches in enumerate((model, rival.match_ridge(data, held[None], alpha))):
                found[way, :, number, subject] = choices.margins(matches)[:, 0, 0, 1, 0]
        log.info("stable voxels of subject %d of %d", subject + 1, len(presentations))
    return dict(zip(names, found, strict=True))
