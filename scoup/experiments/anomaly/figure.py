"""The paper's picture of an anomaly, for the strongest component of each kind: walls, posters, days."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure

from scoup.measures import Metric
from scoup.plot import style

DAY = 2
SEEN = 0.01  # of the largest entry: what is smaller would be a row of dots at zero
Panel = Mapping[str, Any]


def figure(metrics: Sequence[Metric], material: Sequence[Any]) -> Figure:
    """Draw a row of three panels for each kind; stems are the entries of the component's three vectors."""
    del metrics
    facts = material[0][0]
    panels = facts["panels"]
    if not panels:
        drawn, grid = style.panels(1)
        grid[0, 0].text(0.5, 0.5, "no component holds a post", ha="center")
        return drawn
    drawn, grid = style.panels(3, rows=len(panels), height=1.55)
    for number, panel in enumerate(panels):
        for mode in range(3):
            _stems(grid[number, mode], panel, mode, facts)
        grid[number, 0].set_ylabel(f"{panel['found']['kind']}\n(largest = 1)")
    for mode, name in enumerate(facts["names"]):
        grid[-1, mode].set_xlabel(name if mode == DAY else f"{name} (in the order of labels)")
    return drawn


def _stems(axes: Axes, panel: Panel, mode: int, facts: Mapping[str, Any]) -> None:
    column, colour = panel["columns"][mode], style.COLOURS[mode]
    entries = [
        (place, value)
        for place, value in zip(column["index"], column["value"], strict=True)
        if abs(value) > SEEN
    ]
    places, values = [place for place, _ in entries], [value for _, value in entries]
    if mode == DAY and facts["calendar"]:
        days = [date.fromisoformat(day) for day in facts["calendar"]]
        places = [days[place] for place in places]
        axes.set_xlim(days[0], days[-1])  # type: ignore[arg-type]
        axes.xaxis.set_major_locator(AutoDateLocator(minticks=2, maxticks=5))
        axes.xaxis.set_major_formatter(ConciseDateFormatter(axes.xaxis.get_major_locator()))
    else:
        axes.set_xlim(0, facts["sizes"][mode])
    axes.vlines(places, 0, values, color=colour, linewidth=0.9)
    axes.plot(places, values, ".", color=colour, markersize=2.5)
    axes.axhline(0, color=style.GREY, linewidth=0.6)
    axes.set_ylim(min(-0.15, min(values, default=0) * 1.1), 1.25)
    axes.set_title(_title(panel, mode, facts["names"][mode]), fontsize=7.5)


def _title(panel: Panel, mode: int, name: str) -> str:
    count = panel["found"]["counts"][mode]
    return f"{name} {panel['ids'][mode]}" if count < 2 else f"about {count:.0f} {name}s take part"
