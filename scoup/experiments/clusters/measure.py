"""Clusters: things that a component brings together, and whether they are of one category.

Each component sorts the things (nouns, in BrainQ) from one end to the other; both ends count, since
the sign of a component is arbitrary. The model never sees the categories: are the things at an end
of one category more often than if categories were assigned at random?
"""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from scoup import pipeline
from scoup.coupled import CoupledData, Dataset
from scoup.evidence import Claim, Context, Measure, Metric, pick
from scoup.experiments._images import dense, roles
from scoup.experiments._records import Inputs, Outcome
from scoup.experiments.clusters import Spec
from scoup.factors import upright
from scoup.fit import fit
from scoup.interop import volumes
from scoup.records import Array, Factors, Labels
from scoup.seeds import generator
from scoup.specs import FitSpec
from scoup.values import view

log = logging.getLogger(__name__)

PURITY = Measure(
    "purity", "share", "higher", 0.0, 1.0, "most frequent category among the first of an end"
)
MEAN_PURITY = Measure(
    "mean_purity", "share", "higher", 0.0, 1.0, "mean purity over both ends of all components"
)
NULL_PURITY = Measure(
    "null_purity", "share", "none", 0.0, 1.0, "mean purity when categories are dealt at random"
)
NULL_LIMIT = Measure(
    "null_limit", "share", "none", 0.0, 1.0, "mean purity that one in twenty random deals exceeds"
)
ALONE_PURITY = Measure(
    "alone_purity", "share", "none", 0.0, 1.0, "mean purity of a model of one block alone"
)
P_VALUE = Measure(
    "p_value", "probability", "lower", 0.0, 1.0, "share of random deals with as high a mean purity"
)
CATEGORY_SHARE = Measure(
    "category_share",
    "share",
    "higher",
    0.0,
    1.0,
    "variance of the scores that lies between categories",
)
BLOCK_FIT = Measure(
    "block_fit", "share", "higher", None, 1.0, "1 - squared error over squares of a block"
)
SIGNS = ("+", "-")
MAX_P_VALUE = 0.05
ALONE_MODELS = MATRIX_ALONE, TENSOR_ALONE = "matrix alone", "tensor alone"


def measure(inputs: Inputs, spec: Spec, context: Context) -> Outcome:
    """Return the purity of every end, its null, and descriptions of all components."""
    dataset, context = inputs.dataset, context.on(plan=spec.plan)
    factors = upright(inputs.model(spec.plan).merged.factors)
    facts = {**vars(context), "top": spec.top, **describe(factors, dataset, spec.top)}
    arrays = {}
    if "grid" in dataset.facts:
        facts["voxel_mm"] = list(dataset.facts["voxel_mm"])
        arrays["maps"] = volumes(factors.modes[1], dataset.label("voxel"), dataset.facts["grid"])
    metrics = plan_metrics(inputs, spec, context)
    if spec.nonnegative:
        factors = upright(inputs.model(spec.nonnegative).merged.factors)
        described = describe(factors, dataset, spec.top, SIGNS[:1])
        facts["nonnegative"] = {"plan": spec.nonnegative, "components": described["components"]}
        metrics += plan_metrics(inputs, spec, context.on(plan=spec.nonnegative))
    return Outcome(metrics, facts, arrays, notes={"top": spec.top, "deals": spec.deals})


def plan_metrics(inputs: Inputs, spec: Spec, context: Context) -> list[Metric]:
    """Return the purity of one plan with its controls, and how it fits each block."""
    merged = inputs.model(context.plan).merged
    fits = [
        context.metric(BLOCK_FIT, value, block=name)
        for name, value in merged.report.block_fits.items()
    ]
    alone = alone_purities(inputs, spec, context)
    return [*purities(upright(merged.factors), inputs.dataset, spec, context), *alone, *fits]


