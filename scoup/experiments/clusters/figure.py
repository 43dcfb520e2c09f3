"""Components: what stands at both ends, purity against chance, and latent brain images where voxels have places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scoup.interop import WARNING
from scoup.measures import Metric, pick
from scoup.plot import brain, style

Facts = Mapping[str, Any]
Line = tuple[str, str, str]
NAMED = 5
SIGNS = {"+": style.COLOURS[1], "-": "#542788"}
SEEDS = "mean purity: median of {} seeds; everything else: the first of them"
VIEWS = ((0, "along x"), (1, "along y"), (2, "along z"))


def figure(metrics: Sequence[Metric], material: Sequence[Any]) -> Figure:
    """Draw a row for each component: three views of its image and both ends below one another, or both ends abreast."""
    facts, arrays = material[0]
    metrics = [metric for metric in metrics if metric.dataset == facts["dataset"]]
    maps = arrays.get("maps")
    drawn = _abreast(facts, metrics) if maps is None else _beside_images(facts, metrics, maps)
    drawn.suptitle(_headline(facts, metrics, maps is not None), fontsize=8)
    return drawn


def _beside_images(facts: Facts, metrics: Sequence[Metric], maps: np.ndarray) -> Figure:
    rows = len(facts["components"])
    drawn = Figure(figsize=(style.WIDTH, 1.5 * rows + 0.5), layout="constrained")
    grid = drawn.subplots(rows, 4, squeeze=False, width_ratios=[1, 1, 1, 3.2])
    for number, component in enumerate(facts["components"]):
        _views(grid[number], maps[number], facts["voxel_mm"], first=number == 0)
        both = [line for sign in SIGNS for line in _end(component, sign, facts, metrics, 60)]
        _write(grid[number, 3], both, 0.165)
    return drawn


def _abreast(facts: Facts, metrics: Sequence[Metric]) -> Figure:
    rows = len(facts["components"])
    drawn = Figure(figsize=(style.WIDTH, 0.72 * rows + 0.6), layout="constrained")
    grid = drawn.subplots(rows, 2, squeeze=False)
    for row, component in zip(grid, facts["components"], strict=True):
        for axes, sign in zip(row, SIGNS, strict=True):
            _write(axes, _end(component, sign, facts, metrics, 52), 0.26)
    return drawn


def _headline(facts: Facts, metrics: Sequence[Metric], placed: bool) -> str:
    mean, null, p = (
        np.median([m.value for m in pick(metrics, name)])
        for name in ("mean_purity", "null_purity", "p_value")
    )
    thing, column, _ = facts["names"]
    where = (
        f" Images: {WARNING}."
        if placed
        else f"\nBold: {thing}; below: {column}; the strongest at either end."
    )
    return f"Mean purity of categories {mean:.2f}, at random {null:.2f} (p = {p:.2g}).{where}"


def _views(row: Sequence[Axes], values: np.ndarray, voxel_mm: Sequence[float], first: bool) -> None:
    limit = float(np.quantile(np.abs(values[values != 0]), 0.995)) if values.any() else 1.0
    for axes, (along, title) in zip(row, VIEWS, strict=False):
        brain.projection(axes, values, voxel_mm, along, limit)
        if first:
            axes.set_title(title, fontsize=7)


def _end(
    component: Facts, sign: str, facts: Facts, metrics: Sequence[Metric], width: int
) -> list[Line]:
    """The lines on one end of a component: its things with their purity, then two columns of the matrix."""
    number, end, (thing, column, _) = (
        component["component"],
        component["ends"][sign],
        facts["names"],
    )
    pure = pick(metrics, "purity", component=number, end=sign, seed=metrics[0].seed)
    share = f" (purity {pure[0].value:.1f})" if pure else ""
    things = shorten(
        ", ".join(_plain(one["name"]) for one in end[thing][:NAMED]), width + 8, placeholder=" ..."
    )
    lines = [(f"{number}{'−' if sign == '-' else '+'}  {things}{share}", SIGNS[sign], "bold")]
    asked = [shorten(_sentence(one["name"]), width, placeholder=" ...") for one in end[column][:2]]
    return [*lines, *((f"      {text}", "0.25", "normal") for text in asked)]


def _sentence(name: str) -> str:
    """Questions that are all capitals are easier to read in small letters; other names stay as they are.

    >>> _sentence("IS IT AN ANIMAL?"), _sentence("meanTemp")
    ('Is it an animal?', 'meanTemp')
    """
    return _plain(name.capitalize() if name.isupper() and " " in name else name)


def _plain(name: str) -> str:
    """A name that is no formula, though it may hold a dollar."""
    return name.replace("$", r"\$")


def _write(axes: Axes, lines: Sequence[Line], step: float) -> None:
    axes.axis("off")
    for place, (text, colour, weight) in enumerate(lines):
        look: dict[str, Any] = {"color": colour, "fontsize": 7, "fontweight": weight, "va": "top"}
        axes.text(0, 0.95 - step * place, text, transform=axes.transAxes, **look)
