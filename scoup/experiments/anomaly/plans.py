"""What each plan finds: the largest stars counted directly, and the planted ones where data is simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scoup.measures import Metric
from scoup.plot import style

KINDS = {"star-out": "one {1}, many {0}s, one {2}", "star-in": "many {1}s, one {0}, one {2}"}
NAMES = ("wall", "poster", "day")


def figure(metrics: Sequence[Metric], material: Sequence[Any] = ()) -> Figure:
    """Draw the share of the largest stars found by each plan; beside it precision at k of the table of all plans."""
    names = material[0][0]["names"] if material else NAMES
    labels = {kind: text.format(*names) for kind, text in KINDS.items()}
    table = style.frame(metrics)
    planted = table[table.name == "precision_at"]
    drawn, grid = style.panels(1 if planted.empty else 2, height=3.0)
    _found(grid[0, 0], table[table.name == "largest_found"], labels)
    if not planted.empty:
        _precision(grid[0, 1], planted[planted.plan == "all plans"], labels)
    style.letter(grid)
    return drawn


def _found(axes: Axes, table: pd.DataFrame, labels: Mapping[str, str]) -> None:
    plans = list(dict.fromkeys(table.plan))
    for number, (kind, label) in enumerate(labels.items()):
        mine = style.quartiles(table[table.kind == kind], "plan").loc[plans]
        at = np.arange(len(plans)) + 0.38 * (number - 0.5)
        axes.barh(
            at,
            mine.mid,
            height=0.34,
            color=style.COLOURS[number],
            label=label,
            hatch=("", "//")[number],
        )
    axes.set_yticks(range(len(plans)), [plan.replace("_", " ") for plan in plans])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.02)
    axes.set_xlabel("share of the largest stars found")
    axes.legend(fontsize=7, loc="lower center", bbox_to_anchor=(0.4, 1.02))


def _precision(axes: Axes, table: pd.DataFrame, labels: Mapping[str, str]) -> None:
    for number, (kind, label) in enumerate(labels.items()):
        mine = table[table.kind == kind]
        if not mine.empty:
            style.curve(axes, mine, "k", number, label)
    axes.set_ylim(0, 1.05)
    axes.set_xlabel("first k of the table, all plans")
    axes.set_ylabel("share that was planted")
    axes.legend(fontsize=7)
