"""Anomaly: everything that the plans of :mod:`scoup.experiments.anomaly.detect` found, in one table, and how good it is.

Simulated data comes with planted events: the table's precision and recall are measured against them here, and only
here. On any data the largest stars can be counted directly, fibre by fibre: how many of them are in the table?
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.coupled import Dataset
from scoup.experiments.anomaly.kinds import DAY, NAMED_BY, POSTER, WALL, Found, rank
from scoup.measures import Claim, Context, Measure, Metric, pick
from scoup.records import Labels
from scoup.tensor import SparseTensor

Array = NDArray[Any]
Tables = Mapping[str, Mapping[str, Any]]
Keys = set[tuple[int, int]]

PRECISION = Measure(
    "precision_at",
    "share",
    "higher",
    0.0,
    1.0,
    "share of the first k of the table that was planted",
)
RECALL = Measure(
    "planted_found", "share", "higher", 0.0, 1.0, "share of the planted events that the table lists"
)
LARGEST = Measure(
    "largest_found",
    "share",
    "higher",
    0.0,
    1.0,
    "share of the largest stars, counted directly, that the table lists",
)
COMPONENTS = Measure(
    "components", "components", "none", 0.0, None, "components looked at, of repetitions and merged"
)
KIND = Measure("kind_count", "components", "none", 0.0, None, "different components of a kind")
SIZE = Measure(
    "largest_size",
    "partners",
    "none",
    0.0,
    None,
    "partners of the strongest component of a kind on its day",
)
DEPTHS = (1, 3, 6, 10, 20)
TOP = 5  # of the largest stars of a kind, with those of equal size
STARS = {"star-out": (POSTER, DAY, "spammer"), "star-in": (WALL, DAY, "birthday")}
ALL = "all plans"


def read_found(rows: Iterable[Mapping[str, Any]]) -> list[Found]:
    """Turn rows of a stored table back into records."""
    return [
        Found(**{**row, **{key: _tuple(row[key]) for key in ("leaders", "counts", "members")}})
        for row in rows
    ]


def _tuple(value: Any) -> Any:
    return tuple(map(_tuple, value)) if isinstance(value, (list, tuple)) else value


def together(tables: Tables) -> dict[str, list[Found]]:
    """The table of each plan, and one of all plans in which every thing stands once."""
    apart = {plan: read_found(table["found"]) for plan, table in tables.items()}
    return {**apart, ALL: rank(one for found in apart.values() for one in found)}


def measure(
    tables: Tables, posts: SparseTensor, planted: Mapping[str, Keys] | None, context: Context
) -> list[Metric]:
    """Return what each plan found; ``planted`` holds the true (leader, day) by kind of star, None on real data."""
    metrics = []
    for plan, found in together(tables).items():
        here = context.on(plan=plan)
        if plan in tables:
            metrics.append(here.metric(COMPONENTS, tables[plan]["components"]))
        for kind, count in Counter(one.kind for one in found).items():
            metrics.append(here.metric(KIND, count, kind=kind))
            metrics.append(
                here.metric(SIZE, max(one.size for one in found if one.kind == kind), kind=kind)
            )
        for kind, (mode, day, _) in STARS.items():
            mine = [(one.leaders[mode], one.leaders[day]) for one in found if one.kind == kind]
            largest = largest_stars(posts, mode)
            metrics.append(
                here.metric(LARGEST, share(largest, mine), kind=kind, stars=len(largest))
            )
            if planted is not None and planted.get(kind):
                metrics += _against(planted[kind], mine, here, kind)
    return metrics


def _against(
    truth: Keys, mine: Sequence[tuple[int, int]], context: Context, kind: str
) -> list[Metric]:
    depths = [k for k in DEPTHS if k <= len(truth)] or [1]
    found = [context.metric(PRECISION, precision(mine, truth, k), k=k, kind=kind) for k in depths]
    return [*found, context.metric(RECALL, share(truth, mine), kind=kind)]


def precision(ordered: Sequence[Any], truth: Iterable[Any], k: int) -> float:
    """Share of the first k that are true; a list shorter than k has nothing in its empty places.

    >>> precision(["a", "b", "c"], {"a", "c"}, 2)
    0.5
    """
    wanted = set(truth)
    return sum(one in wanted for one in ordered[:k]) / k


def share(wanted: Iterable[Any], listed: Iterable[Any]) -> float:
    """Share of ``wanted`` that is among ``listed``."""
    needed, there = set(wanted), set(listed)
    return len(needed & there) / max(1, len(needed))


def largest_stars(posts: SparseTensor, mode: int, top: int = TOP) -> Keys:
    """Count directly the (user, day) with the most distinct partners: the ``top`` largest and those as large."""
    key, count = np.unique(
        posts.coords[mode].astype(np.int64) * posts.shape[DAY] + posts.coords[DAY],
        return_counts=True,
    )
    bar = np.sort(count)[-min(top, count.size)]
    user, day = np.divmod(key[count >= bar], posts.shape[DAY])
    return set(zip(user.tolist(), day.tolist(), strict=True))


def read_planted(truth: Mapping[str, Any], users: Array) -> dict[str, Keys]:
    """Turn the planted events of a simulation into (index of the leading user, day) by kind of star."""
    place = {int(user): index for index, user in enumerate(users)}
    planted: dict[str, Keys] = {}
    for kind, (mode, _, word) in STARS.items():
        events = [event for event in truth["planted"] if event["kind"] == word]
        who = "posters" if mode == POSTER else "walls"
        planted[kind] = {(place[int(event[who][0])], int(event["days"][0])) for event in events}
    return planted


def rows(found: Sequence[Found], labels: Sequence[Labels]) -> list[dict[str, Any]]:
    """Write the table for people: names of walls, posters and days (or whatever the three modes are) for indices."""
    ids = [label.ids for label in labels]
    wall, poster, day = (label.name for label in labels)
    count = "posts" if poster == "poster" else "count"

    def named(one: Found, mode: int) -> str:
        some = (
            one.members[mode]
            if mode not in NAMED_BY[one.kind] or one.kind == "community"
            else one.leaders[mode : mode + 1]
        )
        return " ".join(str(ids[mode][index]) for index in some[:10]) + (
            " ..." if len(some) > 10 else ""
        )

    return [
        {
            "place": number, "kind": one.kind, "score": round(one.score, 2), "size": one.size, count: one.posts,
            poster: named(one, POSTER), wall: named(one, WALL), day: named(one, DAY),
            f"{wall}s taking part": round(one.counts[WALL], 1), f"{poster}s taking part": round(one.counts[POSTER], 1),
            f"{day}s taking part": round(one.counts[DAY], 1), "components": one.seen, "from": one.source,
        }
        for number, one in enumerate(found, start=1)
    ]  # fmt: skip


def material(
    tables: Tables, dataset: Dataset, context: Context
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return what figures and pages show: the whole table, and the factor columns of the strongest of each kind."""
    labels = dataset.labels[:3]
    found = together(tables)[ALL]
    best: dict[str, dict[str, Any]] = {}
    for plan, table in tables.items():
        for panel in table["panels"]:
            one = panel["found"]
            if one["kind"] not in best or one["score"] > best[one["kind"]]["found"]["score"]:
                best[one["kind"]] = {**panel, "plan": plan}
    panels = [{**best[kind], "ids": _ids(best[kind], labels)} for kind in NAMED_BY if kind in best]
    about = {
        **vars(context),
        "rows": rows(found, labels),
        "panels": panels,
        "sizes": list(dataset.data.shape),
    }
    # A file sorts the keys of a row: their order is a fact of its own.
    columns = list(about["rows"][0]) if found else []
    names = [label.name for label in labels]
    return {**about, "columns": columns, "names": names, "calendar": calendar(labels[DAY].ids)}, {}


