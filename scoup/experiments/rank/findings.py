"""The recommended rank and why, and each component by its strongest labels."""

from collections.abc import Mapping, Sequence
from typing import Any

from scoup.evidence import Metric
from scoup.report import Section, Table

MAX_LABELS = 3  # per mode of a component


def findings(facts: Mapping[str, Any], metrics: Sequence[Metric]) -> Section:
    """Return what the top of the report says."""
    del metrics
    heading = f"{facts['words']}, whose components are" if facts["rank"] else facts["words"]
    warning = "" if facts["rank"] else "No rank is recommended: read these components with care."
    reasons = [*facts["reasons"], *facts["warnings"]]
    return Section(heading, warning, reasons, tables=[component_table(facts["components"])])


def component_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return one row per component with its strongest labels in each mode.

    >>> row = {"component": 1, "mode": "day", "label": "Sun", "loading": -0.5, "weight": 2.0}
    >>> component_table([row]).rows
    [[1, 2.0, 'Sun (negative)']]
    """
    modes = list(dict.fromkeys(row["mode"] for row in rows))
    components = list(dict.fromkeys(row["component"] for row in rows))
    table = []
    for component in components:
        own = [row for row in rows if row["component"] == component]
        names = [_labels([row for row in own if row["mode"] == mode]) for mode in modes]
        table.append([component, own[0]["weight"], *names])
    return Table(["component", "weight", *modes], table)


def _labels(rows: Sequence[Mapping[str, Any]]) -> str:
    strongest = [row for row in rows if row["loading"] != 0][:MAX_LABELS]
    if not strongest:
        return ""
    if all(row["loading"] < 0 for row in strongest):
        return ", ".join(str(row["label"]) for row in strongest) + " (negative)"
    return ", ".join(
        f"{row['label']}{' (negative)' if row['loading'] < 0 else ''}" for row in strongest
    )
