"""The benchmark in words: a table of ratios for the documentation, and text for the terminal."""

from collections.abc import Sequence
from math import isinf
from pathlib import Path
from typing import Any

from benchmarks.curves import Check
from benchmarks.outcome import Stored
from scoup import store
from scoup.scorecard import insert

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
# One-minute load above which something else was running: two threads and half a process.
MAX_QUIET_LOAD = 2.5
# How the settings were chosen.
CAVEATS = (
    "Parts may be run at different times; those marked (busy) shared the machine with something "
    "else.",
    "Dense data: noise of 5 was chosen from 0.5, 2 and 5; with the others ALS ends in a poor local "
    "minimum from the shared random start.",
    "The advised settings (sampling, repetitions, tolerance) are those of `scoup inspect`; the "
    "paper's (3, 86, 1) with 4 repetitions ends 0.33 % above the best cost and never comes within "
    "0.1 %.",
    "The step sizes of ALS with missing cells were tuned on these three masks; costs count as "
    "equal if they agree to six digits.",
    "GenTen's MttkrpSingle adds up without synchronisation, which is for one thread: on two, which "
    "race, costs differ from run to run. Its threads are bound to separate cores, since it takes "
    "twice the time where Linux leaves both on one.",
    "Memory: sparse input is counted as lists of cells with 32-bit indices, 20 bytes per cell of "
    "the tensor and 16 per cell of the matrix; as CSR the matrix takes 12, and the ratios would be "
    "a sixth larger.",
)
FIGURES = ("dense", "sparse", "missing", "growth", "memory")


def number(value: float) -> str:
    """Format a number; an infinite ratio means that a cost was never reached.

    >>> number(0.123456), number(1234.5), number(1e-9), number(float("inf"))
    ('0.123', '1,234', '1e-09', 'never')
    """
    if isinf(value):
        return "never"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def spread(check: Check) -> str:
    """Format the median, with its quartiles if there are any.

    >>> from benchmarks.curves import Spread
    >>> spread(Check("x", Spread(1.0, 2.0, 3.0), "<=", 5.0))
    '2 [1, 3]'
    """
    got = check.got
    if got.low == got.high:
        return number(got.middle)
    return f"{number(got.middle)} [{number(got.low)}, {number(got.high)}]"


def markdown(stored: Sequence[Stored]) -> str:
    """Return the checks of all parts as a table, with the machine and the roofline in words."""
    lines = [
        about(stored),
        "",
        "| part | what | median [quartiles] | goal | met |",
        "|---" * 5 + "|",
    ]
    for entry in stored:
        part = f"{entry.part} (busy)" if busy(entry) else entry.part
        for check in entry.outcome.checks:
            met = "yes" if check.met else "**no**"
            lines.append(
                f"| {part} | {check.what} | {spread(check)} | {check.sign} {check.goal:g} | {met} |"
            )
    for entry in stored:
        if entry.part == "kernels":
            lines += ["", "Compared with the limits of the machine, measured in the same run:", ""]
            lines += [f"- {remark}" for remark in entry.outcome.remarks]
    return "\n".join([*lines, "", "Caveats:", "", *(f"- {line}" for line in CAVEATS)])


def busy(stored: Stored) -> bool:
    """Whether something else ran at the same time, by the load before and after a part."""
    return max(stored.load[0][0], stored.load[1][0]) > MAX_QUIET_LOAD


def about(stored: Sequence[Stored]) -> str:
    """Describe what was measured, on which machine, and how busy it was."""
    machine = stored[0].machine
    versions = ", ".join(
        f"{name} {version}" for name, version in machine["versions"].items() if version
    )
    busiest = max(max(entry.load[0][0], entry.load[1][0]) for entry in stored)
    return (
        f"`make bench` on {machine['cores']} cores of an {machine['cpu']}, "
        f"Python {machine['python']}, {versions}; load between parts at most {busiest:g}. "
        "Simulated data in the published shapes. Contenders run warm, in turns, in separate "
        "processes and from the same random start; ratios are medians over all pairs of runs. "
        '"Never" means that the slower one had not reached that cost when it was stopped.'
    )


def fill(page: Path, stored: Sequence[Stored]) -> None:
    """Put the table and the figures between the markers of a page."""
    if not stored:
        return
    parts = {entry.part for entry in stored}
    pictures = [
        f"![{name}: cost, time or memory](../results/figures/bench/{name}.svg)"
        for name in FIGURES
        if name in parts
    ]
    block = "\n\n".join([markdown(stored), *pictures])
    store.write_text(page, insert(page.read_text(), "bench", block))


def text(stored: Stored) -> str:
    """Return seconds and checks of one part, for the terminal."""
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
    """Align rows in columns.

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
