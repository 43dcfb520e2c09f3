"""Relative cost against relative time for every contender."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scoup.measures import Metric
from scoup.plot import style


def figure(metrics: Sequence[Metric]) -> Figure:
    """Draw a panel for each number of workers; full fits appear in all of them."""
    table = style.frame(metrics)
    workers = sorted(table[table.contender == "SCOUP"].workers.astype(int).unique())
    drawn, grid = style.panels(len(workers), height=3.4, sharey=True)
    for axes, count in zip(grid[0], workers, strict=True):
        for number, finish in enumerate(
            name for name in style.FINISHES if name in set(table.finish)
        ):
            mine = table[
                (table.contender == "SCOUP") & (table.workers == count) & (table.finish == finish)
            ]
            _points(axes, mine, "sampling", number, f"SCOUP, {style.FINISHES[finish]}")
        for number, name in enumerate(("reference", "als", "compressed als"), start=3):
            _points(axes, table[table.contender == name], "contender", number, name)
        style.control(axes, table, "control_cost", "random", "random factors")
        axes.set_title(f"{count} worker{'s' if count > 1 else ''}")
        axes.set_xlim(*ends_of(table))
        style.plain_log(axes.xaxis)
        axes.set_xlabel("time / time of reference ALS")
        axes.axhline(1, color=style.GREY, linewidth=0.8, linestyle="--")
    grid[0, 0].set_ylabel("cost / cost of reference ALS")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside upper center", ncols=3)
    style.letter(grid)
    return drawn


def ends_of(table: pd.DataFrame) -> tuple[float, float]:
    """The ends of the axis of relative time: half the least and twice the most, so that no run falls outside."""
    faster = table[table.name == "speedup"].value
    return 0.5 / float(faster.max()), max(2.0, 2.0 / float(faster.min()))


def _points(axes: Axes, table: pd.DataFrame, by: str, number: int, label: str) -> None:
    """Draw the medians over seeds of one contender, joined from mild sampling to harsh."""
    inverse = table[table.name == "speedup"].assign(value=lambda rows: 1 / rows.value)
    time = style.quartiles(inverse, by)
    cost = style.quartiles(table[table.name == "relative_cost"], by).loc[time.index]
    axes.errorbar(
        time.mid, cost.mid,
        xerr=[time.mid - time.low, time.high - time.mid], yerr=[cost.mid - cost.low, cost.high - cost.mid],
        label=label, **style.look(number) | {"linewidth": 1},
    )  # fmt: skip
