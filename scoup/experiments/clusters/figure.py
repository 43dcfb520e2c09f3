"""Draw what is at both ends of each component, and latent brain images if voxels have places."""

from collections.abc import Mapping, Sequence
from math import ceil
from textwrap import shorten
from typing import Any, NamedTuple

import numpy as np

from scoup.evidence import Metric, pick
from scoup.interop import WARNING
from scoup.palette import COLOURS
from scoup.plot import brain, style
from scoup.plot.door import Axes, Figure, SubFigure
from scoup.records import Array

Facts = Mapping[str, Any]
SEEDS_NOTE = "mean purity: median of {} seeds; everything else: the first of them"
SIGN_COLOURS = {"+": COLOURS[1], "-": "#542788"}
VIEWS = ("along x", "along y", "along z")
ALONE = ("matrix alone", "tensor alone")
MAX_THINGS = 5  # named at each end
MAX_COLUMNS = 2  # of the matrix


class Line(NamedTuple):
    """One line of text in a panel."""

    text: str
    colour: str
    weight: str


def clusters(metrics: Sequence[Metric], material: Sequence[Any]) -> Figure:
    """Draw a row for each component: three views of its image, if there is one, and both ends.

    Non-negative components, which have one end, are in a panel below.
    """
    facts, arrays = material[0]
    metrics = [metric for metric in metrics if metric.dataset == facts["dataset"]]
    maps, parts = arrays.get("maps"), facts.get("nonnegative")
    rows = len(facts["components"])
    heights = [0.72 * rows + 0.6 if maps is None else 1.5 * rows + 0.5]
    heights += [0.6 * ceil(len(parts["components"]) / 2) + 0.4] if parts else []
    figure = Figure(figsize=(style.WIDTH, sum(heights)), layout="constrained")
    panels = figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    shown = [metric for metric in metrics if metric.plan == facts["plan"]]
    if maps is None:
        _ends_side_by_side(panels[0], facts, shown)
    else:
        _images_and_ends(panels[0], facts, shown, maps)
    panels[0].suptitle(_headline(facts, shown, maps is not None), fontsize=8)
    if parts:
        shown = [metric for metric in metrics if metric.plan == parts["plan"]]
        _upper_ends(panels[1], {**facts, **parts}, shown)
        panels[1].suptitle(f"Non-negative factors. {_purity_words(shown)}", fontsize=8)
    return figure


def _images_and_ends(
    panel: SubFigure, facts: Facts, metrics: Sequence[Metric], maps: Array
) -> None:
    grid = panel.subplots(len(facts["components"]), 4, squeeze=False, width_ratios=[1, 1, 1, 3.2])
    for axes, title in zip(grid[0], VIEWS, strict=False):
        axes.set_title(title, fontsize=7)
    for row, component, values in zip(grid, facts["components"], maps, strict=True):
        limit = brain.colour_limit(values)
        for along in range(3):
            brain.projection(row[along], values, facts["voxel_mm"], along, limit)
            row[along].set_anchor("N")  # titles at one height
        lines = [
            line for sign in SIGN_COLOURS for line in _end(component, sign, facts, metrics, 60)
        ]
        _write(row[3], lines, 0.165)


def _ends_side_by_side(panel: SubFigure, facts: Facts, metrics: Sequence[Metric]) -> None:
    grid = panel.subplots(len(facts["components"]), 2, squeeze=False)
    for row, component in zip(grid, facts["components"], strict=True):
        for axes, sign in zip(row, SIGN_COLOURS, strict=True):
            _write(axes, _end(component, sign, facts, metrics, 52), 0.26)


def _upper_ends(panel: SubFigure, facts: Facts, metrics: Sequence[Metric]) -> None:
    components = facts["components"]
    grid = panel.subplots(ceil(len(components) / 2), 2, squeeze=False).ravel()
    for axes, component in zip(grid, components, strict=False):
        _write(axes, _end(component, "+", facts, metrics, 52), 0.32)
    for axes in grid[len(components) :]:
        axes.axis("off")


def _headline(facts: Facts, metrics: Sequence[Metric], with_images: bool) -> str:
    thing, column, _ = facts["names"]
    note = (
        f" Images: {WARNING}."
        if with_images
        else f"\nBold: {thing}; below: {column}; the strongest at either end."
    )
    return _purity_words(metrics) + note


def _purity_words(metrics: Sequence[Metric]) -> str:
    values = {
        "": pick(metrics, "mean_purity"),
        "at random": pick(metrics, "null_purity"),
        **{name: pick(metrics, "alone_purity", model=name) for name in ALONE},
    }
    words = ", ".join(
        f"{name} {np.median([run.value for run in runs]):.2f}".strip()
        for name, runs in values.items()
        if runs
    )
    return f"Mean purity of categories {words}."


def _end(
    component: Facts, sign: str, facts: Facts, metrics: Sequence[Metric], width: int
) -> list[Line]:
    """Write one end of a component: its things with their purity, then columns of the matrix."""
    number, end = component["component"], component["ends"][sign]
    thing, column, _ = facts["names"]
    purity = pick(metrics, "purity", component=number, end=sign, seed=metrics[0].seed)
    share = f" (purity {purity[0].value:.1f})" if purity else ""
    names = ", ".join(_escaped(member["name"]) for member in end[thing][:MAX_THINGS])
    things = shorten(names, width + 8, placeholder=" ...")
    head = f"{number}{'−' if sign == '-' else '+'}  {things}{share}"
    columns = [
        shorten(_sentence(member["name"]), width, placeholder=" ...")
        for member in end[column][:MAX_COLUMNS]
    ]
    return [
        Line(head, SIGN_COLOURS[sign], "bold"),
        *(Line(f"      {text}", "0.25", "normal") for text in columns),
    ]


def _sentence(name: str) -> str:
    """Write a question in capitals in small letters; leave other names as they are.

    >>> _sentence("IS IT AN ANIMAL?"), _sentence("meanTemp")
    ('Is it an animal?', 'meanTemp')
    """
    return _escaped(name.capitalize() if name.isupper() and " " in name else name)


def _escaped(name: str) -> str:
    """Escape the dollars of a name, which would make a formula of it."""
    return name.replace("$", r"\$")


def _write(axes: Axes, lines: Sequence[Line], step: float) -> None:
    axes.axis("off")
    for number, (text, colour, weight) in enumerate(lines):
        look: dict[str, Any] = {"color": colour, "fontsize": 7, "fontweight": weight, "va": "top"}
        axes.text(0, 0.95 - step * number, text, transform=axes.transAxes, **look)