def purities(factors: Factors, dataset: Dataset, spec: Spec, context: Context) -> list[Metric]:
    """Measure how pure the ends are, compared with random deals of the categories."""
    scores, categories = factors.modes[roles(dataset)[0]], categories_of(dataset)
    signs = _signs(spec, context)
    members, purity_of_ends = _ends_with_purity(scores, categories, spec.top, signs)
    mean = purity_of_ends.mean()
    null = null_purity(members, categories, spec.deals, context.seed)
    p_value = (1 + int(np.sum(null >= mean - 1e-12))) / (spec.deals + 1)
    log.info("mean purity %.3f, at random %.3f, p = %.2g", mean, null.mean(), p_value)
    numbered = [(number, sign) for number in range(1, factors.rank + 1) for sign in signs]
    return [
        *(
            context.metric(PURITY, value, component=number, end=sign)
            for (number, sign), value in zip(numbered, purity_of_ends, strict=True)
        ),
        *(
            context.metric(CATEGORY_SHARE, category_share(column, categories), component=number)
            for number, column in enumerate(scores.T, start=1)
        ),
        context.metric(MEAN_PURITY, mean),
        context.metric(NULL_PURITY, null.mean()),
        context.metric(NULL_LIMIT, float(np.quantile(null, 1 - MAX_P_VALUE))),
        context.metric(P_VALUE, p_value),
    ]


def _signs(spec: Spec, context: Context) -> Sequence[str]:
    """Return the ends that count: a component that only adds has nothing at its lower end."""
    return SIGNS[:1] if context.plan == spec.nonnegative else SIGNS


def categories_of(dataset: Dataset) -> Array:
    """Return the category of each thing as a number."""
    names = np.asarray(dataset.labels[roles(dataset)[0]].columns["category"])
    return np.unique(names, return_inverse=True)[1]


def _ends_with_purity(
    scores: Array, categories: Array, top: int, signs: Sequence[str]
) -> tuple[Array, Array]:
    """Return the members (ends, top) of every component, and the purity of each end.

    A place that only a zero could fill stays empty: it holds -1.
    """
    members = np.concatenate([ends(column, top)[: len(signs)] for column in scores.T])
    filled = np.take_along_axis(np.repeat(scores.T, len(signs), axis=0), members, axis=1) != 0
    members = np.where(filled, members, -1)
    return members, purity(np.repeat(categories[None], len(members), axis=0), members)


def alone_purities(inputs: Inputs, spec: Spec, context: Context) -> list[Metric]:
    """Measure the purity of the same plan without the matrix, and of the matrix's components."""
    categories, signs = categories_of(inputs.dataset), _signs(spec, context)
    return [
        context.metric(
            ALONE_PURITY,
            _ends_with_purity(columns, categories, spec.top, signs)[1].mean(),
            model=name,
        )
        for name, columns in _alone_scores(inputs, context).items()
    ]


def _alone_scores(inputs: Inputs, context: Context) -> dict[str, Array]:
    """Return the things' scores in a model of either block alone, with the plan's constraints."""
    plan, data, things = (
        inputs.model(context.plan).spec,
        inputs.dataset.data,
        roles(inputs.dataset)[0],
    )
    matrix = np.asarray(dense(view(data, plan.values).blocks[1]), dtype=np.float64)
    bounded = "nonnegative" if plan.constraints else None
    if bounded:
        matrix_plan = FitSpec(rank=plan.rank, max_iter=plan.max_iter, tol=plan.tol)
        matrix_fit = fit(CoupledData(matrix[:, :, None]), matrix_plan.replace(constraints=bounded))
        matrix_scores = matrix_fit.factors.modes[0]
    else:
        matrix_scores = np.linalg.svd(matrix, full_matrices=False)[0][:, : plan.rank]
    # The tensor alone has no matrix to sample.
    tensor_plan = plan.replace(side_sampling=None, constraints=bounded)
    tensor = pipeline.run(view(data, plan.values, [1, 0]), tensor_plan, context.seed)
    return {TENSOR_ALONE: tensor.merged.factors.modes[things], MATRIX_ALONE: matrix_scores}


def ends(scores: Array, count: int) -> tuple[Array, Array]:
    """Return the ``count`` highest and the ``count`` lowest, most extreme first.

    >>> [end.tolist() for end in ends(np.array([0.1, 3.0, -2.0, 1.0]), 2)]
    [[1, 3], [2, 0]]
    """
    order = np.argsort(-scores, kind="stable")
    return order[:count], order[::-1][:count]


