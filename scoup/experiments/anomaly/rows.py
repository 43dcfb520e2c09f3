"""Rows: what figures and pages show, with the labels of the data instead of indices."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from scoup.coupled import Dataset
from scoup.experiments.anomaly.detect import Table
from scoup.experiments.anomaly.groups import Group
from scoup.experiments.anomaly.kinds import DAY, NAMED_BY, POSTER, WALL, Finding
from scoup.records import Array, Labels

Row = dict[str, Any]
MAX_MEMBERS_SHOWN = 12  # where not all are shown; the files have all
OTHER_COLUMNS = (
    "place", "kind", "found by", "score", "size", "posts", "count", "components", "from",
)  # fmt: skip


def table_rows(
    findings: Sequence[Finding], labels: Sequence[Labels], words: Mapping[str, str]
) -> list[Row]:
    """Return the ranked table; its columns are named after the three modes, whatever they are.

    ``words`` are what kinds are called instead of their names.
    """
    wall, poster, day = (column_name(label.name) for label in labels)
    count = "posts" if poster == "poster" else "count"
    return [
        {
            "place": number,
            "kind": words.get(finding.kind, finding.kind),
            "found by": finding.found_by,
            "score": round(finding.score, 2),
            "size": finding.size,
            count: finding.posts,
            poster: _members(finding, POSTER, labels),
            wall: _members(finding, WALL, labels),
            day: _members(finding, DAY, labels),
            f"{wall}s taking part": round(finding.counts[WALL], 1),
            f"{poster}s taking part": round(finding.counts[POSTER], 1),
            f"{day}s taking part": round(finding.counts[DAY], 1),
            "components": finding.seen,
            "from": finding.source,
        }
        for number, finding in enumerate(findings, start=1)
    ]


def column_name(mode: str) -> str:
    """Return the column of a mode, which may be called like one of the other columns.

    >>> column_name("poster"), column_name("from")
    ('poster', 'from (mode)')
    """
    return f"{mode} (mode)" if mode in OTHER_COLUMNS else mode


def _members(finding: Finding, mode: int, labels: Sequence[Labels]) -> str:
    texts = [str(labels[mode].ids[index]) for index in finding.members[mode]]
    return ("; " if any(" " in text for text in texts) else " ").join(texts)


def first_members(cell: Any) -> Any:
    """Return the members in a cell, the first of many.

    >>> first_members("ann bob"), first_members("; ".join(["a b"] * 14))[-15:]
    ('ann bob', 'a b; and 2 more')
    """
    mark = "; " if "; " in str(cell) else " "
    if not isinstance(cell, str) or len(members := cell.split(mark)) <= MAX_MEMBERS_SHOWN:
        return cell
    more = f"and {len(members) - MAX_MEMBERS_SHOWN} more"
    return mark.join([*members[:MAX_MEMBERS_SHOWN], more])


def group_rows(groups: Sequence[Group], dataset: Dataset, length: int) -> list[Row]:
    """Return the table of groups, with the first and the last slice by its first day."""
    wall, poster, day = dataset.labels[:3]
    rows = []
    for number, group in enumerate(groups, start=1):
        walls, posters, slices = group.members
        rows.append(
            {
                "group": number,
                "in both roles": len(group.core),
                f"{wall.name}s": len(walls),
                f"{poster.name}s": len(posters),
                "posts" if poster.name == "poster" else "count": group.posts,
                "pairs": group.pairs,
                f"slices of {length} {day.name}s": len(slices),
                "from": str(day.ids[min(slices) * length]),
                "to": str(day.ids[min((max(slices) + 1) * length, len(day)) - 1]),
                "friends among silent pairs": _rounded(group.friends),
                "members in both roles": " ".join(str(wall.ids[index]) for index in group.core),
            }
        )
    return rows


def _rounded(share: float | None) -> float | str:
    return "" if share is None else round(share, 3)


def group_facts(groups: Sequence[Group], dataset: Dataset, length: int) -> Row:
    """Return what the figure and the page show of groups."""
    rows = group_rows(groups, dataset, length)
    days = dataset.labels[DAY].ids
    return {
        "groups": rows,
        "group_columns": list(rows[0]) if rows else [],
        "courses": [list(group.course) for group in groups],
        "slice_days": length,
        "slice_starts": [str(day) for day in days[::length]],
    }


def best_panels(tables: Mapping[str, Table], labels: Sequence[Labels]) -> list[Row]:
    """Return the panels of the best component of each kind, over all plans."""
    best: dict[str, Row] = {}
    for plan, table in tables.items():
        for panel in table.panels:
            kind, value = panel["found"]["kind"], panel["found"]["score"]
            if kind not in best or value > best[kind]["found"]["score"]:
                best[kind] = {**panel, "plan": plan}
    return [
        {**best[kind], "ids": _leader_ids(best[kind], labels)} for kind in NAMED_BY if kind in best
    ]


def _leader_ids(panel: Mapping[str, Any], labels: Sequence[Labels]) -> list[str]:
    """Return the labels of the leading wall, poster and day."""
    leaders = panel["found"]["leaders"]
    return [str(label.ids[leader]) for label, leader in zip(labels, leaders, strict=True)]


def calendar(days: Array) -> list[str]:
    """Return the days as dates, or nothing if they are not dates.

    >>> import numpy as np
    >>> calendar(np.array(["2008-02-28", "2008-03-01"])), calendar(np.array([1, 2]))
    (['2008-02-28', '2008-03-01'], [])
    """
    if days.dtype.kind != "U":
        return []
    try:
        return [date.fromisoformat(str(day)).isoformat() for day in days]
    except ValueError:
        return []
