"""Draw relative cost against relative output size, one panel per data set."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from scoup.listing import members
from scoup.plot import style
from scoup.plot.door import Axes, Figure
from scoup.records import Metric

PLANTED = ("control_cost", "planted_output_size")


def sparsity(metrics: Sequence[Metric], material: Sequence[Any]) -> Figure:
    """Draw a panel for each data set, a curve over sampling factors for each finish."""
    del material
    table = style.frame(metrics)
    datasets = list(dict.fromkeys(table.dataset))
    figure, grid = style.panels(len(datasets))
    for axes, dataset in zip(grid[0], datasets, strict=True):
        runs = table[table.dataset == dataset]
        for number, (finish, label) in enumerate(style.finishes(table).items()):
            _curve(axes, runs[runs.finish == finish], number, label)
        _controls(axes, runs)
        axes.set_title(dataset)
        axes.set_xlabel("output size of full ALS / ours")
        style.unit_line(axes)
        style.plain_log(axes.yaxis)
    grid[0, 0].set_ylabel("cost / cost of full ALS")
    handles = {
        label: handle
        for axes in grid[0]
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=len(handles))
    style.letter(grid)
    return figure


def _controls(axes: Axes, table: pd.DataFrame) -> None:
    """Mark the cost of random factors and, if there are any, cost and size of the planted ones."""
    style.control(axes, table, "control_cost", "random", "random factors")
    planted = table[table.name.isin(PLANTED) & (table.get("control", "") == "planted")]
    if len(planted):
        level = planted.groupby("name").value.median()
        look = style.look(len(members("scoup.finishes")))
        axes.errorbar([level.planted_output_size], [level.control_cost], label="planted", **look)


def _curve(axes: Axes, table: pd.DataFrame, number: int, label: str) -> None:
    size = style.quartiles(table[table.name == "relative_output_size"], "plan").sort_values("mid")
    cost = style.quartiles(table[table.name == "relative_cost"], "plan").loc[size.index]
    style.points(axes, size, cost, label=label, **style.look(number))
