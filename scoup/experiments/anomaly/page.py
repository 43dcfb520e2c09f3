"""The ranked table and the groups: as a page, as CSV and as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from scoup import report
from scoup.experiments.anomaly.rows import column_name, first_members
from scoup.records import Array


def page(facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> dict[str, bytes]:
    """Return the files of the page by name."""
    del arrays
    rows = _ordered(facts["rows"], facts["columns"])
    groups = _ordered(facts["groups"], facts["group_columns"])
    files = report.downloads(rows)
    words = list(facts["words"].values())
    shown = [_shortened(row, facts["names"], words) for row in rows]
    sections = [
        report.Section(text=_legend(facts), files=list(files), tables=[report.Table.of(shown)]),
        report.Section("Groups", text=_chance(facts), tables=[report.Table.of(groups)]),
    ]
    return {"index.html": report.experiment_page("Anomalies", sections, facts), **files}


def _ordered(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[dict[str, Any]]:
    """Return rows with their columns in order, which a file does not keep."""
    return [{column: row[column] for column in columns} for row in rows]


def _shortened(
    row: Mapping[str, Any], names: Sequence[str], words: Sequence[str]
) -> dict[str, Any]:
    """Return a row of the page: stars list all members, other kinds the first ones."""
    if row["kind"] in ("star-out", "star-in", *words):
        return dict(row)
    short = dict(row)
    for name in map(column_name, names):
        short[name] = first_members(row[name])
    return short


def _legend(facts: Mapping[str, Any]) -> str:
    wall, poster, day = facts["names"]
    return (
        "Every component of every repetition and of the merge, and the largest stars counted "
        f"directly, each listed once: the column 'found by' says which way. {_stars(facts)}, both "
        f"on one {day}, with all members as in the data; a flood is much of one {poster} with one "
        f"{wall} on one "
        f"{day}, a conversation the same over many {day}s. The score counts distinct partners on "
        f"one {day} (for a flood, its sum), whichever way the entry was found; for conversations "
        f"and communities it is the sum per {day} and leader. Click a column's head to sort."
    )


def _stars(facts: Mapping[str, Any]) -> str:
    wall, poster, _ = facts["names"]
    if facts["words"]:
        return f"Who acts on whom is not known: a star is {' or '.join(facts['words'].values())}"
    return f"A star-out is one {poster} with many {wall}s, a star-in one {wall} with many {poster}s"


def _chance(facts: Mapping[str, Any]) -> str:
    wall, poster, day = facts["names"]
    chance = ", ".join(f"{count:.0f} with {name}" for name, count in facts["chance"].items())
    return (
        f"Counting does not show these: at least four who are {wall} as well as {poster} of the "
        f"same component, in slices of {facts['slice_days']} {day}s. By chance: {chance}. With "
        f"{poster}s rewired, who acts with whom is lost; with {day}s shuffled it is kept, and only "
        "when is lost. 'Friends among silent pairs' is a witness that the factorization did not "
        "see: members who never write to each other but are linked in the matrix."
    )
