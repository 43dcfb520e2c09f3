"""Four signs of the rank for each data set: fit, hidden cells, stability, core; and the advice."""

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd

from scoup.evidence import Metric
from scoup.experiments.rank import DEGENERATE_COSINE
from scoup.plot import style
from scoup.plot.door import Axes, Figure, MaxNLocator, SubFigure

NONNEGATIVE = ", non-negative"  # ends the labels of curves
MIN_CORE_PERCENT_DRAWN = -10.0  # core consistency has no lower bound; the rest is at the edge
MAX_HEADLINE_CHARACTERS = 118  # per line


def rank(metrics: Sequence[Metric], material: Sequence[Any]) -> Figure:
    """Draw four panels per data set, with the recommendation of its first seed and the reasons."""
    table = style.frame(metrics)
    drawing = Figure(figsize=(style.WIDTH, 5.4 * len(material)), layout="constrained")
    parts = drawing.subfigures(len(material), 1, squeeze=False)[:, 0]
    for part, (facts, _) in zip(parts, material, strict=True):
        rows = table[table.dataset == facts["dataset"]]
        rows = rows.assign(block=rows.block.replace(facts["blocks"]))
        rows = rows.assign(parts=np.where(rows.plan == facts["plan"], "", NONNEGATIVE))
        scanned = rows[rows.parts == ""]
        grid = part.subplots(2, 2)
        for axes, panel in zip(grid.flat, (_fit, _hidden, _stable, _core), strict=True):
            panel(axes, rows if panel in (_fit, _stable) else scanned)
            _recommended(axes, scanned)
        _headline(part, facts, rows)
        style.letter(grid)
    return drawing


def _headline(part: SubFigure, facts: Any, table: pd.DataFrame) -> None:
    seeds = table[table.name == "recommended_rank"].groupby("value").seed.count()
    others = (
        ""
        if seeds.sum() < 2
        else "; over seeds: " + ", ".join(f"{_word(v)} {n}x" for v, n in seeds.items())
    )
    head = f"{facts['dataset']}: {facts['words']}{others}"
    lines = [
        fill(line, MAX_HEADLINE_CHARACTERS) for line in (*facts["reasons"], *facts["warnings"])
    ]
    part.suptitle("\n".join([head, *lines]), fontsize=8, x=0.02, ha="left")


def _word(value: float) -> str:
    return "not sure" if value == 0 else f"rank {value:g}"


def _recommended(axes: Axes, table: pd.DataFrame) -> None:
    for value in sorted(set(table[(table.name == "recommended_rank") & (table.value > 0)].value)):
        axes.axvline(value, color=style.GREY, linewidth=0.9, linestyle="--", zorder=0)
    ranks = table["rank"].dropna().unique()
    if len(ranks) == 1:  # which would be a tick without neighbours
        axes.set_xlim(ranks[0] - 1, ranks[0] + 1)
    axes.set_xlabel("rank")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _fit(axes: Axes, table: pd.DataFrame) -> None:
    rows = table[table.name == "block_fit"]
    for number, (label, curve) in enumerate(_curves(rows.block + rows.parts, rows)):
        style.curve(axes, curve, "rank", number, label)
    axes.set_ylabel("share explained")
    _legend_above(axes)


def _legend_above(axes: Axes) -> None:
    """Put the legend of many curves where none of them can be."""
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1.02, 1.0),
        ncols=2,
        columnspacing=0.8,
        handlelength=1.4,
        fontsize=7,
    )


def _curves(labels: pd.Series, rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the rows of each label, in the order of their appearance."""
    return [(label, rows[labels == label]) for label in dict.fromkeys(labels)]


def _hidden(axes: Axes, table: pd.DataFrame) -> None:
    rows = table[table.name == "held_out_error"]
    for _, fold in rows.groupby(["seed", "fold"]):
        style.run(axes, fold["rank"], fold.value, 0)
    style.curve(axes, rows, "rank", 0, "folds: median, quartiles")
    axes.axhline(1, color=style.GREY, linewidth=0.8, linestyle=":", label="zero model")
    axes.set_ylabel("error on hidden cells")
    axes.legend()


def _stable(axes: Axes, table: pd.DataFrame) -> None:
    names = {
        "match_seeds": "starts",
        "match_halves": "split halves",
        "weakest_halves": "weakest in halves",
    }
    rows = table[table.name.isin(names)]
    for number, (label, curve) in enumerate(_curves(rows.name.map(names) + rows.parts, rows)):
        style.curve(axes, curve, "rank", number, label)
    axes.set_ylim(-0.03, 1.03)
    axes.set_ylabel("factor match score")
    _legend_above(axes)


def _core(axes: Axes, table: pd.DataFrame) -> None:
    rows = table[table.name == "core_consistency"]
    shown = rows.assign(value=np.maximum(rows.value, MIN_CORE_PERCENT_DRAWN))
    if len(shown):
        cut = (rows.value < MIN_CORE_PERCENT_DRAWN).any()
        label = f"lower values at {MIN_CORE_PERCENT_DRAWN:g}" if cut else "_whole"
        style.curve(axes, shown, "rank", 0, label)
    else:
        why = "not defined: cells are missing, or the core is too large"
        axes.text(0.5, 0.5, why, ha="center", transform=axes.transAxes, fontsize=7)
        ranks = sorted(table["rank"].dropna().unique())
        axes.set_xlim(ranks[0] - 0.25, ranks[-1] + 0.25)  # as in the panels beside it
    degenerate = sorted(
        table[(table.name == "triple_cosine") & (table.value <= DEGENERATE_COSINE)]["rank"].unique()
    )
    if degenerate:
        height = np.full(len(degenerate), MIN_CORE_PERCENT_DRAWN - 6)
        axes.plot(degenerate, height, "x", color="#B00000", label="degenerate")
    if axes.get_legend_handles_labels()[1]:
        axes.legend()
    axes.set_ylim(MIN_CORE_PERCENT_DRAWN - 10, 105)
    axes.set_ylabel("core consistency, %")
