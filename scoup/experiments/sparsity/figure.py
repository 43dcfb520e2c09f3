"""Draw relative cost against relative output size, one panel per data set."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from scoup.evidence import Metric
from scoup.experiments.sparsity.measure import DROP_CONTROLS
from scoup.listing import members
from scoup.palette import CONTENDERS, GREY
from scoup.plot import style
from scoup.plot.door import Axes, Figure

# Beyond this relative cost a curve of a control says no more.
MAX_SHOWN_COST = 3.0
CONTROL = ("control_cost", "control_output_size")


def sparsity(metrics: Sequence[Metric], material: Sequence[Any]) -> Figure:
    """Draw a panel for each data set, a curve over sampling factors for each finish."""
    del material
    table = style.frame(metrics)
    datasets = list(dict.fromkeys(table.dataset))
    figure, grid = style.panels(len(datasets))
    for axes, dataset in zip(grid[0], datasets, strict=True):
        runs = table[table.dataset == dataset]
        _controls(axes, runs)
        finishes = style.finishes(table)
        for finish, number in style.numbers(finishes).items():
            _curve(axes, runs[runs.finish == finish], number, finishes[finish])
        axes.set_title(dataset)
        axes.set_xlabel("output size of full ALS / ours")
        style.unit_line(axes)
        style.plain_log(axes.xaxis)
        style.plain_log(axes.yaxis)
    grid[0, 0].set_ylabel("cost / cost of full ALS")
    handles = {
        label: handle
        for axes in grid[0]
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=4)
    style.letter(grid)
    return figure


def _controls(axes: Axes, table: pd.DataFrame) -> None:
    """Draw random factors, full ALS with entries set to zero and, if any, the planted factors."""
    style.control(axes, table, "control_cost", "random", "random factors")
    controls = table[table.name.isin(CONTROL) & table.get("control", pd.Series(dtype=str)).notna()]
    number = len(members("scoup.finishes"))
    for name, label in DROP_CONTROLS.items():
        levels = controls[controls.control == name]
        if len(levels):
            curve = levels.groupby(["dropped", "name"]).value.median().unstack()
            curve = curve[curve.control_cost <= MAX_SHOWN_COST]
            line = style.LINES[number % len(style.LINES)]
            points = curve.control_output_size, curve.control_cost
            axes.plot(*points, label=label, color=GREY, linewidth=1, linestyle=line)
        number += 1
    planted = controls[controls.control == "planted"]
    if len(planted):
        level = planted.groupby("name").value.median()
        point = [level.control_output_size], [level.control_cost]
        axes.errorbar(*point, label="planted", **style.look(CONTENDERS["planted"]))


def _curve(axes: Axes, table: pd.DataFrame, number: int, label: str) -> None:
    """Draw size and cost of a finish: a curve over plans, or a point per plan and rise."""
    by = ["plan", "rise"] if "rise" in table and table.rise.notna().all() else ["plan"]
    size = style.quartiles(table[table.name == "relative_output_size"], by).sort_values("mid")
    cost = style.quartiles(table[table.name == "relative_cost"], by).loc[size.index]
    look = style.look(number) | ({"linestyle": "none"} if len(by) > 1 else {})
    style.points(axes, size, cost, label=label, **look)