def calendar(days: Array) -> list[str]:
    """Return the days as dates of the calendar, or nothing where they are called otherwise.

    >>> calendar(np.array(["2008-02-28", "2008-03-01"])), calendar(np.array([1, 2]))
    (['2008-02-28', '2008-03-01'], [])
    """
    try:
        return (
            [date.fromisoformat(str(day)).isoformat() for day in days]
            if days.dtype.kind == "U"
            else []
        )
    except ValueError:
        return []


def _ids(panel: Mapping[str, Any], labels: Sequence[Labels]) -> list[str]:
    """Names of the leading wall, poster and day."""
    return [
        str(label.ids[leader])
        for label, leader in zip(labels, panel["found"]["leaders"], strict=True)
    ]


def claims(found: Sequence[Metric]) -> list[Claim]:
    """Set the paper's one spammer beside the stars of its own setting, and of ours."""
    judged = []
    paper = sorted({metric.plan for metric in pick(found, "components") if "paper" in metric.plan})
    for plan in [*paper, ALL]:
        runs = pick(found, "largest_found", plan=plan, kind="star-out")
        if runs:
            how = plan if plan == ALL else "sampled as in the paper"
            text = f"the largest one-day stars of one poster are found, {how}"
            judged.append(Claim.of((text, "one shown", "share"), runs, 0.5))
    planted = pick(found, "planted_found", plan=ALL, kind="star-out")
    if planted:
        judged.append(Claim.of(("planted spammers found, all plans", "-", "share"), planted, 0.99))
    return judged
