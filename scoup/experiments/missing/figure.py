"""Signal-to-noise ratio, error on hidden cells and time against the fraction of cells that is missing."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from scoup.measures import Metric
from scoup.plot import style

PANELS = {
    "snr": "SNR (dB)",
    "held_out_error": "squared error on hidden cells\n/ their squares",
    "seconds": "processor time of the fit (s)",
}


def figure(metrics: Sequence[Metric]) -> Figure:
    """Draw the three panels, a curve for each plan."""
    table = style.frame(metrics)
    drawn, grid = style.panels(len(PANELS), height=2.6)
    for axes, (name, label) in zip(grid[0], PANELS.items(), strict=True):
        for number, plan in enumerate(dict.fromkeys(table.plan)):
            style.curve(
                axes, table[(table.name == name) & (table.plan == plan)], "fraction", number, plan
            )
        axes.set_xlabel("fraction of cells missing")
        axes.set_ylabel(label)
        axes.set_xlim(-0.03, 0.95)
    guess = style.quartiles(table[table.name == "mean_error"], "fraction")
    grid[0, 1].plot(
        guess.index,
        guess.mid,
        color=style.GREY,
        linestyle="--",
        linewidth=1,
        label="guessing the mean",
    )
    grid[0, 1].set_ylim(0, 1.08 * grid[0, 1].get_ylim()[1])
    style.plain_log(grid[0, 2].yaxis)
    grid[0, 1].legend()
    style.letter(grid)
    return drawn
