"""Draw relative cost against relative time for every contender, and the pseudoinverse alone."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from scoup.evidence import Metric, pick
from scoup.plot import style
from scoup.plot.door import Axes, Figure


def speedup(metrics: Sequence[Metric], material: Sequence[Any]) -> Figure:
    """Draw a panel for each number of workers; full fits appear in all of them."""
    del material
    table = style.frame(metrics)
    table = table[table.name != "pinv_speedup"]
    sampled = table[table.contender == "SCOUP"]
    names = table.contender.dropna().unique()
    full_fits = [name for name in names if not name.startswith("SCOUP")]
    labels = style.finishes(sampled)
    numbers = style.numbers([*labels, *full_fits])
    workers = sorted(sampled.workers.astype(int).unique())
    figure, grid = style.panels(len(workers), height=3.4, sharey=True)
    for axes, count in zip(grid[0], workers, strict=True):
        for finish, label in labels.items():
            runs = sampled[(sampled.workers == count) & (sampled.finish == finish)]
            _points(axes, runs, "sampling", numbers[finish], f"SCOUP, {label}")
        for name in full_fits:
            _points(axes, table[table.contender == name], "contender", numbers[name], name)
        style.control(axes, table, "control_cost", "random", "random factors")
        axes.set_title(f"{count} worker{'s' if count > 1 else ''}")
        axes.set_xlim(*_time_limits(table))
        style.plain_log(axes.xaxis)
        axes.set_xlabel("time / time of reference ALS")
        style.unit_line(axes)
    grid[0, 0].set_ylabel("cost / cost of reference ALS")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    style.letter(grid)
    return figure


def pinv(metrics: Sequence[Metric], material: Sequence[Any]) -> Figure:
    """Draw what the lemma gains, a panel for each number of components."""
    del material
    table = style.frame(pick(metrics, "pinv_speedup"))
    ranks = sorted(table.components.unique())
    figure, grid = style.panels(len(ranks), height=2.4, sharey=True)
    for axes, rank in zip(grid[0], ranks, strict=True):
        chosen = table[table.components == rank]
        for name, number in style.numbers(sorted(chosen.contender.unique())).items():
            style.curve(axes, chosen[chosen.contender == name], "rows", number, name)
        axes.set_title(f"R = {rank}")
        axes.set_xlabel("rows I")
        style.plain_log(axes.xaxis)
        style.plain_log(axes.yaxis)
        style.unit_line(axes)
    grid[0, 0].set_ylabel("time of the stacked\npseudoinverse / time")
    grid[0, 0].legend()
    style.letter(grid)
    return figure


def _time_limits(table: pd.DataFrame) -> tuple[float, float]:
    """Return half the least and twice the largest relative time, so that no run falls outside."""
    speedups = table[table.name == "speedup"].value
    return 0.5 / float(speedups.max()), max(2.0, 2.0 / float(speedups.min()))


def _points(axes: Axes, table: pd.DataFrame, by: str, number: int, label: str) -> None:
    """Draw the medians over seeds of one contender, joined from mild sampling to harsh."""
    inverse = table[table.name == "speedup"].assign(value=lambda rows: 1 / rows.value)
    seconds = style.quartiles(inverse, by)
    cost = style.quartiles(table[table.name == "relative_cost"], by).loc[seconds.index]
    style.points(axes, seconds, cost, label=label, **style.look(number), linewidth=1)
