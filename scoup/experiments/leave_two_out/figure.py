"""Leave-two-out: accuracy per subject, accuracy against rank and matrix weight, the named pairs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from scoup.evidence import Metric
from scoup.experiments.leave_two_out import PERCEPTUAL
from scoup.plot import style
from scoup.plot.door import Axes, Figure

CONTENDERS = {
    "chosen": "coupled model",
    "chosen alone": "each subject alone",
    "chosen, not normalised": "coupled, images as they are",
    "ridge chosen": "ridge, same help",
    "chosen, perceptual": "coupled + perceptual",
    "ridge chosen, perceptual": "ridge + perceptual",
    "ridge": "ridge, published",
    "as printed": "as printed in the paper",
}
PRINTED = "as printed"
DECISION = "cosine"
PAPER_DECISION = "distance"  # of the named pairs
MAX_AXIS_CHARACTERS = 100  # that fit below the axis, written horizontally


def leave_two_out(metrics: Sequence[Metric], material: Sequence[Any]) -> Figure:
    """Draw subjects above; the grid of settings and the named pairs below."""
    del material
    table = style.frame(metrics)
    table["subject"] = _subject_names(table)
    drawing = Figure(figsize=(style.WIDTH, 6.4), layout="constrained")
    above, below = list(drawing.subfigures(2, 1, height_ratios=[1.15, 1.0]))  # type: ignore[arg-type]
    top = above.subplots()
    _subjects(top, table)
    above.legend(*top.get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=7)
    named = table[table.name == "pair_accuracy"]
    panels = below.subplots(1, 1 if named.empty else 2, squeeze=False)[0]
    numbers = _weight_numbers(table)
    _grid(panels[0], table[(table.name == "accuracy") & (table.contender == "grid")], numbers)
    if not named.empty:
        _pairs(panels[1], named, numbers)
    style.letter(np.array([top, *panels]))
    return drawing


def _subject_names(table: pd.DataFrame) -> pd.Series:
    """Return the subject of each row, after its data set if there are several of other names."""
    known = table.subject.notna()
    if table.dataset.nunique() == 1 or (table.dataset == table.subject)[known].all():
        return table.subject
    return (table.dataset + " " + table.subject.astype(str)).where(known)


def _weight_numbers(table: pd.DataFrame) -> dict[str, int]:
    """Return the number of the look of each matrix weight, the same in both panels."""
    weights = {weight for weight in table.weight.dropna() if not isinstance(weight, str)}
    return style.numbers([PRINTED, *map(_weight_name, sorted(weights))])


def _weight_name(weight: float | str) -> str:
    return PRINTED if weight == "paper" else f"matrix weight {weight:g}"


def _line(number: int) -> dict[str, Any]:
    """Return the look of a curve without error bars."""
    return {key: value for key, value in style.look(number).items() if key != "capsize"}


def _subjects(axes: Axes, table: pd.DataFrame) -> None:
    rows = table[(table.decision == DECISION) & table.contender.notna() & table.subject.notna()]
    subjects = sorted(rows.subject.unique())
    position = {subject: number for number, subject in enumerate(subjects)}
    shuffled = rows[(rows.name == "accuracy") & (rows.contender == "shuffled")]
    axes.plot(
        [position[subject] for subject in shuffled.subject],
        shuffled.value,
        "_",
        color=style.GREY,
        markersize=16,
        alpha=0.5,
        label="matrix shuffled, each run",
    )
    present = [name for name in CONTENDERS if name in set(rows.contender)]
    numbers = style.numbers(name.removesuffix(PERCEPTUAL) for name in present)
    for place, name in enumerate(present):
        shares = (
            rows[rows.contender == name]
            .pivot_table(index="subject", columns="name", values="value")
            .loc[subjects]
        )
        step = min(0.13, 0.8 / len(present))
        x = np.arange(len(subjects)) + step * (place - (len(present) - 1) / 2)
        bars = np.array(
            [shares.accuracy - shares.accuracy_low, shares.accuracy_high - shares.accuracy]
        ).clip(0)
        look = {**style.look(numbers[name.removesuffix(PERCEPTUAL)]), "linestyle": "none"}
        if name.endswith(PERCEPTUAL):
            look["markerfacecolor"] = look["color"]
        axes.errorbar(x, shares.accuracy, yerr=bars, **look, label=CONTENDERS[name])
    low, high = (
        float(table[table.name == f"chance_{end}"].value.iloc[0]) for end in ("low", "high")
    )
    axes.axhspan(low, high, color="0.85", zorder=0, label="chance, were pairs independent")
    axes.axhline(0.5, color=style.GREY, linewidth=0.8, linestyle="--")
    _label_subjects(axes, subjects)
    axes.set_ylim(0.25, 1.02)
    axes.set_ylabel("share of pairs decided correctly")


def _label_subjects(axes: Axes, subjects: Sequence[str]) -> None:
    """Name each subject, vertically if the names are long or many."""
    vertical = sum(len(str(name)) + 2 for name in subjects) > MAX_AXIS_CHARACTERS
    axes.set_xticks(range(len(subjects)), subjects, rotation=90 if vertical else 0)
    axes.set_xlim(-0.6, len(subjects) - 0.4)
    axes.set_xlabel("subject")


def _grid(axes: Axes, table: pd.DataFrame, numbers: Mapping[str, int]) -> None:
    """Draw the mean over subjects against rank, at the largest ridge.

    There is one curve per strength if several were tried (at the largest weight), else per weight.
    """
    table = table[table.decision == DECISION]
    rows = table[(table.rule == "least_squares") & (table.ridge == table.ridge.max())]
    names = rows.weight.map(_weight_name)
    if rows.strength.nunique() > 1:
        rows = rows[rows.weight == rows.weight.max()].sort_values("strength", kind="stable")
        names = rows.strength.map(lambda strength: f"noise strength {strength:g}")
        numbers = style.numbers(names)
    for name in [name for name in numbers if name in set(names)]:
        means = rows[names == name].groupby("rank").value.mean()
        axes.plot(means.index, means, label=name, **_line(numbers[name]))
    printed = table[(table.rule == "paper") & (table.weight == table.weight.max())]
    means = printed.groupby("rank").value.mean()
    label = r"rule $BD^{T}q$, largest weight"
    dotted: dict[str, Any] = {"color": style.GREY, "linestyle": ":", "marker": ".", "markersize": 3}
    axes.plot(means.index, means, label=label, **dotted)
    axes.axhline(0.5, color=style.GREY, linewidth=0.8, linestyle="--")
    axes.set_ylim(0.45, min(1.02, table.value.max() + 0.15))
    axes.set_xlabel("rank F")
    axes.set_xticks(sorted(table["rank"].unique()))
    axes.set_ylabel("share decided correctly,\nmean over subjects")
    axes.legend(fontsize=7)


def _pairs(axes: Axes, table: pd.DataFrame, numbers: Mapping[str, int]) -> None:
    """Draw the share of runs that decide each named pair correctly, one marker per subject."""
    subjects, pairs = sorted(table.subject.unique()), sorted(table.pair.unique())
    rows = table[table.decision == PAPER_DECISION]
    weights = sorted(rows.weight.unique(), key=str)
    for column, pair in enumerate(pairs):
        for weight in weights:
            rule = "paper" if weight == "paper" else "least_squares"
            shares = (
                rows[(rows.pair == pair) & (rows.weight == weight) & (rows.rule == rule)]
                .groupby("subject")
                .value.mean()
            )
            x = np.arange(len(subjects)) + column * (len(subjects) + 1)
            label = _weight_name(weight)
            look = {**_line(numbers[label]), "linestyle": "none"}
            axes.plot(x, shares.reindex(subjects), **look, label=label if column == 0 else None)
    axes.axhline(0.5, color=style.GREY, linewidth=0.8, linestyle="--")
    centres = [
        column * (len(subjects) + 1) + (len(subjects) - 1) / 2 for column in range(len(pairs))
    ]
    axes.set_xticks(centres, [f"{pair}\n({subjects[0]} to {subjects[-1]})" for pair in pairs])
    axes.set_ylim(-0.05, 1.3)
    axes.set_yticks(np.linspace(0, 1, 6))
    axes.set_ylabel(f"share of {int(table.runs.iloc[0])} runs decided correctly")
    axes.legend(loc="upper center", ncols=2, fontsize=7)
