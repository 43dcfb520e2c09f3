"""The recommended rank with its reasons, and the strongest labels of every component."""

from collections.abc import Mapping
from typing import Any

from scoup import report
from scoup.records import Array

COLUMNS = ("component", "weight", "mode", "place", "label", "loading")


def page(facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> dict[str, bytes]:
    """Return the files of the page by name; the table of components also as CSV and JSON."""
    del arrays
    rows = [{column: row[column] for column in COLUMNS} for row in facts["components"]]
    files = report.downloads(rows)
    advice = report.Section(
        heading=f"Recommendation: {facts['words']}",
        warning="" if facts["rank"] else "No rank is recommended: read these components with care.",
        points=[*facts["reasons"], *facts["warnings"]],
    )
    components = report.Section(
        heading="Components",
        text=f"The strongest labels of every mode for each component of the model of rank "
        f"{facts['shown']}, fitted to all the data. Signs are chosen so that strong entries are "
        "positive; if one mode must give way, it is the most balanced one.",
        files=list(files),
        tables=[report.Table.of(rows)],
    )
    return {"index.html": report.experiment_page("Rank", [advice, components], facts), **files}
