"""Figures of the benchmark from the stored measurements: cost against time, growth, memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.curves import lowest
from benchmarks.measure import Numbers
from benchmarks.outcome import OUT, Stored
from scoup.plot import save, style

ROOT = Path(__file__).resolve().parents[1]
# The page of the documentation shows these.
FIGURES = ROOT / "results" / "figures" / "bench"
PIXELS = OUT / "figures"
# One colour per family, solid lines for ours and dashed ones for peers, one marker per member.
FAMILIES = {
    "als": 0,
    "scoup": 1,
    "opt": 2,
    "cd": 3,
    "reference": 6,
    "tensorly": 4,
    "pyttb": 5,
    "genten": 3,
}
PEERS = ("tensorly", "pyttb", "genten")
# Relative differences to the best cost below this are not of interest.
MIN_COST_EXCESS = 1e-7

Results = dict[str, Numbers]


def draw(stored: Sequence[Stored]) -> list[Path]:
    """Draw the figures of all stored parts; return the files."""
    parts = {entry.part: entry.outcome.results for entry in stored}
    # Ours run again next to each slow contender; one curve of each is enough.
    slow = {
        k: v
        for part in ("reference", "tensorly")
        for k, v in parts.get(part, {}).items()
        if k.startswith(part)
    }
    dense = {**parts.get("dense", {}), **slow}
    figures: dict[str, Figure] = {}
    with style.applied():
        if dense:
            figures["dense"] = cost_figure({"brainq": dense}, {"brainq": "BrainQ's shape, rank 5"})
        if "sparse" in parts:
            titles = {
                "wall": "Facebook's tensor, rank 25",
                "facebook": "with its matrix",
                "four": "four modes, rank 10",
            }
            figures["sparse"] = cost_figure(_groups(parts["sparse"], titles), titles)
        if "missing" in parts:
            titles = {f"missing{share}": f"{share} % missing" for share in (10, 30, 60)}
            figures["missing"] = cost_figure(_groups(parts["missing"], titles), titles)
        if "growth" in parts:
            figures["growth"] = growth_figure(parts["growth"])
        if "memory" in parts:
            figures["memory"] = memory_figure(parts["memory"])
        for figure in figures.values():
            note(figure, stored)
    PIXELS.mkdir(parents=True, exist_ok=True)
    paths = {name: [FIGURES / f"{name}.svg", PIXELS / f"{name}.png"] for name in figures}
    for name, figure in figures.items():
        save(figure, *paths[name])
    return [path for files in paths.values() for path in files]


def note(figure: Figure, stored: Sequence[Stored]) -> None:
    """Write under the figure what the data and the machine are."""
    machine = stored[0].machine
    text = f"simulated data; {machine['threads']} threads of {machine['cpu']}"
    figure.supxlabel(text, fontsize=8, color=style.SIMULATED)


def _groups(results: Results, titles: dict[str, str]) -> dict[str, Results]:
    groups: dict[str, Results] = {name: {} for name in titles}
    for name, numbers in results.items():
        group, who = name.split("/")
        if group in groups:
            groups[group][who] = numbers
    return groups


def cost_figure(groups: dict[str, Results], titles: dict[str, str]) -> Figure:
    """Draw how far each contender is above the lowest cost, against time, in its median run."""
    alone = len(groups) == 1
    figure, grid = style.panels(len(groups), height=4.0 if alone else 3.4)
    for axes, (group, results) in zip(grid.flat, groups.items(), strict=True):
        best = lowest(results)
        for who, numbers in results.items():
            if "curves" in numbers:
                _draw_curve(axes, who, numbers, best)
        axes.axhline(1e-3, color=style.GREY, linewidth=0.8, linestyle=":")
        axes.set(title=titles[group], xlabel="seconds", yscale="log")
        style.plain_log(axes.xaxis)
        # A line search may start with a wild step, whose points are off the scale.
        axes.set_ylim(0.7 * MIN_COST_EXCESS, min(axes.get_ylim()[1], 3.0))
        if alone:
            axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))
        else:
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), fontsize=7)
    grid[0, 0].set_ylabel("cost above the lowest, relative")
    return figure


def _draw_curve(axes: Axes, who: str, numbers: Numbers, best: float) -> None:
    middle = int(np.argsort(numbers["runs"])[len(numbers["runs"]) // 2])
    points = np.array(numbers["curves"][middle], float)
    above = np.maximum(points[:, 1] / best - 1.0, MIN_COST_EXCESS)
    axes.plot(points[:, 0], above, label=who, markevery=max(1, len(points) // 12), **_look(who))


def _look(who: str) -> dict[str, Any]:
    family = next(name for name in FAMILIES if who.startswith(name))
    kinds = (
        "none",
        "refit",
        "advised",
        "complete",
        "own",
        "tucker",
        "Default",
        "parafac",
        "compressed",
        "race",
    )
    marker = next((n for n, kind in enumerate(kinds) if kind in who), -1) + 1
    line = (
        (":" if "start" in who else "--") if family in PEERS else (":" if "start" in who else "-")
    )
    return {
        "color": style.COLOURS[FAMILIES[family]],
        "linestyle": line,
        "marker": "osD^vPX*h<>"[marker % 11],
        "markerfacecolor": "none",
    }


def growth_figure(results: Results) -> Figure:
    """Draw time and memory against non-zeros and time against rank, on log axes."""
    figure, grid = style.panels(3, height=3.0)
    cells = sorted(int(name.split("/")[1]) for name in results if name.startswith("cells/"))
    ranks = sorted(int(name.split("/")[1]) for name in results if name.startswith("rank/"))
    by_cells, by_rank = (
        [results[f"cells/{n}"] for n in cells],
        [results[f"rank/{n}"] for n in ranks],
    )
    for axes, steps, numbers in ((grid[0, 0], cells, by_cells), (grid[0, 2], ranks, by_rank)):
        _series(axes, steps, [entry["seconds"] for entry in numbers], 0, "2 threads")
        _series(axes, steps, [entry["one_thread"] for entry in numbers], 1, "1 thread")
        axes.set_ylabel("seconds per coupled sweep")
    _series(grid[0, 1], cells, [1e-6 * entry["fit_bytes"] for entry in by_cells], 0, "peak")
    _series(grid[0, 1], cells, [1e-6 * entry["data_bytes"] for entry in by_cells], 2, "input")
    grid[0, 1].set_ylabel("MB")
    linear = np.array(cells) / cells[-1]
    grid[0, 0].plot(
        cells, linear * by_cells[-1]["seconds"], color=style.GREY, linewidth=0.8, label="linear"
    )
    grid[0, 1].plot(
        cells,
        linear * by_cells[-1]["fit_bytes"] * 1e-6,
        color=style.GREY,
        linewidth=0.8,
        label="linear",
    )
    for axes, label in zip(
        grid.flat, ("non-zeros of the tensor", "non-zeros of the tensor", "rank"), strict=True
    ):
        axes.set(xlabel=label, xscale="log", yscale="log")
        axes.legend()
    for axis in (grid[0, 2].xaxis, grid[0, 2].yaxis):  # not much more than a decade
        style.plain_log(axis)
    style.letter(grid)
    return figure


def _series(
    axes: Axes, steps: Sequence[int], values: Sequence[float], number: int, label: str
) -> None:
    look = {k: v for k, v in style.look(number).items() if k != "capsize"}
    axes.plot(steps, values, label=label, **look)


def memory_figure(results: Results) -> Figure:
    """Draw peak memory in multiples of the input, ours next to the peers'."""
    titles = {
        "brainq": "BrainQ's shape (dense)",
        "facebook": "Facebook's shape (sparse)",
        "wall": "Facebook's tensor alone",
    }
    groups = _groups(results, titles)
    figure, grid = style.panels(len(groups), height=2.8)
    for axes, (group, members) in zip(grid.flat, groups.items(), strict=True):
        names = sorted(members, key=lambda who: -members[who]["fit_bytes"])
        sizes = [members[who]["fit_bytes"] / members[who]["data_bytes"] for who in names]
        axes.barh(
            names, sizes, color=[style.COLOURS[4 if who.startswith(PEERS) else 0] for who in names]
        )
        axes.bar_label(axes.containers[0], fmt="%.1f", padding=2, fontsize=7)
        axes.set(title=titles[group], xlabel="peak memory / input")
        axes.margins(x=0.15)
        axes.grid(visible=False, axis="y")
    return figure
