"""Figures of fitted models: their components, their costs, and how well two of them match."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from scoup.errors import NotFittedError, ScoupError
from scoup.estimators import CMTF, SCOUP
from scoup.factors import upright
from scoup.interop import WEIGHTS, to_frames
from scoup.match import congruence, factor_match_score
from scoup.match import match as match_columns
from scoup.palette import SIMULATED
from scoup.plot import style
from scoup.plot.door import Axes, Figure, MaxNLocator
from scoup.records import Factors

MAX_NAMED_ROWS = 30  # of a factor; more names would overlap
MAX_COLUMNS = 3
MAX_LEGEND_ENTRIES = 10
Estimator = CMTF | SCOUP


def components(model: Estimator, modes: Sequence[int | str] = (), caption: str = "") -> Figure:
    """Draw a panel per factor and a curve per component, each scaled to a largest loading of 1.

    ``modes`` chooses some of ``[*modes, *sides]``, by position or by the name of their labels.
    Signs are those that are easiest to read. Rows that were never sampled are left out. A
    ``caption`` stands below, in red if it says that the data is simulated.
    """
    tables = to_frames(upright(_fitted(model).factors_), model.labels_)
    del tables[WEIGHTS]
    names = [_name(mode, list(tables)) for mode in modes] or list(tables)
    columns = 2 if len(names) == 4 else min(len(names), MAX_COLUMNS)
    with style.applied():
        figure, grid = style.panels(columns, -(-len(names) // columns), height=2.6)
        for axes, name in zip(grid.flat, names, strict=False):
            _loadings(axes, tables[name])
            axes.set_title(name)
        for axes in grid.flat[len(names) :]:
            axes.remove()
        grid[0, 0].set_ylabel("loading / largest")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=5, fontsize=7)
        if caption:
            colour = SIMULATED if "simulated" in caption else style.GREY
            figure.supxlabel(caption, fontsize=8, color=colour)
    return figure


def losses(model: Estimator) -> Figure:
    """Draw the cost after every sweep; of SCOUP, a curve for the fit of every repetition."""
    _fitted(model)
    reports = model.report_.fits if isinstance(model, SCOUP) else [model.report_]
    with style.applied():
        figure, grid = style.panels(1)
        for number, report in enumerate(reports):
            look = _look(number, len(report.losses))
            sweeps = range(1, report.iterations + 1)
            grid[0, 0].plot(sweeps, report.losses, label=f"repetition {number + 1}", **look)
        grid[0, 0].set(xlabel="sweep", ylabel="cost")
        grid[0, 0].xaxis.set_major_locator(MaxNLocator(integer=True))
        if min(min(report.losses) for report in reports) > 0:
            style.plain_log(grid[0, 0].yaxis)
        if 1 < len(reports) <= MAX_LEGEND_ENTRIES:
            grid[0, 0].legend()
    return figure


def match(model: Estimator | Factors, other: Estimator | Factors) -> Figure:
    """Draw the congruence of all pairs of components, best matches on the diagonal.

    The title has the factor match score: 1 for the same components, 0 for unrelated ones.
    """
    one, two = _factors(model).flat, _factors(other).flat
    sizes = [[len(factor) for factor in flat] for flat in (one, two)]
    if sizes[0] != sizes[1]:
        raise ScoupError.expected("other", f"factors of sizes {sizes[0]}", sizes[1])
    similarity = congruence(one, two)
    matched = match_columns(similarity)[0].tolist()
    order = matched + [n for n in range(similarity.shape[1]) if n not in matched]
    with style.applied():
        figure, grid = style.panels(1, height=3.2)
        axes: Axes = grid[0, 0]
        picture = axes.imshow(similarity[:, order], vmin=0, vmax=1, cmap="Blues")
        axes.grid(visible=False)
        axes.set_xticks(range(len(order)), [str(n + 1) for n in order])
        axes.set_yticks(range(len(similarity)), [str(n + 1) for n in range(len(similarity))])
        axes.set(xlabel="component of the other model", ylabel="component of the model")
        axes.set_title(f"factor match score {factor_match_score(one, two):.2f}")
        figure.colorbar(picture, label="congruence")
    return figure


def _factors(model: Any) -> Factors:
    return model if isinstance(model, Factors) else _fitted(model).factors_


def _fitted(model: Any) -> Estimator:
    if not isinstance(model, CMTF | SCOUP):
        raise ScoupError.expected("model", "a fitted CMTF or SCOUP", type(model).__name__)
    if not hasattr(model, "factors_"):
        raise NotFittedError.of(model)
    return model


def _name(mode: int | str, names: list[str]) -> str:
    if mode in names:
        return str(mode)
    if isinstance(mode, int) and 0 <= mode < len(names):
        return names[mode]
    raise ScoupError.expected("modes", f"numbers below {len(names)} or {', '.join(names)}", mode)


def _loadings(axes: Axes, table: pd.DataFrame) -> None:
    """Draw the columns of one factor; rows are named where the names have room."""
    largest = table.abs().max()
    scaled = table / largest.where(largest > 0, 1.0)
    named = len(scaled) <= MAX_NAMED_ROWS
    rows = scaled.index.astype(str) if named else np.arange(len(scaled))
    for number, component in enumerate(scaled):
        look = _look(number, len(scaled))
        axes.plot(rows, scaled[component], label=f"component {component}", **look)
    if named:
        axes.tick_params(axis="x", rotation=90, labelsize=7)
    else:
        axes.set_xlabel("index")


def _look(number: int, points: int) -> dict[str, Any]:
    """Return the look of a curve, without markers if these would cover it."""
    look = {key: value for key, value in style.look(number).items() if key != "capsize"}
    return look if points <= MAX_NAMED_ROWS else {**look, "marker": "none", "linewidth": 0.8}
