"""One look for all figures: sizes for print, colours that colour-blind readers can tell apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from scoup.measures import Metric

matplotlib.use("agg")

# Okabe and Ito's palette, without its yellow, which is too light for lines.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
LINES = ["-", "--", "-.", ":"]
GREY = "0.45"
# What figures show of several runs.
SEEDS = "medians and quartiles of {} seeds"
# What a reader is told of the finishes of a merge.
FINISHES = {"none": "merged as sampled", "refit": "after refit", "complete": "after completion"}
WIDTH = 7.0  # inches: two columns of a journal page

LOOK: dict[str, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "savefig.dpi": 200,
    "svg.hashsalt": "scoup",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}


def applied() -> AbstractContextManager[None]:
    """Return a context in which figures have the house's look."""
    return matplotlib.rc_context(LOOK)  # type: ignore[arg-type]


def panels(
    columns: int, rows: int = 1, height: float = 2.8, sharey: bool = False
) -> tuple[Figure, np.ndarray]:
    """Return a figure of the page's width with a grid of panels, always as a 2-d array."""
    figure = Figure(figsize=(WIDTH, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, sharey=sharey)


def frame(metrics: Iterable[Metric]) -> pd.DataFrame:
    """Return metrics as a table, with their coordinates as columns."""
    return pd.DataFrame(
        [{**{k: v for k, v in asdict(m).items() if k != "at"}, **m.at} for m in metrics]
    )


def quartiles(table: pd.DataFrame, by: Any, value: str = "value") -> pd.DataFrame:
    """Return low, mid and high (quartiles over seeds) for each group, sorted by the group."""
    grouped = table.groupby(by, sort=True)[value]
    return pd.DataFrame(
        {"low": grouped.quantile(0.25), "mid": grouped.median(), "high": grouped.quantile(0.75)}
    )


def look(number: int) -> dict[str, Any]:
    """Colour, marker and line of curve ``number``; markers are hollow so that one curve shows through another."""
    return {
        "color": COLOURS[number],
        "marker": MARKERS[number],
        "linestyle": LINES[number % len(LINES)],
        "markerfacecolor": "none",
        "capsize": 2,
    }


def curve(axes: Axes, table: pd.DataFrame, x: str, number: int, label: str) -> None:
    """Draw the median over seeds against ``x`` with quartiles as error bars, in colour and marker ``number``."""
    spread = quartiles(table, x)
    bars = np.array([spread.mid - spread.low, spread.high - spread.mid])
    axes.errorbar(spread.index, spread.mid, yerr=bars, label=label, **look(number))


def control(axes: Axes, table: pd.DataFrame, name: str, which: str, label: str) -> None:
    """Draw the level that a control reaches, as a dotted line."""
    levels = table[(table.name == name) & (table.get("control", "") == which)].value
    if len(levels):
        axes.axhline(levels.median(), color=GREY, linewidth=1, linestyle=":", label=label)


def plain_log(axis: Axis) -> None:
    """Make an axis logarithmic with numbers as people write them; call it when all is drawn.

    Ticks stand at 1, 2 and 5, at powers of ten where the axis is long, evenly where it is short.
    """
    axis._set_axes_scale("log")  # type: ignore[attr-defined]
    low, high = axis.get_view_interval()
    many, few = LogLocator(subs=(1.0, 2.0, 5.0)), MaxNLocator(5, steps=[1, 2, 5])
    axis.set_major_locator(few if high < 4 * low else many if high < 200 * low else LogLocator())
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def letter(grid: np.ndarray) -> None:
    """Letter the panels a, b, c ... in their upper left corners."""
    for number, axes in enumerate(grid.flat):
        axes.set_title(f"{chr(ord('a') + number)}", loc="left", fontweight="bold", x=-0.12)


def mark(figure: Figure, metrics: Sequence[Metric], seeds: str) -> None:
    """Say under the figure what the data is, in red where it is simulated, and what it shows of many ``seeds``."""
    simulated = {metric.dataset for metric in metrics if metric.provenance == "simulated"}
    real = {metric.dataset for metric in metrics if metric.provenance == "real"}
    both = {"simulated": simulated, "real": real}
    words = [f"{kind} data: {', '.join(sorted(names))}" for kind, names in both.items() if names]
    count = len({metric.seed for metric in metrics})
    words.append(seeds.format(count) if count > 1 else "one seed")
    figure.supxlabel("; ".join(words), fontsize=8, color="#B00000" if simulated else GREY)
