"""Anomaly: what the plans find, next to what counting finds and to what appears by chance.

Counting partners per user and day lists the largest stars on any data. Simulated data comes with
planted stars and groups as well; they are used here to judge, and only here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from scoup import pipeline
from scoup.coupled import CoupledData, Dataset
from scoup.evidence import Context, pick
from scoup.experiments._records import Inputs, Outcome
from scoup.experiments.anomaly import Spec
from scoup.experiments.anomaly.claims import claims
from scoup.experiments.anomaly.counting import Name, counted_stars, usual_partners
from scoup.experiments.anomaly.detect import Table, detect
from scoup.experiments.anomaly.groups import find_groups, planted_groups, slice_length
from scoup.experiments.anomaly.kinds import DAY, WALL, Finding, best_first
from scoup.experiments.anomaly.order import EventOrder, arranged, order_of
from scoup.experiments.anomaly.rows import best_panels, calendar, group_facts, table_rows
from scoup.experiments.anomaly.score import (
    GROUPS,
    SHUFFLED_LINKS,
    control_words,
    describe_tables,
    entries,
    matrix_gains,
    planted_stars,
    score,
    score_groups,
    star_lists,
    summarize,
)
from scoup.records import Array
from scoup.seeds import generator
from scoup.tensor import SparseTensor
from scoup.values import view

__all__ = ["claims", "measure", "measure_part"]


def measure(inputs: Inputs, spec: Spec, context: Context) -> Outcome:
    """Return what each plan, all plans and counting find, and the groups."""
    order = order_of(inputs.dataset.labels[: inputs.dataset.data.ndim])
    dataset = arranged(inputs.dataset, order)
    posts, labels = _posts(dataset), dataset.labels[:3]
    tables = {plan: detect(inputs.model(plan), posts, order.modes) for plan in spec.plans}
    stars = counted_stars(posts)
    planted = planted_stars(inputs.planted, labels[WALL].ids)
    length = slice_length(posts.shape[DAY], spec.slice_days)
    groups = find_groups(dataset, spec.group_rank, length, context.seed)
    lists = star_lists(tables, stars)
    if "links" in inputs.parts:
        lists[SHUFFLED_LINKS] = _read_names(inputs.parts["links"])
    metrics = [
        *describe_tables(tables, context),
        *score(lists, stars, planted, context),
        *matrix_gains(lists, stars, spec, context),
        *score_groups(groups, stars, replace(inputs, dataset=dataset), length, context),
    ]
    facts = {
        **vars(context),
        **_table_facts(tables, stars, dataset, order),
        **group_facts(groups, dataset, length),
        "chance": {
            word: sum(metric.value for metric in pick(metrics, GROUPS.name, control=name))
            for name, word in control_words([label.name for label in labels]).items()
        },
    }
    return Outcome(metrics, facts, notes={"plans": spec.plans})


def _table_facts(
    tables: Mapping[str, Table], stars: Sequence[Finding], dataset: Dataset, order: EventOrder
) -> dict[str, Any]:
    """Return the ranked table, and what figures and pages need to show it in the data's words."""
    posts, labels = _posts(dataset), dataset.labels[:3]
    names = [label.name for label in labels]
    words = order.words(names)
    everything = best_first([*stars, *(f for table in tables.values() for f in table.findings)])
    rows = table_rows(everything, labels, words)
    return {
        "rows": rows,
        # A file sorts the keys of a row, so their order is stored separately.
        "columns": list(rows[0]) if rows else [],
        "panels": best_panels(tables, labels),
        "sizes": list(posts.shape),
        "names": names,
        "words": dict(words),
        "controls": control_words(names),
        "usual": usual_partners(posts),
        "calendar": calendar(labels[DAY].ids),
    }


def measure_part(inputs: Inputs, spec: Spec, part: str, seed: int) -> dict[str, Array]:
    """Compute one control: groups of exchanged posts, or stars found with shuffled matrices."""
    order = order_of(inputs.dataset.labels[: inputs.dataset.data.ndim])
    dataset = arranged(inputs.dataset, order)
    if part == "links":
        assert spec.coupled is not None
        model = inputs.model(spec.coupled)
        shuffled = shuffle_matrices(inputs.dataset.data, generator(seed, "anomaly", part))
        plan = model.spec
        run = pipeline.run(view(shuffled, plan.values, plan.weights), plan, seed)
        null = replace(model, samples=run.samples, fits=run.fits, merged=run.merged)
        return _write_names(entries(detect(null, _posts(dataset), order.modes).findings))
    length = slice_length(_posts(dataset).shape[DAY], spec.slice_days)
    groups = find_groups(dataset, spec.group_rank, length, seed, part)
    truth = planted_groups(inputs.planted, dataset.labels[WALL].ids, length)
    return summarize(groups, truth)


def _posts(dataset: Dataset) -> SparseTensor:
    posts = dataset.data.blocks[0].values
    assert isinstance(posts, SparseTensor)
    return posts


def shuffle_matrices(data: CoupledData, rng: np.random.Generator) -> CoupledData:
    """Return the data with the rows of every sparse matrix in random order."""
    blocks = [data.blocks[0]]
    for block in data.blocks[1:]:
        matrix = block.values
        assert isinstance(matrix, SparseTensor)
        coords = np.array([rng.permutation(matrix.shape[0])[matrix.coords[0]], matrix.coords[1]])
        blocks.append(replace(block, values=SparseTensor(coords, matrix.values, matrix.shape)))
    return CoupledData.from_blocks(blocks, data.block_weights)


def _write_names(names: Sequence[Name]) -> dict[str, Array]:
    kinds, users, days = zip(*names, strict=True) if names else ((), (), ())
    places = np.array([users, days], dtype=np.int64)
    return {"kinds": np.array(kinds, dtype=np.str_), "places": places}


def _read_names(part: Mapping[str, Array]) -> list[Name]:
    return list(zip(part["kinds"].tolist(), *part["places"].tolist(), strict=True))
