"""Clusters: nouns, questions and brain regions that a component brings together, and whether they mean anything.

Each component sorts the nouns from one end to the other; both ends count, since the sign of a component is free.
Categories of the nouns are never shown to the model: are the nouns at an end of one category more often than when
categories are dealt at random? In a user's own data nouns are the things that the matrix is about, whatever they are
called, and there may be any number of modes beside them.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.coupled import CoupledData, Dataset
from scoup.errors import ScoupError
from scoup.experiments._images import dense, roles
from scoup.fit import fit_repetition
from scoup.interop import volumes
from scoup.measures import Claim, Context, Measure, Metric, pick
from scoup.merge import merge
from scoup.records import Factors, Merged
from scoup.sample import draw
from scoup.seeds import generator
from scoup.specs import FitSpec, MergeSpec, SampleSpec

log = logging.getLogger(__name__)
Array = NDArray[Any]

PURITY = Measure(
    "purity", "share", "higher", 0.0, 1.0, "most frequent category among the first of an end"
)
MEAN_PURITY = Measure(
    "mean_purity", "share", "higher", 0.0, 1.0, "mean purity over both ends of all components"
)
NULL_PURITY = Measure(
    "null_purity", "share", "none", 0.0, 1.0, "mean purity when categories are dealt at random"
)
P_VALUE = Measure(
    "p_value", "probability", "lower", 0.0, 1.0, "share of random deals with as high a mean purity"
)
SPREAD = Measure(
    "category_share",
    "share",
    "higher",
    0.0,
    1.0,
    "variance of the scores that lies between categories",
)
FIT = Measure(
    "block_fit", "share", "higher", None, 1.0, "1 - squared error over squares of a block"
)
SIGNS = ("+", "-")


@dataclass(frozen=True)
class ClustersSpec:
    """How the model is sampled, fitted and merged, and how its components are read.

    ``weight`` is how often the matrix counts against the tensor, both at equal norm; ``top`` nouns and questions
    are named at each end; ``deals`` of categories make the null.
    """

    weight: float
    top: int
    deals: int
    sample: SampleSpec
    fit: FitSpec
    merge: MergeSpec


def prepare(data: CoupledData, weight: float) -> CoupledData:
    """Centre images over nouns, standardise answers, and weigh both blocks by their norm."""
    images, answers = (dense(block).astype(np.float64) for block in data.blocks)
    things = data.blocks[1].factors[0]
    images = images - images.mean(axis=things, keepdims=True)
    spread = answers.std(axis=0)
    answers = (answers - answers.mean(axis=0)) / np.where(spread > 1e-12, spread, 1.0)
    norms = [float(np.vdot(block, block)) for block in (images, answers)]
    if min(norms) == 0:
        raise ScoupError.expected(
            "data", "a tensor and a matrix that differ between things", "constant ones"
        )
    return CoupledData(images, {things: answers}, weights=(1 / norms[0], weight / norms[1]))


def find(dataset: Dataset, spec: ClustersSpec, seed: int) -> Merged:
    """Sample, fit and merge; components point up: their subjects' loadings sum to more than zero."""
    things, subjects = roles(dataset)
    ready = prepare(dataset.data, spec.weight)
    samples = draw(ready, spec.sample, seed)
    fits = [fit_repetition(ready, sample, spec.fit, seed) for sample in samples]
    merged = merge(fits, samples, ready, spec.merge)
    return Merged(_upright(merged.factors, things, subjects), merged.report)


def _upright(factors: Factors, things: int, subjects: int) -> Factors:
    """Turn each component so that subjects load positively: the sign goes over to the voxels."""
    sign = np.where(factors.modes[subjects].sum(axis=0) < 0, -1.0, 1.0)
    voxels = next(mode for mode in range(len(factors.modes)) if mode not in (things, subjects))
    turned = [
        factor * sign if mode in (voxels, subjects) else factor
        for mode, factor in enumerate(factors.flat)
    ]
    return factors.replace_flat(turned)


def ends(scores: Array, count: int) -> tuple[Array, Array]:
    """Return the ``count`` highest and the ``count`` lowest, most extreme first.

    >>> [end.tolist() for end in ends(np.array([0.1, 3.0, -2.0, 1.0]), 2)]
    [[1, 3], [2, 0]]
    """
    order = np.argsort(-scores, kind="stable")
    return order[:count], order[::-1][:count]


def purity(categories: Array, members: Array) -> Array:
    """Share of the most frequent category among ``members`` (..., count) of integer ``categories`` (..., n)."""
    taken = np.take_along_axis(categories, members, axis=-1)
    counts = np.stack([(taken == one).sum(axis=-1) for one in range(int(categories.max()) + 1)])
    return counts.max(axis=0) / members.shape[-1]


