"""Anomaly: everything that the plans find, in one table, and how good that table is.

Simulated data comes with planted events: the table's precision and recall against them are measured
here, and only here. On any data the largest stars can be counted directly, fibre by fibre: how many
of them are in the table?
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np

from scoup.coupled import Dataset
from scoup.experiments._records import Inputs, Outcome
from scoup.experiments.anomaly import Spec
from scoup.experiments.anomaly.detect import Table, detect
from scoup.experiments.anomaly.kinds import DAY, NAMED_BY, POSTER, WALL, Finding, best_first
from scoup.records import Array, Claim, Context, Labels, Measure, Metric, pick
from scoup.tensor import SparseTensor

Tables = Mapping[str, Table]
Stars = set[tuple[int, int]]  # (leading user, day)

PRECISION = Measure(
    "precision_at", "share", "higher", 0.0, 1.0, "share of the table's first k that was planted"
)
RECALL = Measure(
    "planted_found", "share", "higher", 0.0, 1.0, "share of the planted events that the table lists"
)
LARGEST = Measure(
    "largest_found", "share", "higher", 0.0, 1.0,
    "share of the largest stars, counted directly, that the table lists",
)  # fmt: skip
COMPONENTS = Measure(
    "components", "components", "none", 0.0, None, "components read, of repetitions and merged"
)
KIND = Measure("kind_count", "components", "none", 0.0, None, "different components of a kind")
SIZE = Measure(
    "largest_size", "partners", "none", 0.0, None,
    "partners of the strongest component of a kind on its day",
)  # fmt: skip
PRECISION_DEPTHS = (1, 3, 6, 10, 20)
MIN_LARGEST_STARS = 5  # of a kind, counted directly; stars of equal size count too
MAX_NAMED_IDS = 10  # in a cell of the table
STAR_LEADERS = {"star-out": (POSTER, "spammer"), "star-in": (WALL, "birthday")}
ALL = "all plans"


def measure(inputs: Inputs, spec: Spec, context: Context) -> Outcome:
    """Return what each plan finds, and what all plans find together."""
    dataset, posts = inputs.dataset, inputs.dataset.data.blocks[0].values
    assert isinstance(posts, SparseTensor)
    tables = {plan: detect(inputs.model(plan), posts) for plan in spec.plans}
    planted = planted_stars(inputs.planted, dataset.labels[WALL].ids)
    facts = summary(tables, dataset, context)
    return Outcome(score(tables, posts, planted, context), facts, notes={"plans": spec.plans})


def together(tables: Tables) -> dict[str, Sequence[Finding]]:
    """Return the findings of each plan, and those of all plans, each listed once."""
    findings = {plan: table.findings for plan, table in tables.items()}
    everything = [finding for table in findings.values() for finding in table]
    return {**findings, ALL: best_first(everything)}


def score(
    tables: Tables, posts: SparseTensor, planted: Mapping[str, Stars], context: Context
) -> list[Metric]:
    """Return the metrics of each plan; ``planted`` are the true stars by kind, if known."""
    metrics = []
    for plan, findings in together(tables).items():
        here = context.on(plan=plan)
        if plan in tables:
            metrics.append(here.metric(COMPONENTS, tables[plan].components))
        for kind, count in Counter(finding.kind for finding in findings).items():
            largest = max(finding.size for finding in findings if finding.kind == kind)
            metrics.append(here.metric(KIND, count, kind=kind))
            metrics.append(here.metric(SIZE, largest, kind=kind))
        for kind, (mode, _) in STAR_LEADERS.items():
            listed = [(f.leaders[mode], f.leaders[DAY]) for f in findings if f.kind == kind]
            stars = largest_stars(posts, mode)
            metrics.append(here.metric(LARGEST, recall(stars, listed), kind=kind, stars=len(stars)))
            if planted.get(kind):
                metrics += _against(planted[kind], listed, here, kind)
    return metrics


def _against(
    truth: Stars, listed: Sequence[tuple[int, int]], context: Context, kind: str
) -> list[Metric]:
    depths = [k for k in PRECISION_DEPTHS if k <= len(truth)] or [1]
    return [
        *(context.metric(PRECISION, precision(listed, truth, k), k=k, kind=kind) for k in depths),
        context.metric(RECALL, recall(truth, listed), kind=kind),
    ]


def precision(ordered: Sequence[Any], truth: Iterable[Any], k: int) -> float:
    """Return the share of the first k that are true; a list shorter than k is filled with errors.

    >>> precision(["a", "b", "c"], {"a", "c"}, 2)
    0.5
    """
    wanted = set(truth)
    return sum(item in wanted for item in ordered[:k]) / k


def recall(wanted: Iterable[Any], listed: Iterable[Any]) -> float:
    """Return the share of ``wanted`` that is among ``listed``.

    >>> recall({"a", "b"}, ["b", "c"])
    0.5
    """
    needed = set(wanted)
    return len(needed & set(listed)) / max(1, len(needed))


def largest_stars(posts: SparseTensor, mode: int, count: int = MIN_LARGEST_STARS) -> Stars:
    """Count directly the (user, day) with the most partners: the ``count`` largest, and ties."""
    key, partners = np.unique(
        posts.coords[mode].astype(np.int64) * posts.shape[DAY] + posts.coords[DAY],
        return_counts=True,
    )
    bar = np.sort(partners)[-min(count, partners.size)]
    user, day = np.divmod(key[partners >= bar], posts.shape[DAY])
    return set(zip(user.tolist(), day.tolist(), strict=True))


def planted_stars(truth: Mapping[str, Any], users: Array) -> dict[str, Stars]:
    """Return the planted (index of the leading user, day) by kind of star; {} without a truth."""
    if "planted" not in truth:
        return {}
    position = {int(user): index for index, user in enumerate(users)}
    planted: dict[str, Stars] = {}
    for kind, (mode, word) in STAR_LEADERS.items():
        events = [event for event in truth["planted"] if event["kind"] == word]
        who = "posters" if mode == POSTER else "walls"
        planted[kind] = {(position[int(event[who][0])], int(event["days"][0])) for event in events}
    return planted


def table_rows(findings: Sequence[Finding], labels: Sequence[Labels]) -> list[dict[str, Any]]:
    """Return the table for readers, with labels of walls, posters and days instead of indices.

    The columns are named after the three modes, whatever they are.
    """
    wall, poster, day = (label.name for label in labels)
    count = "posts" if poster == "poster" else "count"

    def named(finding: Finding, mode: int) -> str:
        by_leader = mode in NAMED_BY[finding.kind] and finding.kind != "community"
        indices = finding.leaders[mode : mode + 1] if by_leader else finding.members[mode]
        words = [str(labels[mode].ids[index]) for index in indices[:MAX_NAMED_IDS]]
        return " ".join([*words, "..."] if len(indices) > MAX_NAMED_IDS else words)

    return [
        {
            "place": number,
            "kind": finding.kind,
            "score": round(finding.score, 2),
            "size": finding.size,
            count: finding.posts,
            poster: named(finding, POSTER),
            wall: named(finding, WALL),
            day: named(finding, DAY),
            f"{wall}s taking part": round(finding.counts[WALL], 1),
            f"{poster}s taking part": round(finding.counts[POSTER], 1),
            f"{day}s taking part": round(finding.counts[DAY], 1),
            "components": finding.seen,
            "from": finding.source,
        }
        for number, finding in enumerate(findings, start=1)
    ]


def summary(tables: Tables, dataset: Dataset, context: Context) -> dict[str, Any]:
    """Return what figures and pages show: the whole table, and the strongest of each kind."""
    labels = dataset.labels[:3]
    rows = table_rows(together(tables)[ALL], labels)
    best: dict[str, dict[str, Any]] = {}
    for plan, table in tables.items():
        for panel in table.panels:
            kind, value = panel["found"]["kind"], panel["found"]["score"]
            if kind not in best or value > best[kind]["found"]["score"]:
                best[kind] = {**panel, "plan": plan}
    return {
        **vars(context),
        "rows": rows,
        "panels": [
            {**best[kind], "ids": _leader_ids(best[kind], labels)}
            for kind in NAMED_BY
            if kind in best
        ],
        "sizes": list(dataset.data.shape),
        # A file sorts the keys of a row, so their order is stored separately.
        "columns": list(rows[0]) if rows else [],
        "names": [label.name for label in labels],
        "calendar": calendar(labels[DAY].ids),
    }


def calendar(days: Array) -> list[str]:
    """Return the days as dates, or nothing if they are not dates.

    >>> calendar(np.array(["2008-02-28", "2008-03-01"])), calendar(np.array([1, 2]))
    (['2008-02-28', '2008-03-01'], [])
    """
    if days.dtype.kind != "U":
        return []
    try:
        return [date.fromisoformat(str(day)).isoformat() for day in days]
    except ValueError:
        return []


def _leader_ids(panel: Mapping[str, Any], labels: Sequence[Labels]) -> list[str]:
    """Return the labels of the leading wall, poster and day."""
    leaders = panel["found"]["leaders"]
    return [str(label.ids[leader]) for label, leader in zip(labels, leaders, strict=True)]


def claims(metrics: Sequence[Metric]) -> list[Claim]:
    """Compare the paper's one spammer with the stars found by its setting, and by ours."""
    judged = []
    paper = sorted({m.plan for m in pick(metrics, "components") if "paper" in m.plan})
    for plan in [*paper, ALL]:
        runs = pick(metrics, "largest_found", plan=plan, kind="star-out")
        if runs:
            text, how = "the largest one-day stars of one poster are found", f"plan {plan}"
            setting = plan if plan == ALL else how
            judged.append(_claim(text, runs, setting, "one shown", 0.5))
    planted = pick(metrics, "planted_found", plan=ALL, kind="star-out")
    if planted:
        judged.append(_claim("planted spammers are found", planted, ALL, "-", 0.99))
    return judged


def _claim(text: str, runs: Sequence[Metric], setting: str, paper: str, bar: float) -> Claim:
    return Claim.of(text, runs, setting=setting, paper=paper, unit="share", bar=bar, controls={})
