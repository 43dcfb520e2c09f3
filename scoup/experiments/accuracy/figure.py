"""Relative cost and explained share against the number of repetitions: every run, and the median of each merge."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from scoup.measures import Metric
from scoup.plot import style

CONTROLS = {"relative_cost": "control_cost", "explained_share": "control_share"}


def figure(metrics: Sequence[Metric]) -> Figure:
    """Draw a column for each finish: relative cost above, explained share below."""
    table = style.frame(metrics)
    finishes = [finish for finish in style.FINISHES if finish in set(table.finish.dropna())]
    drawn, grid = style.panels(len(finishes), rows=2, height=2.5)
    for column, finish in enumerate(finishes):
        here = table[table.finish == finish]
        for row, name in enumerate(("relative_cost", "explained_share")):
            _panel(grid[row, column], here, name)
            style.control(grid[row, column], table, CONTROLS[name], "random", "random factors")
        grid[0, column].set_title(f"{style.FINISHES[finish]}\n{_monotone(here)}", fontsize=7.5)
        style.plain_log(grid[0, column].yaxis)
        grid[1, column].set_xlabel("repetitions r")
    grid[0, 0].set_ylabel("cost / cost of full ALS")
    grid[1, 0].set_ylabel("explained share")
    drawn.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    style.letter(grid)
    return drawn


def _monotone(table: pd.DataFrame) -> str:
    """Say in how many of the runs no repetition raised the cost."""
    shares = table[table.name == "monotone"].groupby("merge").value.mean()
    return "monotone: " + ", ".join(
        f"{merge} {100 * share:.0f} %" for merge, share in shares.items()
    )


def _panel(axes: Axes, table: pd.DataFrame, name: str) -> None:
    for number, merge in enumerate(sorted(table["merge"].unique())):
        mine = table[table["merge"] == merge]
        values = mine[mine.name == name]
        for _, run in values.groupby("seed"):
            axes.plot(
                run.repetitions, run.value, color=style.COLOURS[number], alpha=0.2, linewidth=0.6
            )
        style.curve(axes, values, "repetitions", number, f"{merge} merge")
    axes.axhline(1, color=style.GREY, linewidth=0.8, linestyle="--")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