def null_purity(members: Array, categories: Array, deals: int, seed: int) -> Array:
    """Mean purity of the same ends (ends, count) under ``deals`` random deals of the categories."""
    rng = generator(seed, "clusters", "null")
    dealt = rng.permuted(np.repeat(categories[None], deals, axis=0), axis=1)
    return np.mean([purity(dealt, np.repeat(end[None], deals, axis=0)) for end in members], axis=0)


def category_share(scores: Array, categories: Array) -> float:
    """Share of the variance of ``scores`` between categories: 1 if a category tells the score.

    >>> category_share(np.array([1.0, 1.0, 3.0, 3.0]), np.array([0, 0, 1, 1]))
    1.0
    """
    centred = scores - scores.mean()
    total = float(centred @ centred)
    means = np.array(
        [centred[categories == one].mean() for one in range(int(categories.max()) + 1)]
    )
    between = float(np.sum(means[categories] ** 2))
    return min(1.0, between / total) if total > 0 else 0.0


def measure(merged: Merged, dataset: Dataset, spec: ClustersSpec, context: Context) -> list[Metric]:
    """Return the purity of every end, its null, and how much of each block the model explains."""
    things, _ = roles(dataset)
    codes = np.unique(np.asarray(dataset.labels[things].columns["category"]), return_inverse=True)[
        1
    ]
    nouns = merged.factors.modes[things]
    members = np.concatenate([ends(nouns[:, f], spec.top) for f in range(nouns.shape[1])])
    found = purity(np.repeat(codes[None], len(members), axis=0), members)
    null = null_purity(members, codes, spec.deals, context.seed)
    p = (1 + int(np.sum(null >= found.mean() - 1e-12))) / (spec.deals + 1)
    log.info("mean purity %.3f, at random %.3f, p = %.2g", found.mean(), null.mean(), p)
    each = [
        context.metric(PURITY, value, component=place // 2 + 1, end=SIGNS[place % 2])
        for place, value in enumerate(found)
    ]
    shares = [
        context.metric(SPREAD, category_share(nouns[:, f], codes), component=f + 1)
        for f in range(nouns.shape[1])
    ]
    fits = [
        context.metric(FIT, value, block=name) for name, value in merged.report.block_fits.items()
    ]
    whole = [(MEAN_PURITY, found.mean()), (NULL_PURITY, null.mean()), (P_VALUE, p)]
    return [*each, *shares, *fits, *(context.metric(what, value) for what, value in whole)]


def describe(merged: Merged, dataset: Dataset, top: int) -> list[dict[str, Any]]:
    """Name the nouns, questions and subjects of every component, under the names that they have in the data set."""
    factors, labels = merged.factors, dataset.labels
    things, subjects = roles(dataset)
    shown = {
        labels[place].name: (labels[place], factors.flat[place])
        for place in (things, len(factors.modes))
    }
    return [
        {
            "component": f + 1,
            "weight": float(factors.weights[f]),
            "loadings": {
                str(name): round(float(value), 4)
                for name, value in zip(
                    labels[subjects].ids, factors.modes[subjects][:, f], strict=True
                )
            },
            "ends": {
                sign: {
                    name: _named(label, factor[:, f], ends(factor[:, f], top)[end])
                    for name, (label, factor) in shown.items()
                }
                for end, sign in enumerate(SIGNS)
            },
        }
        for f in range(factors.rank)
    ]


def material(
    merged: Merged, dataset: Dataset, spec: ClustersSpec, context: Context
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return what figures and pages show: descriptions, and the latent images (F, x, y, z) where voxels have places.

    ``names`` are those of the things, the matrix's columns, and the mode whose loadings are listed.
    """
    things, subjects = roles(dataset)
    names = [dataset.labels[place].name for place in (things, -1, subjects)]
    about = {
        **vars(context),
        "top": spec.top,
        "names": names,
        "components": describe(merged, dataset, spec.top),
    }
    if "grid" not in dataset.facts:
        return about, {}
    maps = volumes(merged.factors.modes[1], dataset.label("voxel"), dataset.facts["grid"])
    return {**about, "voxel_mm": list(dataset.facts["voxel_mm"])}, {"maps": maps}


def _named(label: Any, scores: Array, members: Array) -> list[dict[str, Any]]:
    category = label.columns.get("category")
    return [
        {
            "name": str(label.ids[m]),
            "score": round(float(scores[m]), 4),
            **({"category": str(category[m])} if category is not None else {}),
        }
        for m in members
    ]


def claims(found: Sequence[Metric]) -> list[Claim]:
    """Set "nouns of a group are alike" beside the purity of our groups, against random deals."""
    runs, null, p = (pick(found, name) for name in ("mean_purity", "null_purity", "p_value"))
    if not runs:
        return []
    worst = max(one.value for one in p)
    middle = np.median([one.value for one in null])
    text = (
        f"things of a group are of one category (random deals: {middle:.2f}; p at most {worst:.2g})"
    )
    judged = Claim.of((text, "shown by example", "share"), runs, None)
    return [Claim(**{**vars(judged), "holds": worst <= 0.05})]
