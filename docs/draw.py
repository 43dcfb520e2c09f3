"""Draw the pictures of the documentation: `python docs/draw.py` writes docs/pictures."""

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
ROWS, COMMON_ROWS = 8, 3  # the first three rows are in every sample
FIRST_SAMPLE, SECOND_SAMPLE = [0, 1, 2, 3, 4], [0, 1, 2, 5, 6]

# A factor is {row: ((colour, sign), (colour, sign))}: its sampled rows with two columns each.
Factor = dict[int, tuple[tuple[str, str], tuple[str, str]]]


def factor(rows: list[int], left: tuple[str, str], right: tuple[str, str]) -> Factor:
    """Return a factor whose sampled rows all have the same two columns."""
    return dict.fromkeys(rows, (left, right))


def repetitions() -> tuple[list[Factor], list[Factor]]:
    """Return A, B, C of two repetitions; the second has swapped columns, and -blue in A and B."""
    first = [factor(FIRST_SAMPLE, (BLUE, "+"), (ORANGE, "+")) for _ in "ABC"]
    second = [factor(SECOND_SAMPLE, (ORANGE, "+"), (BLUE, sign)) for sign in "--+"]
    return first, second


def merged(order: list[tuple[int, int]], signs: list[str]) -> list[Factor]:
    """Add the rows of the second repetition to the first: ``order`` of columns, blue times sign."""
    first, second = repetitions()
    for target, source, (left, right), sign in zip(first, second, order, signs, strict=True):
        for row in SECOND_SAMPLE[COMMON_ROWS:]:
            columns = [
                (colour, _multiply_signs(old, sign if colour == BLUE else "+"))
                for colour, old in source[row]
            ]
            target[row] = (columns[left], columns[right])
    return first


def _multiply_signs(left: str, right: str) -> str:
    return "+" if left == right else "-"


def draw_factors(axes: Axes, factors: list[Factor], title: str, words: str) -> None:
    """Draw A, B and C side by side, the common rows in a grey frame."""
    for position, (name, content) in enumerate(zip("ABC", factors, strict=True)):
        left = 3.1 * position
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
            Rectangle(
                (left, 1 - COMMON_ROWS),
                2,
                COMMON_ROWS,
                fill=False,
                edgecolor="#333333",
                linewidth=1.6,
            )
        )
        axes.text(left + 1, 1.25, name, ha="center", fontsize=10)
    axes.set_title(title, fontsize=10, fontweight="bold", loc="left", x=0.02)
    axes.text(0, -ROWS + 0.55, words, va="top", fontsize=8.5, linespacing=1.35)
    axes.set(xlim=(-0.3, 9.0), ylim=(-ROWS - 1.4, 2.1), aspect="equal")
    axes.axis("off")


def merges() -> Figure:
    """Draw two repetitions and the results of both merges."""
    figure = Figure(figsize=(9.4, 3.8), layout="constrained")
    first, second = repetitions()
    apart = merged([(0, 1), (0, 1), (1, 0)], ["+", "+", "+"])
    joint = merged([(1, 0), (1, 0), (1, 0)], ["-", "-", "+"])
    panels = [
        (first, "repetition 1", "Colours are components.\nFramed: the common rows."),
        (
            second,
            "repetition 2",
            "Columns in another order; blue\nhas its sign flipped in A and B.",
        ),
        (
            apart,
            "merge: paper",
            "Each factor matched alone: −blue\nlooks unlike blue, so A and B take\n"
            "orange. Columns are mixed.",
        ),
        (
            joint,
            "merge: joint",
            "One order for all factors, then\nsigns. The last row was never\n"
            "sampled and stays empty.",
        ),
    ]
    for axes, panel in zip(figure.subplots(1, 4), panels, strict=True):
        draw_factors(axes, *panel)
    return figure


def tutorial(target: Path) -> None:
    """Run the tutorial and copy the figure that it draws."""
    sys.path.insert(0, str(HERE.parent))
    from docs.run import run

    with tempfile.TemporaryDirectory() as folder:
        for file in (HERE / "bikes").iterdir():
            shutil.copy(file, folder)
        run(HERE / "tutorial.md", folder)
        shutil.copy(Path(folder, "bikes.svg"), target)


if __name__ == "__main__":
    # Text stays text, and the same picture is the same bytes.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "scoup"})
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    pictures = HERE / "pictures"
    pictures.mkdir(exist_ok=True)
    merges().savefig(pictures / "merges.svg")
    tutorial(pictures / "bikes.svg")