def purity(categories: Array, members: Array) -> Array:
    """Return the share of the most frequent category among ``members`` (..., count).

    ``categories`` (..., n) are integers; a member of -1 is of none.

    >>> purity(np.array([0, 0, 1, 2]), np.array([0, 1, 2, 3])).item()
    0.5
    """
    chosen = np.where(members < 0, -1, np.take_along_axis(categories, members, axis=-1))
    counts = [(chosen == code).sum(axis=-1) for code in range(int(categories.max()) + 1)]
    return np.max(counts, axis=0) / members.shape[-1]


def null_purity(members: Array, categories: Array, deals: int, seed: int) -> Array:
    """Return the mean purity of the same ends (ends, count) for each random deal of categories."""
    rng = generator(seed, "clusters", "null")
    dealt = rng.permuted(np.repeat(categories[None], deals, axis=0), axis=1)
    return np.mean([purity(dealt, np.repeat(end[None], deals, axis=0)) for end in members], axis=0)


def category_share(scores: Array, categories: Array) -> float:
    """Return the share of the variance of ``scores`` that lies between categories.

    >>> category_share(np.array([1.0, 1.0, 3.0, 3.0]), np.array([0, 0, 1, 1]))
    1.0
    """
    centred = scores - scores.mean()
    total = float(centred @ centred)
    codes = range(int(categories.max()) + 1)
    means = np.array([centred[categories == code].mean() for code in codes])
    between = float(np.sum(means[categories] ** 2))
    return min(1.0, between / total) if total > 0 else 0.0


def describe(
    factors: Factors, dataset: Dataset, top: int, signs: Sequence[str] = SIGNS
) -> dict[str, Any]:
    """Name what is at the ends of every component, and list its loadings.

    ``names`` are those of the things, of the matrix's columns, and of the mode of the loadings.
    """
    labels = dataset.labels
    things, subjects = roles(dataset)
    modes = (things, len(factors.modes))
    components = [
        {
            "component": number + 1,
            "weight": float(factors.weights[number]),
            "loadings": {
                str(name): round(float(value), 4)
                for name, value in zip(
                    labels[subjects].ids, factors.modes[subjects][:, number], strict=True
                )
            },
            "ends": {
                sign: {
                    labels[mode].name: _named(labels[mode], factors.flat[mode][:, number], end, top)
                    for mode in modes
                }
                for end, sign in enumerate(signs)
            },
        }
        for number in range(factors.rank)
    ]
    names = [labels[mode].name for mode in (*modes, subjects)]
    return {"names": names, "components": components}


def _named(labels: Labels, scores: Array, end: int, top: int) -> list[dict[str, Any]]:
    """Return names, scores and categories (if any) of those at one end."""
    categories = labels.columns.get("category")
    return [
        {
            "name": str(labels.ids[member]),
            "score": round(float(scores[member]), 4),
            **({"category": str(categories[member])} if categories is not None else {}),
        }
        for member in ends(scores, top)[end]
        if scores[member]
    ]


def claims(metrics: Sequence[Metric]) -> list[Claim]:
    """Compare with the paper: things of a group are alike. Controls: one block alone, and chance.

    The bar is the purity that chance rarely exceeds, in the seed where that is highest.
    """
    judged = []
    for plan in dict.fromkeys(run.plan for run in pick(metrics, MEAN_PURITY.name)):
        runs, nulls, limits = (
            pick(metrics, what.name, plan=plan) for what in (MEAN_PURITY, NULL_PURITY, NULL_LIMIT)
        )
        alone = {
            name: pick(metrics, ALONE_PURITY.name, plan=plan, model=name) for name in ALONE_MODELS
        }
        if not (nulls and limits and all(alone.values())):
            continue
        bar = max(limit.value for limit in limits)
        judged.append(
            Claim.of(
                "things of a group are of one category",
                runs,
                setting=f"plan {plan}",
                paper="shown by example",
                unit="share",
                bar=bar,
                controls={**alone, "dealt at random": nulls},
                note=f"19 of 20 random deals stay below {bar:.2f}",
            )
        )
    return judged
