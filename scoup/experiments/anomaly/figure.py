"""The paper's picture of an anomaly, for the strongest component of each kind; what plans find."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import pandas as pd

from scoup.evidence import Metric
from scoup.experiments.anomaly.kinds import DAY
from scoup.experiments.anomaly.score import (
    DATA,
    FRIENDS,
    GROUPS,
    PRECISION,
    RECALL,
    REWIRED,
    SHUFFLED,
    STRANGERS,
)
from scoup.plot import style
from scoup.plot.door import AutoDateLocator, Axes, ConciseDateFormatter, Figure

MAX_COURSES = 3
CONTROL_ORDER = (DATA, REWIRED, SHUFFLED, STRANGERS)
MIN_SHARE_DRAWN = 0.01  # of the largest entry; smaller ones would be a row of dots at zero
Panel = Mapping[str, Any]


def anomaly(metrics: Sequence[Metric], material: Sequence[Any]) -> Figure:
    """Draw a row of three panels per kind; stems are the entries of the component's vectors."""
    del metrics
    facts = material[0][0]
    panels = facts["panels"]
    if not panels:
        drawing, grid = style.panels(1)
        grid[0, 0].text(0.5, 0.5, "no component holds anything", ha="center")
        return drawing
    drawing, grid = style.panels(3, rows=len(panels), height=1.55)
    for number, panel in enumerate(panels):
        for mode in range(3):
            _stems(grid[number, mode], panel, mode, facts)
        kind = panel["found"]["kind"]
        grid[number, 0].set_ylabel(f"{facts['words'].get(kind, kind)}\n(largest: ±1)")
    for mode, name in enumerate(facts["names"]):
        grid[-1, mode].set_xlabel(name if mode == DAY else f"{name} (in the order of labels)")
    return drawing


def _stems(axes: Axes, panel: Panel, mode: int, facts: Mapping[str, Any]) -> None:
    column, colour = panel["columns"][mode], style.COLOURS[mode]
    entries = [
        (index, value)
        for index, value in zip(column["index"], column["value"], strict=True)
        if abs(value) > MIN_SHARE_DRAWN
    ]
    # The sign of a component is free: most of what takes part points upwards.
    sign = -1.0 if sum(value**3 for _, value in entries) < 0 else 1.0
    positions, values = [index for index, _ in entries], [sign * value for _, value in entries]
    if mode == DAY and facts["calendar"]:
        days = [date.fromisoformat(day) for day in facts["calendar"]]
        positions = [days[index] for index in positions]
        ends: tuple[Any, Any] = (days[0], days[-1])
        _dates(axes)
    else:
        ends = 0, facts["sizes"][mode]
    # Drawn without a line, so that stems at either end stand clear of the frame.
    axes.plot(ends, (0, 0), linestyle="none")
    axes.vlines(positions, 0, values, color=colour, linewidth=0.9)
    axes.plot(positions, values, ".", color=colour, markersize=2.5)
    axes.axhline(0, color=style.GREY, linewidth=0.6)
    axes.set_ylim(min(-0.15, min(values, default=0) * 1.15), 1.25)
    axes.set_title(_title(panel, mode, facts["names"][mode]), fontsize=7.5)


def _dates(axes: Axes) -> None:
    axes.xaxis.set_major_locator(AutoDateLocator(minticks=2, maxticks=5))
    axes.xaxis.set_major_formatter(ConciseDateFormatter(axes.xaxis.get_major_locator()))


def _title(panel: Panel, mode: int, name: str) -> str:
    count = panel["found"]["counts"][mode]
    return f"{name} {panel['ids'][mode]}" if count < 2 else f"about {count:.0f} {name}s take part"


def anomaly_plans(metrics: Sequence[Metric], material: Sequence[Any]) -> Figure:
    """Draw recall and precision within the first k entries: of each plan, and of counting."""
    del material
    table = style.frame(metrics)
    table = table[table.name.isin([RECALL.name, PRECISION.name])]
    numbers = style.numbers(table.plan)
    stars = table[table.name == RECALL.name]
    planted = bool((stars.truth == "planted").any())
    drawing, grid = style.panels(3 if planted else 2, height=3.1, sharey=True)
    _lines(grid[0, 0], stars[stars.truth == "counted"], "share of the largest stars found", numbers)
    precision = table[(table.name == PRECISION.name) & (table.truth == "counted")]
    _lines(grid[0, 1], precision, "share among the k largest", numbers)
    if planted:
        found = stars[stars.truth == "planted"]
        _lines(grid[0, 2], found, "share of the planted stars found", numbers)
    grid[0, 0].set_ylim(-0.03, 1.05)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=7.5)
    style.letter(grid)
    return drawing


def _lines(axes: Axes, table: pd.DataFrame, label: str, numbers: Mapping[str, int]) -> None:
    for plan in dict.fromkeys(table.plan):
        style.curve(axes, table[table.plan == plan], "k", numbers[plan], plan.replace("_", " "))
    axes.set_xticks(sorted(set(table.k)))
    axes.set_xlabel("first k entries")
    axes.set_title(label, fontsize=8.5)


def anomaly_groups(metrics: Sequence[Metric], material: Sequence[Any]) -> Figure:
    """Draw the number of groups and of slices by chance, and the courses of the largest groups."""
    table = style.frame(metrics)
    drawing, grid = style.panels(3, height=2.9)
    facts = material[0][0]
    words, friends = facts["controls"], "friends among silent\nmembers (share)"
    _bars(grid[0, 0], table[table.name == GROUPS.name], "groups", words)
    _bars(grid[0, 1], table[table.name == FRIENDS.name], friends, words)
    for number, course in enumerate(facts["courses"][:MAX_COURSES]):
        starts = facts["slice_starts"]
        days = [date.fromisoformat(day) for day in starts] if facts["calendar"] else starts
        look = {"color": style.COLOURS[number], "linestyle": style.LINES[number]}
        size = facts["groups"][number]["in both roles"]
        grid[0, 2].plot(days, course, label=f"group {number + 1} ({size} users)", **look)
    axes = grid[0, 2]
    if facts["calendar"]:
        _dates(axes)
    count = "posts" if "poster" in facts["names"] else "count"
    axes.set_ylabel(f"{count} in {facts['slice_days']} {facts['names'][DAY]}s")
    if facts["courses"]:
        axes.legend(fontsize=7, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    style.letter(grid)
    return drawing


def _bars(axes: Axes, table: pd.DataFrame, label: str, words: Mapping[str, str]) -> None:
    controls = [name for name in CONTROL_ORDER if name in set(table.control)]
    middle = [table[table.control == name].value.median() for name in controls]
    axes.barh(range(len(controls)), middle, color=style.COLOURS[0], height=0.6)
    axes.bar_label(axes.containers[0], fmt="%.2g", fontsize=8, padding=2)  # type: ignore[arg-type]
    ticks = [words.get(name, name).replace(" ", "\n") for name in controls]
    axes.set_yticks(range(len(controls)), ticks)
    axes.set_xlim(0, 1.25 * max(middle, default=0) or 1)
    axes.invert_yaxis()
    axes.set_xlabel(label)
