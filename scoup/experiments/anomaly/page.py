"""The table of everything that was found: as a page, as CSV and as JSON."""

from collections.abc import Mapping
from typing import Any

from scoup import report
from scoup.records import Array


def page(facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> dict[str, bytes]:
    """Return the files of the page by name."""
    del arrays
    # A file sorts the keys of a row: their order is a separate fact.
    rows = [{column: row[column] for column in facts["columns"]} for row in facts["rows"]]
    wall, poster, day = facts["names"]
    text = (
        "Every component of every repetition and of the merge, listed once. A star-out is one "
        f"{poster} with many {wall}s, a star-in one {wall} with many {poster}s, both on one {day}; "
        f"a flood is much of one {poster} with one {wall} on one {day}, a conversation the same "
        f"over many {day}s. The score counts distinct partners on one {day} (for a flood, its "
        f"sum); for conversations and communities it is the sum per {day} and leader. Click a "
        "column's head to sort."
    )
    files = report.downloads(rows)
    section = report.Section(text=text, files=list(files), tables=[report.Table.of(rows)])
    return {"index.html": report.experiment_page("Anomalies", [section], facts), **files}
