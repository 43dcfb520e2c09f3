"""Draw the pictures of the pages, the merges and the tutorial's figure: `python docs/draw.py` writes docs/pictures."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

HERE = Path(__file__).resolve().parent
BLUE, ORANGE, EMPTY = "#56a0d3", "#e8923c", "#ffffff"
ROWS, COMMON = 8, 3  # the first three rows are in every sample
FIRST, SECOND = [0, 1, 2, 3, 4], [0, 1, 2, 5, 6]

# A factor is {row: ((colour, sign), (colour, sign))}, two columns; rows that are not there were not sampled.
Factor = dict[int, tuple[tuple[str, str], tuple[str, str]]]


def factor(rows: list[int], one: tuple[str, str], two: tuple[str, str]) -> Factor:
    """Return a factor whose sampled rows all have the same two columns."""
    return dict.fromkeys(rows, (one, two))


def repetitions() -> tuple[list[Factor], list[Factor]]:
    """Return A, B, C of two repetitions: the second has its columns swapped, and blue turned about in A and B."""
    first = [factor(FIRST, (BLUE, "+"), (ORANGE, "+")) for _ in "ABC"]
    second = [factor(SECOND, (ORANGE, "+"), (BLUE, sign)) for sign in "--+"]
    return first, second


def merged(order: list[tuple[int, int]], signs: list[str]) -> list[Factor]:
    """Return the first repetition with the rows of the second added: columns in ``order``, blue times ``signs``."""
    first, second = repetitions()
    for mine, theirs, (one, two), sign in zip(first, second, order, signs, strict=True):
        for row in SECOND[COMMON:]:
            columns = [
                (colour, _times(own, sign if colour == BLUE else "+"))
                for colour, own in theirs[row]
            ]
            mine[row] = (columns[one], columns[two])
    return first


def _times(one: str, other: str) -> str:
    return "+" if one == other else "-"


def draw_factors(axes: Axes, factors: list[Factor], title: str, words: str) -> None:
    """Draw A, B and C side by side, the common rows in a grey frame."""
    for place, (name, content) in enumerate(zip("ABC", factors, strict=True)):
        left = 3.1 * place
        for row in range(ROWS):
            cells = content.get(row, ((EMPTY, ""), (EMPTY, "")))
            for column, (colour, sign) in enumerate(cells):
                edge = "white" if sign else "#cccccc"
                axes.add_patch(
                    Rectangle(
                        (left + column, -row), 1, 1, facecolor=colour, edgecolor=edge, linewidth=1
                    )
                )
                if sign == "-":
                    text = {
                        "ha": "center",
                        "va": "center",
                        "fontsize": 11,
                        "fontweight": "bold",
                        "color": "white",
                    }
                    axes.text(left + column + 0.5, 0.45 - row, "−", **text)
        axes.add_patch(
            Rectangle((left, 1 - COMMON), 2, COMMON, fill=False, edgecolor="#333333", linewidth=1.6)
        )
        axes.text(left + 1, 1.25, name, ha="center", fontsize=10)
    axes.set_title(title, fontsize=10, fontweight="bold", loc="left", x=0.02)
    axes.text(0, -ROWS + 0.55, words, va="top", fontsize=8.5, linespacing=1.35)
    axes.set(xlim=(-0.3, 9.0), ylim=(-ROWS - 1.4, 2.1), aspect="equal")
    axes.axis("off")


def merges() -> Figure:
    """Draw two repetitions and what either merge makes of them."""
    figure = Figure(figsize=(9.4, 3.8), layout="constrained")
    first, second = repetitions()
    apart = merged([(0, 1), (0, 1), (1, 0)], ["+", "+", "+"])
    joint = merged([(1, 0), (1, 0), (1, 0)], ["-", "-", "+"])
    panels = [
        (first, "repetition 1", "Colours are components.\nFramed: the common rows."),
        (second, "repetition 2", "Columns in another order; blue\nis turned about (−) in A and B."),
        (
            apart,
            "merge: paper",
            "Each factor matched apart: −blue\nlooks unlike blue, so A and B take\norange. Columns are mixed.",
        ),
        (
            joint,
            "merge: joint",
            "One order for all factors, then\nsigns. The last row was never\nsampled and stays empty.",
        ),
    ]
    for axes, panel in zip(figure.subplots(1, 4), panels, strict=True):
        draw_factors(axes, *panel)
    return figure


def tutorial(target: Path) -> None:
    """Run the tutorial and keep the figure that it draws."""
    sys.path.insert(0, str(HERE.parent))
    from docs.run import run

    with tempfile.TemporaryDirectory() as folder:
        for file in (HERE / "bikes").iterdir():
            shutil.copy(file, folder)
        run(HERE / "tutorial.md", folder)
        shutil.copy(Path(folder, "bikes.svg"), target)


if __name__ == "__main__":
    # Letters stay letters, and the same picture is the same bytes.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "scoup"})
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    pictures = HERE / "pictures"
    pictures.mkdir(exist_ok=True)
    merges().savefig(pictures / "merges.svg")
    tutorial(pictures / "bikes.svg")
