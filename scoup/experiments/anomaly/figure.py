"""The paper's picture of an anomaly, for the strongest component of each kind; what plans find."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from scoup.plot import style
from scoup.plot.door import AutoDateLocator, Axes, ConciseDateFormatter, Figure
from scoup.records import Metric

DAY_MODE = 2
MIN_SHARE_DRAWN = 0.01  # of the largest entry; smaller ones would be a row of dots at zero
STAR_LABELS = {"star-out": "one {1}, many {0}s, one {2}", "star-in": "many {1}s, one {0}, one {2}"}
Panel = Mapping[str, Any]


def anomaly(metrics: Sequence[Metric], material: Sequence[Any]) -> Figure:
    """Draw a row of three panels per kind; stems are the entries of the component's vectors."""
    del metrics
    facts = material[0][0]
    panels = facts["panels"]
    if not panels:
        drawing, grid = style.panels(1)
        grid[0, 0].text(0.5, 0.5, "no component holds a post", ha="center")
        return drawing
    drawing, grid = style.panels(3, rows=len(panels), height=1.55)
    for number, panel in enumerate(panels):
        for mode in range(3):
            _stems(grid[number, mode], panel, mode, facts)
        grid[number, 0].set_ylabel(f"{panel['found']['kind']}\n(largest = 1)")
    for mode, name in enumerate(facts["names"]):
        grid[-1, mode].set_xlabel(name if mode == DAY_MODE else f"{name} (in the order of labels)")
    return drawing


def _stems(axes: Axes, panel: Panel, mode: int, facts: Mapping[str, Any]) -> None:
    column, colour = panel["columns"][mode], style.COLOURS[mode]
    entries = [
        (index, value)
        for index, value in zip(column["index"], column["value"], strict=True)
        if abs(value) > MIN_SHARE_DRAWN
    ]
    positions, values = [index for index, _ in entries], [value for _, value in entries]
    if mode == DAY_MODE and facts["calendar"]:
        days = [date.fromisoformat(day) for day in facts["calendar"]]
        positions = [days[index] for index in positions]
        axes.set_xlim(days[0], days[-1])  # type: ignore[arg-type]
        axes.xaxis.set_major_locator(AutoDateLocator(minticks=2, maxticks=5))
        axes.xaxis.set_major_formatter(ConciseDateFormatter(axes.xaxis.get_major_locator()))
    else:
        axes.set_xlim(0, facts["sizes"][mode])
    axes.vlines(positions, 0, values, color=colour, linewidth=0.9)
    axes.plot(positions, values, ".", color=colour, markersize=2.5)
    axes.axhline(0, color=style.GREY, linewidth=0.6)
    axes.set_ylim(min(-0.15, min(values, default=0) * 1.1), 1.25)
    axes.set_title(_title(panel, mode, facts["names"][mode]), fontsize=7.5)


def _title(panel: Panel, mode: int, name: str) -> str:
    count = panel["found"]["counts"][mode]
    return f"{name} {panel['ids'][mode]}" if count < 2 else f"about {count:.0f} {name}s take part"


def anomaly_plans(metrics: Sequence[Metric], material: Sequence[Any]) -> Figure:
    """Draw the share of the largest stars found by each plan, and precision at k of all plans."""
    names = material[0][0]["names"] if material else ("wall", "poster", "day")
    labels = {kind: text.format(*names) for kind, text in STAR_LABELS.items()}
    table = style.frame(metrics)
    planted = table[table.name == "precision_at"]
    drawing, grid = style.panels(1 if planted.empty else 2, height=3.0)
    _largest(grid[0, 0], table[table.name == "largest_found"], labels)
    if not planted.empty:
        _precision(grid[0, 1], planted[planted.plan == "all plans"], labels)
    style.letter(grid)
    return drawing


def _largest(axes: Axes, table: pd.DataFrame, labels: Mapping[str, str]) -> None:
    plans = list(dict.fromkeys(table.plan))
    for number, (kind, label) in enumerate(labels.items()):
        spread = style.quartiles(table[table.kind == kind], "plan").loc[plans]
        axes.barh(
            np.arange(len(plans)) + 0.38 * (number - 0.5),
            spread.mid,
            height=0.34,
            color=style.COLOURS[number],
            label=label,
            hatch=("", "//")[number],
        )
    axes.set_yticks(range(len(plans)), [plan.replace("_", " ") for plan in plans])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.02)
    axes.set_xlabel("share of the largest stars found")
    axes.legend(fontsize=7, loc="lower center", bbox_to_anchor=(0.4, 1.02))


def _precision(axes: Axes, table: pd.DataFrame, labels: Mapping[str, str]) -> None:
    for number, (kind, label) in enumerate(labels.items()):
        rows = table[table.kind == kind]
        if not rows.empty:
            style.curve(axes, rows, "k", number, label)
    axes.set_ylim(0, 1.05)
    axes.set_xlabel("first k of the table, all plans")
    axes.set_ylabel("share that was planted")
    axes.legend(fontsize=7)
