"""Components of BrainQ: latent brain images with the nouns and questions at both ends, and purity against chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scoup.interop import WARNING
from scoup.plot import brain, style
from scoup.results import Metric, pick

NAMED = 5
VIEWS = ((0, "along x"), (1, "along y"), (2, "along z"))


def figure(metrics: Sequence[Metric], material: Sequence[Any]) -> Figure:
    """Draw a row for each component: three views of its image where voxels have places, and its words."""
    facts, arrays = material[0]
    metrics = [metric for metric in metrics if metric.dataset == facts["dataset"]]
    components, maps = facts["components"], arrays.get("maps")
    rows = len(components)
    drawn = Figure(figsize=(style.WIDTH, 1.5 * rows + 0.5), layout="constrained")
    views = 3 if maps is not None else 0
    grid = drawn.subplots(rows, views + 1, squeeze=False, width_ratios=[1] * views + [3.2])
    for number, component in enumerate(components):
        if maps is not None:
            _views(grid[number], maps[number], facts["voxel_mm"], first=number == 0)
        _words(grid[number, -1], component, metrics)
    drawn.suptitle(_headline(metrics, maps is not None), fontsize=8)
    return drawn


def _headline(metrics: Sequence[Metric], placed: bool) -> str:
    mean, null, p = (
        np.median([m.value for m in pick(metrics, name)]) for name in ("mean_purity", "null_purity", "p_value")
    )
    where = f" Images: {WARNING}." if placed else " Places of the voxels are not known: no images."
    return f"Mean purity of categories {mean:.2f}, at random {null:.2f} (p = {p:.2g}).{where}"


def _views(row: Sequence[Axes], values: np.ndarray, voxel_mm: Sequence[float], first: bool) -> None:
    limit = float(np.quantile(np.abs(values[values != 0]), 0.995)) if values.any() else 1.0
    for axes, (along, title) in zip(row, VIEWS, strict=False):
        brain.projection(axes, values, voxel_mm, along, limit)
        if first:
            axes.set_title(title, fontsize=7)


def _words(axes: Axes, component: Mapping[str, Any], metrics: Sequence[Metric]) -> None:
    axes.axis("off")
    number = component["component"]
    lines = []
    for sign, colour in (("+", style.COLOURS[1]), ("-", "#542788")):
        end = component["ends"][sign]
        pure = pick(metrics, "purity", component=number, end=sign, seed=metrics[0].seed)
        share = f" (purity {pure[0].value:.1f})" if pure else ""
        nouns = ", ".join(noun["name"] for noun in end["nouns"][:NAMED])
        asked = [shorten(question["name"].capitalize(), 60, placeholder=" ...") for question in end["questions"][:2]]
        lines.append((f"{number}{'−' if sign == '-' else '+'}  {nouns}{share}", colour, True))
        lines += [(f"      {question}", "0.25", False) for question in asked]
    for place, (text, colour, bold) in enumerate(lines):
        weight = "bold" if bold else "normal"
        axes.text(
            0,
            0.95 - 0.165 * place,
            text,
            color=colour,
            fontsize=7,
            fontweight=weight,
            va="top",
            transform=axes.transAxes,
        )
