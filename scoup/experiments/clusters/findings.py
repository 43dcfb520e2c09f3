"""Whether components bring things of one category together, next to chance."""

from collections.abc import Mapping, Sequence
from typing import Any

from scoup.records import Metric, pick
from scoup.report import Section, Table

MAX_NAMES = 5


def findings(facts: Mapping[str, Any], metrics: Sequence[Metric]) -> Section:
    """Return what the top of the report says."""
    purity, null, p_value = (
        pick(metrics, name)[0].value for name in ("mean_purity", "null_purity", "p_value")
    )
    alone = ", ".join(f"{run.at['model']} {run.value:.2f}" for run in pick(metrics, "alone_purity"))
    rows = [
        [component["component"], sign, *(_names(end[name]) for name in facts["names"][:2])]
        for component in facts["components"]
        for sign, end in component["ends"].items()
    ]
    return Section(
        f"{purity:.0%} of the things at an end of a component are of one category",
        points=[f"Categories dealt at random: {null:.0%}, p = {p_value:.2g}; {alone}."],
        tables=[Table(["component", "end", *facts["names"][:2]], rows)],
    )


def _names(members: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(member["name"] for member in members[:MAX_NAMES])
