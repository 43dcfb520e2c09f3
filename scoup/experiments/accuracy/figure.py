"""Draw the cost against the number of repetitions: every run, and the median per merge."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from scoup.evidence import Metric
from scoup.experiments.accuracy.measure import KEEP_ZEROS
from scoup.palette import GREY
from scoup.plot import style
from scoup.plot.door import Axes, Figure, MaxNLocator

# A merge that explains less than this is shown by its cost alone.
MIN_SHOWN_SHARE = -1.0
CONTROLS = {"relative_cost": "control_cost", "explained_share": "control_share"}


def accuracy(metrics: Sequence[Metric], material: Sequence[Any]) -> Figure:
    """Draw a column for each finish: relative cost above, explained share below."""
    del material
    table = style.frame(metrics)
    finishes = style.finishes(table)
    figure, grid = style.panels(len(finishes), rows=2, height=2.5)
    for column, (finish, label) in enumerate(finishes.items()):
        runs = table[table.finish == finish]
        for row, name in enumerate(CONTROLS):
            _panel(grid[row, column], runs, name)
            style.control(grid[row, column], runs, CONTROLS[name], "random", "random factors")
        if finish in KEEP_ZEROS:
            _ceiling(grid[1, column], table)
        grid[1, column].set_ylim(bottom=max(grid[1, column].get_ylim()[0], MIN_SHOWN_SHARE))
        grid[0, column].set_title(f"{label}\n{_monotone(runs)}", fontsize=7)
        style.plain_log(grid[0, column].yaxis)
        grid[1, column].set_xlabel("repetitions r")
    grid[0, 0].set_ylabel("cost / cost of full ALS")
    grid[1, 0].set_ylabel("explained share")
    handles, labels = grid[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    style.letter(grid)
    return figure


def _monotone(table: pd.DataFrame) -> str:
    """Say in how many of the runs no repetition raised the cost."""
    shares = table[table.name == "monotone"].groupby("merge").value.mean()
    percent = ", ".join(f"{merge} {100 * share:.0f}" for merge, share in shares.items())
    return f"monotone runs, in percent:\n{percent}"


def _ceiling(axes: Axes, table: pd.DataFrame) -> None:
    """Draw what the sampled rows allow: no merge explains more."""
    controls = table[table.name == "control_share"]
    if controls.empty:
        return
    level = controls[controls.control == "covered"].value.median()
    axes.axhline(level, color=GREY, linewidth=1, linestyle="-.", label="best on sampled rows")


def _panel(axes: Axes, table: pd.DataFrame, name: str) -> None:
    numbers = style.numbers(sorted(table["merge"].dropna().unique()))
    for merge, values in table[table.name == name].groupby("merge"):
        number = numbers[str(merge)]
        for _, run in values.groupby("seed"):
            style.run(axes, run.repetitions, run.value, number)
        style.curve(axes, values, "repetitions", number, f"{merge} merge")
    style.unit_line(axes)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
