"""Relative output size against relative cost, a panel for each data set."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scoup.measures import Metric
from scoup.plot import style

CONTROLS = ("control_cost", "planted_output_size")


def figure(metrics: Sequence[Metric]) -> Figure:
    """Draw a panel for each data set, a curve over sampling factors for each finish."""
    table = style.frame(metrics)
    datasets = list(dict.fromkeys(table.dataset))
    drawn, grid = style.panels(len(datasets))
    for axes, dataset in zip(grid[0], datasets, strict=True):
        for number, finish in enumerate(
            name for name in style.FINISHES if name in set(table.finish)
        ):
            _curve(
                axes,
                table[(table.dataset == dataset) & (table.finish == finish)],
                number,
                style.FINISHES[finish],
            )
        _controls(axes, table[table.dataset == dataset])
        axes.set_title(dataset)
        axes.set_xlabel("output size of full ALS / ours")
        axes.axhline(1, color=style.GREY, linewidth=0.8, linestyle="--")
        style.plain_log(axes.yaxis)
    grid[0, 0].set_ylabel("cost / cost of full ALS")
    shown = dict(
        entry
        for axes in grid[0]
        for entry in zip(*reversed(axes.get_legend_handles_labels()), strict=True)
    )
    drawn.legend(shown.values(), shown.keys(), loc="outside upper center", ncols=len(shown))
    style.letter(grid)
    return drawn


def _controls(axes: Axes, table: pd.DataFrame) -> None:
    """Mark the cost of random factors and, where the data was made of factors, size and cost of these."""
    style.control(axes, table, "control_cost", "random", "random factors")
    planted = (
        table[table.name.isin(CONTROLS) & (table.get("control", "") == "planted")]
        .groupby("name")
        .value.median()
    )
    if len(planted):
        axes.errorbar(
            [planted.planted_output_size], [planted.control_cost], label="planted", **style.look(3)
        )


def _curve(axes: Axes, table: pd.DataFrame, number: int, label: str) -> None:
    size = style.quartiles(table[table.name == "relative_output_size"], "plan").sort_values("mid")
    cost = style.quartiles(table[table.name == "relative_cost"], "plan").loc[size.index]
    axes.errorbar(
        size.mid, cost.mid,
        xerr=[size.mid - size.low, size.high - size.mid], yerr=[cost.mid - cost.low, cost.high - cost.mid],
        label=label, **style.look(number),
    )  # fmt: skip
