"""The largest bursts with all members and dates, and the groups."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from scoup.evidence import Metric
from scoup.experiments.anomaly.kinds import ANOMALIES
from scoup.experiments.anomaly.rows import column_name, first_members
from scoup.report import Section, Table

MAX_ROWS = 10
COLUMNS = ("place", "kind", "found by", "size")


def findings(facts: Mapping[str, Any], metrics: Sequence[Metric]) -> Section:
    """Return what the top of the report says."""
    del metrics
    words = {**{kind: kind for kind in ANOMALIES}, **facts["words"]}
    bursts = [row for row in facts["rows"] if row["kind"] in words.values()]
    columns = [*COLUMNS, *map(column_name, _who_first(facts["names"]))]
    shown = [
        {column: first_members(row[column]) for column in columns} for row in bursts[:MAX_ROWS]
    ]
    if not bursts:
        return Section("no bursts", points=[_usual(facts), _groups(facts)])
    heading = f"{len(bursts)} bursts listed, the largest of size {bursts[0]['size']:.0f}"
    points = [_sentence(bursts[0], facts), _usual(facts), _groups(facts)]
    table = replace(Table.of(shown), caption=f"first {len(shown)}; the page lists all, in full")
    return Section(heading, points=points, tables=[table])


def _who_first(names: Sequence[str]) -> list[str]:
    whom, who, when = names
    return [who, whom, when]


def _sentence(row: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """Say what the largest burst is.

    >>> facts = {"names": ["wall", "poster", "day"], "words": {}}
    >>> row = {"kind": "star-in", "size": 3.0, "wall": "ann", "poster": "bob cem", "day": "Sun"}
    >>> _sentence(row, facts)
    'The largest: one wall (ann) with 3 different posters on day Sun.'
    """
    whom, who, when = facts["names"]
    kinds = {word: kind for kind, word in facts["words"].items()}
    kind = kinds.get(row["kind"], row["kind"])
    if kind == "flood":
        pair = f"one {who} ({row[column_name(who)]}) with one {whom} ({row[column_name(whom)]})"
        return f"The largest: {row['size']:.0f} of {pair} on {when} {row[column_name(when)]}."
    one, many = (who, whom) if kind == "star-out" else (whom, who)
    return (
        f"The largest: one {one} ({row[column_name(one)]}) with {row['size']:.0f} different "
        f"{many}s on {when} {row[column_name(when)]}."
    )


def _usual(facts: Mapping[str, Any]) -> str:
    """Say what is usual, as a scale for the bursts."""
    whom, who, when = facts["names"]
    most = facts["usual"]
    return (
        f"For scale: 9 in 10 times one {who} has at most {most['star-out']} {whom}s on one {when}, "
        f"and one {whom} at most {most['star-in']} {who}s."
    )


def _groups(facts: Mapping[str, Any]) -> str:
    count = len(facts["groups"])
    chance = ", ".join(f"{number:.0f} with {name}" for name, number in facts["chance"].items())
    return f"Groups who act together: {count}; by chance: {chance}."
