"""Whether components bring things of one category together, next to chance."""

from collections.abc import Mapping, Sequence
from typing import Any

from scoup.evidence import Metric, pick
from scoup.report import Section, Table

MAX_NAMES = 5


def findings(facts: Mapping[str, Any], metrics: Sequence[Metric]) -> Section:
    """Return what the top of the report says."""
    purity = pick(metrics, "mean_purity", plan=facts["plan"])[0].value
    parts = facts.get("nonnegative", {"components": []})
    rows = [
        [
            mark + str(component["component"]),
            sign,
            *(_names(end[name]) for name in facts["names"][:2]),
        ]
        for mark, components in (("", facts["components"]), ("non-negative ", parts["components"]))
        for component in components
        for sign, end in component["ends"].items()
    ]
    points = [_controls(facts["plan"], metrics)]
    if parts["components"]:
        share = pick(metrics, "mean_purity", plan=parts["plan"])[0].value
        points.append(f"Non-negative factors: {share:.0%}. {_controls(parts['plan'], metrics)}")
    return Section(
        f"{purity:.0%} of the things at an end of a component are of one category",
        points=points,
        tables=[Table(["component", "end", *facts["names"][:2]], rows)],
    )


def _controls(plan: str, metrics: Sequence[Metric]) -> str:
    """Say what chance and each block alone reach."""
    null, p_value = (pick(metrics, name, plan=plan)[0].value for name in ("null_purity", "p_value"))
    runs = pick(metrics, "alone_purity", plan=plan)
    alone = ", ".join(f"{run.at['model']} {run.value:.0%}" for run in runs)
    return f"Categories dealt at random: {null:.0%}, p = {p_value:.2g}; {alone}."


def _names(members: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(member["name"] for member in members[:MAX_NAMES])
