"""Rank: how many components the data supports, by four signs at every rank, and what those components are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.coupled import Dataset
from scoup.experiments.rank.recommend import recommend
from scoup.experiments.rank.scan import Look
from scoup.factors import upright
from scoup.measures import Claim, Context, Measure, Metric
from scoup.records import Factors, Labels

Array = NDArray[Any]
Row = dict[str, Any]

FIT = Measure(
    "block_fit", "share", "higher", None, 1.0, "1 - squared error over squares of a block"
)
CORE = Measure(
    "core_consistency",
    "percent",
    "higher",
    None,
    100.0,
    "closeness of the best core to the ideal one",
)
ERROR = Measure(
    "held_out_error",
    "ratio",
    "lower",
    0.0,
    None,
    "squared error on the hidden cells over their squares",
)
SEEDS = Measure(
    "match_seeds", "score", "higher", 0.0, 1.0, "factor match score of another start with the best"
)
HALVES = Measure(
    "match_halves", "score", "higher", 0.0, 1.0, "factor match score of two halves of the data"
)
WEAKEST = Measure(
    "weakest_halves",
    "score",
    "higher",
    0.0,
    1.0,
    "congruence of the component that halves agree on least",
)
TRIPLE = Measure(
    "triple_cosine",
    "cosine",
    "none",
    -1.0,
    1.0,
    "smallest between two components; -1 where they cancel",
)
CHOSEN = Measure(
    "recommended_rank",
    "components",
    "none",
    0.0,
    None,
    "the rank to take; 0 where the scan is not sure",
)


def measure(looks: Sequence[Look], context: Context) -> list[Metric]:
    """Return every number of the scan, and the rank that it recommends."""
    found = [metric for look in looks for metric in _measure(look, context)]
    return [*found, context.metric(CHOSEN, recommend(looks).rank or 0)]


def _measure(look: Look, context: Context) -> list[Metric]:
    rank, fits = look.rank, look.best.report.block_fits
    many: list[tuple[Measure, float, Row]] = [
        *((ERROR, value, {"fold": n}) for n, value in enumerate(look.errors)),
        *((SEEDS, run.mean(), {"start": n + 1}) for n, run in enumerate(look.seeds)),
        *((HALVES, run.mean(), {"split": n}) for n, run in enumerate(look.halves)),
        *((WEAKEST, run[0], {"split": n}) for n, run in enumerate(look.halves)),
        *((FIT, value, {"block": name}) for name, value in fits.items()),
    ]
    core = [] if look.core is None else [context.metric(CORE, min(look.core, 100.0), rank=rank)]
    rest = [context.metric(what, value, rank=rank, **at) for what, value, at in many]
    return [*rest, *core, context.metric(TRIPLE, np.clip(look.triple, -1.0, 1.0), rank=rank)]


def strongest(factors: Factors, labels: Sequence[Labels], top: int) -> list[Row]:
    """List the ``top`` labels of each factor for each component, strongest first, signs as :func:`upright` sets them.

    Without ``labels`` indices stand for themselves.

    >>> factors = Factors(np.array([2.0]), tuple(np.array([[0.6], [-0.8]]) for _ in range(3)))
    >>> [(row["mode"], row["label"], row["loading"]) for row in strongest(factors, (), top=1)]
    [('mode0', '1', -0.8), ('mode1', '1', 0.8), ('mode2', '1', 0.8)]
    """
    shown = upright(factors)
    names = labels or [
        Labels(name, np.arange(len(f))) for name, f in zip(shown.names, shown.flat, strict=True)
    ]
    return [
        {
            "component": f + 1,
            "weight": round(float(shown.weights[f]), 6),
            "mode": label.name,
            "place": place + 1,
            "label": str(label.ids[index]),
            "loading": round(float(factor[index, f]), 6),
        }
        for f in range(shown.rank)
        for label, factor in zip(names, shown.flat, strict=True)
        for place, index in enumerate(_strongest(factor[:, f], top))
    ]


def _strongest(column: Array, top: int) -> Array:
    return np.argsort(-np.abs(column), kind="stable")[:top]


def material(
    looks: Sequence[Look], dataset: Dataset, top: int, context: Context
) -> tuple[Row, dict[str, Array]]:
    """Return what the figure and the page show: the recommendation with its reasons, and the components' labels."""
    advice = recommend(looks)
    shown = next(look for look in looks if look.rank == advice.shown)
    facts = {
        **vars(context),
        **vars(advice),
        "words": advice.words,
        "components": strongest(shown.best.factors, dataset.labels, top),
        "blocks": _matrix_names(dataset),
    }
    return facts, {}


def _matrix_names(dataset: Dataset) -> dict[str, str]:
    """What each matrix is called in a figure: by what its rows and columns are."""
    names = [label.name for label in dataset.labels]
    return {
        block.name: " x ".join(names[n] for n in block.factors)
        for block in dataset.data.blocks[1:]
        if names
    }


def claims(found: Sequence[Metric]) -> list[Claim]:
    """Return nothing: the paper takes its ranks as given."""
    del found
    return []
