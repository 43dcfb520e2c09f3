"""Draw the pictures of the README and the pages: `python docs/draw.py` writes docs/pictures."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Polygon, Rectangle

HERE = Path(__file__).resolve().parent
BLUE, ORANGE, EMPTY, INK = "#56a0d3", "#e8923c", "#ffffff", "#333333"
FRONT, TOP, SIDE, MATRIX = "#dfe8f1", "#eef3f8", "#c9d6e4", "#efe3cf"

ROWS, COMMON = 8, 3  # the first three rows are in every sample
FIRST, SECOND = [0, 1, 2, 3, 4], [0, 1, 2, 5, 6]

# A factor is {row: ((colour, sign), (colour, sign))}, two columns; rows that are absent were not
# sampled.
Factor = dict[int, tuple[tuple[str, str], tuple[str, str]]]


def draw_method() -> Figure:
    """Draw the method: sample, fit, merge, finish."""
    figure = Figure(figsize=(9.6, 3.6))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 96), ylim=(0, 36), aspect="equal")
    axes.axis("off")
    _draw_data(axes, 2.5, 12.5, 9, 11, 3.2)
    axes.text(7, 11.5, "tensor", ha="center", va="top", fontsize=8.5)
    axes.text(17.4, 11.5, "matrix", ha="center", va="top", fontsize=8.5)
    for bottom, colours in ((24, (BLUE, ORANGE)), (16.5, (ORANGE, BLUE)), (9, (BLUE, ORANGE))):
        _draw_data(axes, 26, bottom, 4.2, 5, 1.6, shared=2)
        _arrow(axes, (20.4, 19), (25, bottom + 2.5))
        _arrow(axes, (36.6, bottom + 2.5), (40, bottom + 2.5))
        for position in range(4):
            _draw_columns(axes, 41.2 + 3.3 * position, bottom, 5 * [colours], shared=2)
        _arrow(axes, (55, bottom + 2.5), (59, 19))
    for position, (name, unseen) in enumerate(
        (("A", (4, 7)), ("B", (2, 5, 8)), ("C", ()), ("D", (6,)))
    ):
        left = 60.5 + 3.5 * position
        rows = [(EMPTY, EMPTY) if row in unseen else (BLUE, ORANGE) for row in range(11)]
        _draw_columns(axes, left, 12.5, rows, shared=2)
        _draw_columns(axes, left + 17.5, 12.5, 11 * [(BLUE, ORANGE)])
        axes.text(41.2 + 3.3 * position + 1.2, 29.8, name, ha="center", va="bottom", fontsize=9)
        for middle in (left + 1.2, left + 18.7):
            axes.text(middle, 24.2, name, ha="center", va="bottom", fontsize=9)
    _arrow(axes, (74, 19), (77.2, 19))
    for left, title, words in (
        (2.5, "data", "a tensor, and a matrix\non one of its modes"),
        (25, "1  sample", "some indices of each\nmode; a few (framed)\nin every sample"),
        (41.2, "2  fit", "factorize each sample,\nin parallel; colours\nare components"),
        (
            59.8,
            "3  merge",
            "match the components on\nthe framed rows; white:\nnever sampled, so zero",
        ),
        (78, "4  finish (optional)", "one pass over all data\nfills every row"),
    ):
        axes.text(left, 34, title, fontsize=10.5, fontweight="bold", va="center")
        axes.text(left, 6.8, words, fontsize=8.5, va="top", linespacing=1.35)
    return figure


def _draw_data(
    axes: Axes, left: float, bottom: float, width: float, height: float, depth: float, *,
    shared: float = 0,
) -> None:  # fmt: skip
    """Draw a tensor as a box, and a matrix with the same rows; the first ``shared`` are framed."""
    right, top, slant = left + width, bottom + height, 0.6 * depth
    box = {"edgecolor": "#777777", "linewidth": 0.9}
    axes.add_patch(Rectangle((left, bottom), width, height, facecolor=FRONT, **box))
    roof = [(left, top), (left + depth, top + slant), (right + depth, top + slant), (right, top)]
    wall = [(right, bottom), (right + depth, bottom + slant), (right + depth, top + slant)]
    axes.add_patch(Polygon(roof, facecolor=TOP, **box))
    axes.add_patch(Polygon([*wall, (right, top)], facecolor=SIDE, **box))
    gap, columns = right + 1.25 * depth, 0.4 * width
    axes.add_patch(Rectangle((gap, bottom), columns, height, facecolor=MATRIX, **box))
    if shared:
        _frame(axes, left, top - shared, width, shared)
        _frame(axes, gap, top - shared, columns, shared)


def _draw_columns(
    axes: Axes, left: float, bottom: float, rows: list[tuple[str, str]], shared: int = 0
) -> None:
    """Draw a factor with two columns, its rows coloured from the top, the first ones framed."""
    for row, colours in enumerate(reversed(rows)):
        for column, colour in enumerate(colours):
            edge = "#bbbbbb" if colour == EMPTY else "white"
            look = {"facecolor": colour, "edgecolor": edge, "linewidth": 0.6}
            axes.add_patch(Rectangle((left + 1.2 * column, bottom + row), 1.2, 1, **look))
    if shared:
        _frame(axes, left, bottom + len(rows) - shared, 2.4, shared)


def _frame(axes: Axes, left: float, bottom: float, width: float, height: float) -> None:
    look = {"fill": False, "edgecolor": INK, "linewidth": 1.5}
    axes.add_patch(Rectangle((left, bottom), width, height, zorder=3, **look))


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    look = {"arrowstyle": "-|>", "mutation_scale": 9, "color": "#777777", "linewidth": 1}
    axes.add_patch(FancyArrowPatch(start, end, shrinkA=0, shrinkB=0, **look))


def repetitions() -> tuple[list[Factor], list[Factor]]:
    """Return A, B, C of two repetitions; the second swaps columns and negates blue in A and B."""
    first = [dict.fromkeys(FIRST, ((BLUE, "+"), (ORANGE, "+"))) for _ in "ABC"]
    second = [dict.fromkeys(SECOND, ((ORANGE, "+"), (BLUE, sign))) for sign in "--+"]
    return first, second


def merged(orders: list[tuple[int, int]], signs: str) -> list[Factor]:
    """Add rows of the second repetition to the first: columns in ``orders``, blue x ``signs``."""
    first, second = repetitions()
    for target, source, order, sign in zip(first, second, orders, signs, strict=True):
        for row in SECOND[COMMON:]:
            columns = [
                (colour, _product(own, sign if colour == BLUE else "+"))
                for colour, own in source[row]
            ]
            target[row] = (columns[order[0]], columns[order[1]])
    return first


def _product(sign: str, other: str) -> str:
    return "+" if sign == other else "-"


def draw_factors(axes: Axes, factors: list[Factor], title: str, words: str) -> None:
    """Draw A, B and C side by side, the common rows in a frame."""
    for position, (name, factor) in enumerate(zip("ABC", factors, strict=True)):
        left = 3.1 * position
        for row in range(ROWS):
            cells = factor.get(row, ((EMPTY, ""), (EMPTY, "")))
            for column, (colour, sign) in enumerate(cells):
                look = {"facecolor": colour, "edgecolor": "white" if sign else "#cccccc"}
                axes.add_patch(Rectangle((left + column, -row), 1, 1, linewidth=1, **look))
                if sign == "-":
                    middle = (left + column + 0.5, 0.45 - row)
                    axes.text(*middle, "−", ha="center", va="center", color="white", weight="bold")
        _frame(axes, left, 1 - COMMON, 2, COMMON)
        axes.text(left + 1, 1.25, name, ha="center", fontsize=10)
    axes.set_title(title, fontsize=10, fontweight="bold", loc="left", x=0.02)
    axes.text(0, -ROWS + 0.55, words, va="top", fontsize=8.5, linespacing=1.35)
    axes.set(xlim=(-0.3, 9.0), ylim=(-ROWS - 1.4, 2.1), aspect="equal")
    axes.axis("off")


def draw_merges() -> Figure:
    """Draw two repetitions, and the result of either merge."""
    figure = Figure(figsize=(9.4, 3.8), layout="constrained")
    first, second = repetitions()
    panels = [
        (first, "repetition 1", "Colours are components.\nFramed: the common rows."),
        (second, "repetition 2", "Columns in another order; blue\nis negated (−) in A and B."),
        (
            merged([(0, 1), (0, 1), (1, 0)], "+++"),
            "merge: paper",
            "Factors matched separately: −blue\nlooks unlike blue, so A and B take\n"
            "orange. Columns are mixed.",
        ),
        (
            merged([(1, 0), (1, 0), (1, 0)], "--+"),
            "merge: joint",
            "One order for all factors, then\nsigns. The last row was never\n"
            "sampled and stays empty.",
        ),
    ]
    for axes, panel in zip(figure.subplots(1, 4), panels, strict=True):
        draw_factors(axes, *panel)
    return figure


def draw_tutorial(target: Path) -> None:
    """Run the tutorial and keep the figure that it draws."""
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
    draw_method().savefig(pictures / "method.svg")
    draw_merges().savefig(pictures / "merges.svg")
    draw_tutorial(pictures / "bikes.svg")
