"""Draw explained share and match against the shared fraction."""

from collections.abc import Sequence
from typing import Any

from scoup.evidence import Metric
from scoup.experiments.shared.measure import PAPER_RANGE
from scoup.plot import style
from scoup.plot.door import Figure

LABELS = {
    "explained_share": "explained share",
    "match": "match with the reference",
}


def shared(metrics: Sequence[Metric], material: Sequence[Any]) -> Figure:
    """Draw a panel for each measure and a curve for each data set."""
    del material
    table = style.frame(metrics)
    numbers = style.numbers(sorted(table.dataset.unique()))
    figure, grid = style.panels(len(LABELS), height=2.6)
    for axes, (name, label) in zip(grid[0], LABELS.items(), strict=True):
        runs = table[table.name == name]
        for dataset, values in runs.groupby("dataset"):
            style.curve(axes, values, "shared", numbers[str(dataset)], str(dataset))
        axes.axvspan(*PAPER_RANGE, color="0.92", zorder=0, label="the paper's range")
        axes.set(xlabel="shared fraction p", ylabel=label)
        axes.set_ylim(0, 1.05 if name == "match" else None)
    grid[0, 0].legend()
    style.letter(grid)
    return figure
