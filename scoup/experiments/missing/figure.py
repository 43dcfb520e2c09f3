"""Draw signal-to-noise ratio, error on hidden cells and time against the fraction hidden."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from scoup.evidence import Metric
from scoup.plot import style
from scoup.plot.door import Axes, Figure

PANELS = {
    "snr": "SNR (dB)",
    "held_out_error": "squared error / squares\nof hidden cells",
    "seconds": "processor time (s)",
}


def missing(metrics: Sequence[Metric], material: Sequence[Any]) -> Figure:
    """Draw the three panels, a curve for each plan."""
    del material
    table = style.frame(metrics)
    figure, grid = style.panels(len(PANELS), height=2.6)
    for axes, (name, label) in zip(grid[0], PANELS.items(), strict=True):
        for plan, number in style.numbers(table.plan).items():
            runs = table[(table.name == name) & (table.plan == plan)]
            style.curve(axes, runs, "fraction", number, plan)
            if name == "snr":
                _starts(axes, table[table.plan == plan], number)
        axes.set_xlabel("fraction of cells missing")
        axes.set_ylabel(label)
        axes.set_xlim(-0.03, 0.95)
    guess = style.quartiles(table[table.name == "mean_error"], "fraction")
    dashed = {"color": style.GREY, "linestyle": "--", "linewidth": 1}
    grid[0, 1].plot(guess.index, guess.mid, label="guessing the mean", **dashed)
    grid[0, 1].set_ylim(0, 1.08 * grid[0, 1].get_ylim()[1])
    style.plain_log(grid[0, 2].yaxis)
    grid[0, 1].legend()
    style.letter(grid)
    return figure


def _starts(axes: Axes, table: pd.DataFrame, number: int) -> None:
    """Draw how far two starts on all cells are from each other: no model can be nearer."""
    levels = table[table.name == "starts_snr"].value
    if len(levels):
        colour = style.look(number)["color"]
        axes.axhline(levels.median(), color=colour, linewidth=1, linestyle=":")
