"""The components of a model: their loadings on a few modes."""

from collections.abc import Mapping

import pandas as pd

from scoup.palette import SIMULATED
from scoup.plot import style
from scoup.plot.door import Figure


def components(tables: Mapping[str, pd.DataFrame], caption: str) -> Figure:
    """Draw one panel per table and one curve per component, each scaled to a largest loading of 1.

    ``tables`` have one row per index and one column per component; ``caption`` names the data.
    """
    with style.applied():
        figure, grid = style.panels(len(tables), height=2.6)
        for axes, (name, table) in zip(grid[0], tables.items(), strict=True):
            scaled = table / table.abs().max()
            for number, component in enumerate(scaled):
                curve = {
                    key: value for key, value in style.look(number).items() if key != "capsize"
                }
                labels = scaled.index.astype(str)
                axes.plot(labels, scaled[component], label=f"component {component}", **curve)
            axes.set_title(name)
            axes.tick_params(axis="x", rotation=90, labelsize=7)
        grid[0, 0].set_ylabel("loading / largest")
        grid[0, 0].legend(fontsize=7)
        figure.supxlabel(caption, fontsize=8, color=SIMULATED)
    return figure
