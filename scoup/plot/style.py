"""One look for all figures: sizes for print, colours that colour-blind readers can distinguish."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from itertools import count
from math import isclose, log10
from typing import Any

import numpy as np
import pandas as pd

from scoup.evidence import Metric
from scoup.listing import load
from scoup.palette import COLOURS, CONTENDERS, GREY, SIMULATED
from scoup.plot.door import (
    Axes,
    Axis,
    Figure,
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullLocator,
    matplotlib,
)

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":")
# What most figures show of several runs.
SEEDS_NOTE = "medians and quartiles of {} seeds"
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
    """Return a context in which figures have the common look."""
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


def finishes(table: pd.DataFrame) -> dict[str, str]:
    """Return the finishes in a table of metrics and their labels, in the order of the settings."""
    return {name: load("scoup.finishes", name).LABEL for name in table.finish.dropna().unique()}


def numbers(names: Iterable[str]) -> dict[str, int]:
    """Return the number of the look of each name, to be used in all panels of a figure.

    Contenders keep theirs in every figure; other names take what is left, in their order.

    >>> numbers(["complete", "mine", "none", "theirs"])
    {'complete': 2, 'mine': 1, 'none': 0, 'theirs': 3}
    """
    names = list(dict.fromkeys(names))
    known = {name: CONTENDERS[name] for name in names if name in CONTENDERS}
    free = (number for number in count() if number not in known.values())
    return {name: known[name] if name in known else next(free) for name in names}


def look(number: int) -> dict[str, Any]:
    """Return colour, marker and line of curve ``number``; hollow markers show curves beneath."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": LINES[number % len(LINES)],
        "markerfacecolor": "none",
        "capsize": 2,
    }


def curve(axes: Axes, table: pd.DataFrame, x: str, number: int, label: str) -> None:
    """Draw the median over seeds against ``x``, with quartiles as error bars."""
    spread = quartiles(table, x)
    axes.errorbar(spread.index, spread.mid, yerr=_error_bars(spread), label=label, **look(number))


def run(axes: Axes, x: pd.Series, y: pd.Series, number: int) -> None:
    """Draw a single run as a thin line, or as a dot if it has one point."""
    dot = {"marker": ".", "markersize": 3} if len(x) == 1 else {}
    axes.plot(x, y, color=look(number)["color"], alpha=0.25, linewidth=0.6, **dot)  # type: ignore[arg-type]


def points(axes: Axes, x: pd.DataFrame, y: pd.DataFrame, **look: Any) -> None:
    """Draw medians against medians, with the quartiles of both as error bars."""
    axes.errorbar(x.mid, y.mid, xerr=_error_bars(x), yerr=_error_bars(y), **look)


def _error_bars(spread: pd.DataFrame) -> np.ndarray:
    """Return the lengths (2, n) of error bars from the median to the quartiles."""
    return np.array([spread.mid - spread.low, spread.high - spread.mid])


def unit_line(axes: Axes) -> None:
    """Draw the level 1, that of the full fit."""
    axes.axhline(1, color=GREY, linewidth=0.8, linestyle="--")


def control(axes: Axes, table: pd.DataFrame, name: str, which: str, label: str) -> None:
    """Draw the level that a control reaches, as a dotted line."""
    levels = table[(table.name == name) & (table.get("control", "") == which)].value
    if len(levels):
        axes.axhline(levels.median(), color=GREY, linewidth=1, linestyle=":", label=label)


def plain_log(axis: Axis) -> None:
    """Make an axis logarithmic with plain numbers as labels; call it when all is drawn.

    Ticks are at 1, 2 and 5, at powers of ten if the axis is long, evenly spaced if it is short: at
    least two in any case. Powers that would be long numbers are written as such.
    """
    axis._set_axes_scale("log")  # type: ignore[attr-defined]
    low, high = axis.get_view_interval()
    even, dense = MaxNLocator(5, steps=[1, 2, 5]), LogLocator(subs=(1.0, 2.0, 5.0))
    axis.set_major_locator(even if high < 8 * low else dense if high < 200 * low else LogLocator())
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(value)))


def plain_number(value: float) -> str:
    """Return a positive number in few characters.

    >>> plain_number(0.05), plain_number(2000), plain_number(100_000)
    ('0.05', '2000', '$10^{5}$')
    """
    exponent = round(log10(value)) if value > 0 else 0
    if not -3 <= exponent < 4 and isclose(value, 10.0**exponent):
        return f"$10^{{{exponent}}}$"
    return f"{value:g}"


def letter(grid: np.ndarray) -> None:
    """Letter the panels a, b, c ... in their upper left corners."""
    for number, axes in enumerate(grid.flat):
        axes.set_title(f"{chr(ord('a') + number)}", loc="left", fontweight="bold", x=-0.12)


def mark(figure: Figure, metrics: Sequence[Metric], seeds_note: str) -> None:
    """Say under the figure which data it shows, in red if simulated, and what of several seeds."""
    names = {
        kind: sorted({metric.dataset for metric in metrics if metric.provenance == kind})
        for kind in ("simulated", "real")
    }
    words = [f"{kind} data: {', '.join(datasets)}" for kind, datasets in names.items() if datasets]
    seeds = len({metric.seed for metric in metrics})
    words.append(seeds_note.format(seeds) if seeds > 1 else "one seed")
    colour = SIMULATED if names["simulated"] else GREY
    figure.supxlabel("; ".join(words), fontsize=8, color=colour)
