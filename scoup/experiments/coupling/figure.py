"""Draw what is recovered of the noise-free tensor against the noise."""

from collections.abc import Sequence
from typing import Any

from scoup.evidence import Metric
from scoup.plot import style
from scoup.plot.door import Figure

PANELS = {"recovered_share": "share of the noise-free\ntensor recovered", "factor_match": "match"}
MIN_SHOWN_SHARE = -0.2  # a model of noise can be worse than none without limit


def coupling(metrics: Sequence[Metric], material: Sequence[Any]) -> Figure:
    """Draw a row for each plan: the share recovered, and the match with the planted factors."""
    del material
    table = style.frame(metrics)
    plans = list(dict.fromkeys(table.plan))
    figure, grid = style.panels(len(PANELS), len(plans), height=2.3)
    for row, plan in zip(grid, plans, strict=True):
        for axes, (name, label) in zip(row, PANELS.items(), strict=True):
            runs = table[(table.name == name) & (table.plan == plan)]
            for contender, number in style.numbers(runs.contender).items():
                chosen = runs[runs.contender == contender]
                style.curve(axes, chosen, "noise", number, contender)
            axes.set_title(f"plan {plan}")
            axes.set_xlabel("noise / root mean square of the tensor")
            axes.set_ylabel(label)
            axes.set_ylim(MIN_SHOWN_SHARE, 1.05)
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    style.letter(grid)
    return figure
