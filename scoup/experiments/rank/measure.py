"""Rank: scan ranks, recommend one or none, and name what its components are made of."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from scoup.coupled import Dataset
from scoup.evidence import Context, Measure, Metric
from scoup.experiments._records import Inputs, Outcome
from scoup.experiments.rank import Spec
from scoup.experiments.rank.recommend import recommend
from scoup.experiments.rank.scan import Look, agreement, fits_from_starts, scan
from scoup.factors import upright
from scoup.records import Array, Factors, Labels
from scoup.specs import FitSpec

FIT = Measure(
    "block_fit", "share", "higher", None, 1.0, "1 - squared error over squares of a block"
)
CORE = Measure(
    "core_consistency", "percent", "higher", None, 100.0,
    "closeness of the best core to the ideal one",
)  # fmt: skip
ERROR = Measure(
    "held_out_error", "ratio", "lower", 0.0, None,
    "squared error on the hidden cells over their squares",
)  # fmt: skip
SEEDS = Measure(
    "match_seeds", "score", "higher", 0.0, 1.0, "factor match score of another start with the best"
)
HALVES = Measure(
    "match_halves", "score", "higher", 0.0, 1.0, "factor match score of two halves of the data"
)
WEAKEST = Measure(
    "weakest_halves", "score", "higher", 0.0, 1.0,
    "congruence of the component that halves agree on least",
)  # fmt: skip
TRIPLE = Measure(
    "triple_cosine", "cosine", "none", -1.0, 1.0,
    "smallest between two components; -1 where they cancel",
)  # fmt: skip
RECOMMENDED = Measure(
    "recommended_rank", "components", "none", 0.0, None,
    "the rank to take; 0 where the scan is not sure",
)  # fmt: skip


def measure(inputs: Inputs, spec: Spec, context: Context) -> Outcome:
    """Return every number of a scan, and the rank that it recommends with the reasons."""
    settings = {name: getattr(spec, name) for name in ("hidden", "folds", "starts", "halves")}
    fit_spec = inputs.model(spec.plan).spec.part(FitSpec)
    data = inputs.view(spec.plan)
    looks = scan(data, spec.ranks, **settings, fit_spec=fit_spec, seed=context.seed)
    facts = summary(looks, inputs.dataset, spec.top, context)
    words = {name: facts[name] for name in ("words", "reasons", "warnings")}
    metrics = scan_metrics(looks, context)
    if spec.nonnegative:
        metrics += nonnegative_metrics(inputs, spec, context)
    return Outcome(metrics, facts, notes={"ranks": spec.ranks, **settings, **words})


def scan_metrics(looks: Sequence[Look], context: Context) -> list[Metric]:
    """Return every number of the scan, and the rank that it recommends."""
    metrics = [metric for look in looks for metric in _look_metrics(look, context)]
    return [*metrics, context.metric(RECOMMENDED, recommend(looks).rank or 0)]


def nonnegative_metrics(inputs: Inputs, spec: Spec, context: Context) -> list[Metric]:
    """Return how non-negative factors of every rank fit, and whether starts end in the same."""
    plan, context = str(spec.nonnegative), context.on(plan=str(spec.nonnegative))
    data, fit_spec = inputs.view(plan), inputs.model(plan).spec.part(FitSpec)
    metrics = []
    for rank in sorted(set(spec.ranks)):
        best, *others = fits_from_starts(
            data, fit_spec.replace(rank=rank), spec.starts, context.seed
        )
        for block, value in best.report.block_fits.items():
            metrics.append(context.metric(FIT, value, rank=rank, block=block))
        for number, other in enumerate(others, start=1):
            score = agreement(best.factors.flat, other.factors.flat).mean()
            metrics.append(context.metric(SEEDS, score, rank=rank, start=number))
    return metrics


def _look_metrics(look: Look, context: Context) -> list[Metric]:
    values: list[tuple[Measure, float, dict[str, Any]]] = [
        *((ERROR, value, {"fold": n}) for n, value in enumerate(look.errors)),
        *((SEEDS, run.mean(), {"start": n + 1}) for n, run in enumerate(look.seeds)),
        *((HALVES, run.mean(), {"split": n}) for n, run in enumerate(look.halves)),
        *((WEAKEST, run[0], {"split": n}) for n, run in enumerate(look.halves)),
        *((FIT, value, {"block": name}) for name, value in look.best.report.block_fits.items()),
    ]
    if look.core is not None:
        values.append((CORE, min(look.core, 100.0), {}))
    values.append((TRIPLE, float(np.clip(look.triple, -1.0, 1.0)), {}))
    return [context.metric(what, value, rank=look.rank, **at) for what, value, at in values]


def strongest(factors: Factors, labels: Sequence[Labels], top: int) -> list[dict[str, Any]]:
    """List the ``top`` labels of each factor for each component, strongest first.

    Signs are those of :func:`upright`; without ``labels`` indices stand for themselves.

    >>> factors = Factors(np.array([2.0]), tuple(np.array([[0.6], [-0.8]]) for _ in range(3)))
    >>> [(row["mode"], row["label"], row["loading"]) for row in strongest(factors, (), top=1)]
    [('mode0', '1', -0.8), ('mode1', '1', 0.8), ('mode2', '1', 0.8)]
    """
    shown = upright(factors)
    labels = labels or [
        Labels(name, np.arange(len(factor)))
        for name, factor in zip(shown.names, shown.flat, strict=True)
    ]
    return [
        {
            "component": component + 1,
            "weight": round(float(shown.weights[component]), 6),
            "mode": label.name,
            "place": number + 1,
            "label": str(label.ids[index]),
            "loading": round(float(factor[index, component]), 6),
        }
        for component in range(shown.rank)
        # A plan may leave matrices out, whose labels come last.
        for label, factor in zip(labels, shown.flat, strict=False)
        for number, index in enumerate(_largest(factor[:, component], top))
    ]


def _largest(column: Array, top: int) -> Array:
    return np.argsort(-np.abs(column), kind="stable")[:top]


def summary(looks: Sequence[Look], dataset: Dataset, top: int, context: Context) -> dict[str, Any]:
    """Return what figure and page show: the recommendation, and the labels of its components."""
    advice = recommend(looks)
    shown = next(look for look in looks if look.rank == advice.shown)
    return {
        **vars(context),
        **vars(advice),
        "words": advice.words,
        "components": strongest(shown.best.factors, dataset.labels, top),
        "blocks": _matrix_names(dataset),
    }


def _matrix_names(dataset: Dataset) -> dict[str, str]:
    """Name each matrix for the figure, by what its rows and columns are."""
    names = [label.name for label in dataset.labels]
    return {
        block.name: " x ".join(names[n] for n in block.factors)
        for block in dataset.data.blocks[1:]
        if names
    }
