"""Four signs of the rank for each data set: fit, hidden cells, stability and core; and what they recommend."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator

from scoup.measures import Metric
from scoup.plot import style

# Core consistency falls without bound: below this it is drawn at the edge.
LOWEST_CORE = -10.0
DEGENERATE = -0.85


def figure(metrics: Sequence[Metric], material: Sequence[Any]) -> Figure:
    """Draw four panels for each data set, with the recommendation of its first seed and the reasons above them."""
    table = style.frame(metrics)
    drawn = Figure(figsize=(style.WIDTH, 5.4 * len(material)), layout="constrained")
    parts = drawn.subfigures(len(material), 1, squeeze=False)[:, 0]
    for part, (facts, _) in zip(parts, material, strict=True):
        here = table[table.dataset == facts["dataset"]]
        here = here.assign(block=here.block.replace(facts["blocks"]))
        grid = part.subplots(2, 2)
        for axes, panel in zip(grid.flat, (_fit, _hidden, _stable, _core), strict=True):
            panel(axes, here)
            _recommended(axes, here)
        _headline(part, facts, here)
        style.letter(grid)
    return drawn


def _headline(part: SubFigure, facts: Any, table: pd.DataFrame) -> None:
    seeds = table[table.name == "recommended_rank"].groupby("value").seed.count()
    others = (
        ""
        if seeds.sum() < 2
        else "; over seeds: " + ", ".join(f"{_word(v)} {n}x" for v, n in seeds.items())
    )
    head = f"{facts['dataset']}: {facts['words']}{others}"
    lines = [fill(line, 118) for line in (*facts["reasons"], *facts["warnings"])]
    part.suptitle("\n".join([head, *lines]), fontsize=8, x=0.02, ha="left")


def _word(value: float) -> str:
    return "not sure" if value == 0 else f"rank {value:g}"


def _recommended(axes: Axes, table: pd.DataFrame) -> None:
    for value in sorted(set(table[(table.name == "recommended_rank") & (table.value > 0)].value)):
        axes.axvline(value, color=style.GREY, linewidth=0.9, linestyle="--", zorder=0)
    axes.set_xlabel("rank")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _fit(axes: Axes, table: pd.DataFrame) -> None:
    mine = table[table.name == "block_fit"]
    for number, block in enumerate(dict.fromkeys(mine.block)):
        style.curve(axes, mine[mine.block == block], "rank", number % len(style.COLOURS), block)
    axes.set_ylabel("share of squares explained")
    axes.legend()


def _hidden(axes: Axes, table: pd.DataFrame) -> None:
    mine = table[table.name == "held_out_error"]
    for _, fold in mine.groupby(["seed", "fold"]):
        axes.plot(fold["rank"], fold.value, color=style.COLOURS[0], alpha=0.25, linewidth=0.6)
    style.curve(axes, mine, "rank", 0, "folds: median, quartiles")
    axes.axhline(1, color=style.GREY, linewidth=0.8, linestyle=":", label="zero model")
    axes.set_ylabel("error on hidden cells")
    axes.legend()


def _stable(axes: Axes, table: pd.DataFrame) -> None:
    names = {
        "match_seeds": "starts",
        "match_halves": "split halves",
        "weakest_halves": "weakest in halves",
    }
    for number, (name, label) in enumerate(names.items()):
        mine = table[table.name == name]
        if len(mine):
            style.curve(axes, mine, "rank", number, label)
    axes.set_ylim(-0.03, 1.03)
    axes.set_ylabel("factor match score")
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1.02, 1.0),
        ncols=3,
        columnspacing=0.8,
        handlelength=1.4,
        fontsize=7,
    )


def _core(axes: Axes, table: pd.DataFrame) -> None:
    mine = table[table.name == "core_consistency"]
    shown = mine.assign(value=np.maximum(mine.value, LOWEST_CORE))
    if len(shown):
        cut = (mine.value < LOWEST_CORE).any()
        style.curve(axes, shown, "rank", 0, f"lower values at {LOWEST_CORE:g}" if cut else "_whole")
    else:
        why = "not defined: cells are missing, or the core is too large"
        axes.text(0.5, 0.5, why, ha="center", transform=axes.transAxes, fontsize=7)
    at = sorted(
        table[(table.name == "triple_cosine") & (table.value <= DEGENERATE)]["rank"].unique()
    )
    if at:
        axes.plot(at, np.full(len(at), LOWEST_CORE - 6), "x", color="#B00000", label="degenerate")
    if axes.get_legend_handles_labels()[1]:
        axes.legend()
    axes.set_ylim(LOWEST_CORE - 10, 105)
    axes.set_ylabel("core consistency, %")
