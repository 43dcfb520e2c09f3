"""All candidates of leave-two-out on the same folds: what they have in common is computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from scoup.experiments.leave_two_out.folds import Matches, fit_folds, predict, starts
from scoup.experiments.leave_two_out.prepared import (
    PreparedFolds,
    Products,
    Setting,
    batches,
    prepare_strengths,
)
from scoup.experiments.leave_two_out.rival import ridge_folds
from scoup.records import Array


@dataclass(frozen=True)
class Grid:
    """Candidates: each strength with each weight, rank and way, a pair of rule and ridge.

    ``alphas`` are the penalties of ridge regression, the rival, tried with each strength. With
    ``alone``, each subject is fitted alone as well.
    """

    weights: Sequence[float | str]
    ranks: Sequence[int]
    ways: Sequence[tuple[str, float]]
    strengths: Sequence[float | None] = (None,)
    alphas: Sequence[float] = ()
    alone: bool = False


def scores(
    data: Products, held: Array, setting: Setting, grid: Grid, score: Callable[[Matches], Array]
) -> dict[str, Array]:
    """Return ``score(matches)`` of all folds, by contender: (candidates, 2, folds, ...).

    Contenders are ``model``, ``alone`` and ``ridge``. Candidates are in the order strengths,
    weights, ranks, ways, those of ridge in the order strengths, alphas. ``score`` returns
    (2, folds, ...).
    """
    tables: dict[str, dict[int, list[Array]]] = {}
    for part in batches(held, data.nouns, data.subjects, max(grid.ranks)):
        numbers = {"model": count(), "alone": count(), "ridge": count()}
        for contender, matches in _each_match(data, held[part], setting, grid):
            table = tables.setdefault(contender, {})
            table.setdefault(next(numbers[contender]), []).append(score(matches))
    return {
        contender: np.stack([np.concatenate(parts, axis=1) for parts in table.values()])
        for contender, table in tables.items()
    }


def _each_match(
    data: Products, held: Array, setting: Setting, grid: Grid
) -> Iterator[tuple[str, Matches]]:
    """Yield the matches of all candidates, with the name of the contender."""
    singles = range(data.subjects if grid.alone else 0)
    alone = [data.only(subject) for subject in singles]
    for folds in prepare_strengths(data, held, setting, grid.strengths):
        for weight in grid.weights:
            for matches in _match_ranks(data, folds.weighted(weight), held, setting, grid):
                yield "model", matches
            tables = [
                _match_ranks(alone[k], folds.only(k).weighted(weight), held, setting, grid)
                for k in singles
            ]
            for parts in zip(*tables, strict=True):
                yield "alone", _join_subjects(parts)
        for alpha in grid.alphas:
            yield "ridge", ridge_folds(folds, held, alpha)


def _match_ranks(
    data: Products, fold: PreparedFolds, held: Array, setting: Setting, grid: Grid
) -> Iterator[Matches]:
    start = starts(fold, max(grid.ranks))
    if data.subjects == 1:  # the start is the optimum already
        setting = replace(setting, sweeps=0)
    for rank in grid.ranks:
        model = fit_folds(data, fold, setting, start[:, :rank])
        for rule, ridge in grid.ways:
            yield predict(fold, model, held, rule, ridge)


def _join_subjects(parts: Sequence[Matches]) -> Matches:
    return Matches(
        np.concatenate([part.distance for part in parts], axis=-1),
        np.concatenate([part.cosine for part in parts], axis=-1),
    )
