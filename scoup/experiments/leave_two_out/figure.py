"""Leave-two-out: accuracy of each subject, accuracy against rank and matrix weight, and the paper's two pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from scoup.measures import Metric
from scoup.plot import style

CONTENDERS = {
    "chosen": "rank and weight chosen in training",
    "averaged": "all ranks and weights averaged",
    "chosen alone": "each subject alone",
    "ridge": "ridge on the matrix",
    "as printed": "as printed in the paper",
}
DECISION = "distance"
NAMES = 100  # characters that fit below the axis


def figure(metrics: Sequence[Metric], material: Sequence[object] = ()) -> Figure:
    """Draw subjects above; grid of settings and the paper's pairs below."""
    del material
    table = style.frame(metrics)
    table["subject"] = _names(table)
    drawn = Figure(figsize=(style.WIDTH, 6.4), layout="constrained")
    above, below = list(drawn.subfigures(2, 1, height_ratios=[1.15, 1.0]))  # type: ignore[arg-type]
    top = above.subplots()
    _subjects(top, table)
    above.legend(*top.get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=7)
    named = table[table.name == "pair_accuracy"]
    panels = below.subplots(1, 1 if named.empty else 2, squeeze=False)[0]
    _grid(panels[0], table[(table.name == "accuracy") & (table.contender == "grid")])
    if not named.empty:
        _pairs(panels[1], named)
    style.letter(np.array([top, *panels]))
    return drawn


def _names(table: pd.DataFrame) -> pd.Series:
    """Subjects, with the data set where there are several."""
    if table.dataset.nunique() == 1:
        return table.subject
    return table.subject.where(table.subject.isna(), table.subject.astype(str))


def _subjects(axes: Axes, table: pd.DataFrame) -> None:
    here = table[(table.decision == DECISION) & table.contender.notna()]
    subjects = sorted(here.subject.unique())
    place = {subject: number for number, subject in enumerate(subjects)}
    shuffled = here[(here.name == "accuracy") & (here.contender == "shuffled")]
    axes.plot(
        [place[s] for s in shuffled.subject],
        shuffled.value,
        "_",
        color=style.GREY,
        markersize=16,
        label="matrix shuffled",
    )
    present = [name for name in CONTENDERS if name in set(here.contender)]
    for number, name in enumerate(present):
        mine = (
            here[here.contender == name]
            .pivot_table(index="subject", columns="name", values="value")
            .loc[subjects]
        )
        at = np.arange(len(subjects)) + 0.13 * (number - (len(present) - 1) / 2)
        bars = np.array(
            [mine.accuracy - mine.accuracy_low, mine.accuracy_high - mine.accuracy]
        ).clip(0)
        axes.errorbar(
            at,
            mine.accuracy,
            yerr=bars,
            **{**style.look(number), "linestyle": "none"},
            label=CONTENDERS[name],
        )
    low, high = (
        float(table[table.name == f"chance_{end}"].value.iloc[0]) for end in ("low", "high")
    )
    axes.axhspan(low, high, color="0.85", zorder=0, label="chance, were pairs independent")
    axes.axhline(0.5, color=style.GREY, linewidth=0.8, linestyle="--")
    _name(axes, subjects)
    axes.set_ylim(0.25, 1.02)
    axes.set_ylabel("share of pairs told apart")


def _name(axes: Axes, subjects: Sequence[str]) -> None:
    """Name each subject; long or many names stand upright."""
    upright = sum(len(str(name)) + 2 for name in subjects) > NAMES
    axes.set_xticks(range(len(subjects)), subjects, rotation=90 if upright else 0)
    axes.set_xlim(-0.6, len(subjects) - 0.4)
    axes.set_xlabel("subject")


def _grid(axes: Axes, table: pd.DataFrame) -> None:
    """Mean over subjects against rank, a curve for each weight, at the largest ridge."""
    here = table[
        (table.decision == DECISION)
        & (table.rule == "least_squares")
        & (table.ridge == table.ridge.max())
    ]
    for number, weight in enumerate(sorted(here.weight.unique())):
        mine = here[here.weight == weight].groupby("rank").value.mean()
        axes.plot(
            mine.index,
            mine,
            label=f"matrix weight {weight:g}",
            **{k: v for k, v in style.look(number).items() if k != "capsize"},
        )
    printed = table[
        (table.decision == DECISION)
        & (table.rule == "paper")
        & (table.weight == table.weight.max())
    ]
    mine = printed.groupby("rank").value.mean()
    axes.plot(
        mine.index, mine, color=style.GREY, linestyle=":", label=r"rule $BD^{T}q$, largest weight"
    )
    axes.axhline(0.5, color=style.GREY, linewidth=0.8, linestyle="--")
    axes.set_ylim(0.45, 1.02)
    axes.set_xlabel("rank F")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("share told apart,\nmean over subjects")
    axes.legend(fontsize=7)


def _pairs(axes: Axes, table: pd.DataFrame) -> None:
    subjects, pairs = sorted(table.subject.unique()), sorted(table.pair.unique())
    here = table[table.decision == DECISION]
    weights = sorted(here.weight.unique(), key=str)
    for column, pair in enumerate(pairs):
        for number, weight in enumerate(weights):
            rule = "paper" if weight == "paper" else "least_squares"
            mine = (
                here[(here.pair == pair) & (here.weight == weight) & (here.rule == rule)]
                .groupby("subject")
                .value.mean()
            )
            at = np.arange(len(subjects)) + column * (len(subjects) + 1)
            label = "as printed" if weight == "paper" else f"matrix weight {weight:g}"
            look = {k: v for k, v in style.look(number).items() if k != "capsize"}
            axes.plot(
                at,
                mine.reindex(subjects),
                **{**look, "linestyle": "none"},
                label=label if column == 0 else None,
            )
    axes.axhline(0.5, color=style.GREY, linewidth=0.8, linestyle="--")
    centres = [
        column * (len(subjects) + 1) + (len(subjects) - 1) / 2 for column in range(len(pairs))
    ]
    axes.set_xticks(centres, [f"{pair}\n({subjects[0]} to {subjects[-1]})" for pair in pairs])
    axes.set_ylim(-0.05, 1.3)
    axes.set_yticks(np.linspace(0, 1, 6))
    axes.set_ylabel(f"share of {int(table.runs.iloc[0])} runs told apart")
    axes.legend(loc="upper center", ncols=2, fontsize=7)
