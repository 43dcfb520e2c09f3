"""Draw what is explained after so many passes, and which groups are found."""

from collections.abc import Sequence
from typing import Any

from scoup.evidence import Metric
from scoup.plot import style
from scoup.plot.door import Figure

# What each panel shows, and against what.
PANELS = {"explained_share": "passes", "members_found": "members"}


def scale(metrics: Sequence[Metric], material: Sequence[Any]) -> Figure:
    """Draw a row for each data set: explained share against passes, groups found by their size."""
    del material
    table = style.frame(metrics)
    datasets = list(dict.fromkeys(table.dataset))
    figure, grid = style.panels(2, len(datasets), height=2.6)
    numbers = style.numbers(table[table.name == "members_found"].contender)
    for row, dataset in zip(grid, datasets, strict=True):
        runs = table[table.dataset == dataset]
        for axes, (name, at) in zip(row, PANELS.items(), strict=True):
            for contender, number in numbers.items():
                chosen = runs[(runs.name == name) & (runs.contender == contender)]
                if len(chosen):
                    style.curve(axes, chosen, at, number, contender)
            axes.set_title(dataset)
        row[0].set(xlabel="passes over the shards", ylabel="explained share,\nexact ALS = 1")
        row[1].set(xlabel="members of a group", ylabel="share found", ylim=(-0.05, 1.05))
    handles = grid[0, 1].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=3)
    style.letter(grid)
    return figure
