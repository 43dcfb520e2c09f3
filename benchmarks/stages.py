"""Where the time of a run went: ``python -m benchmarks.stages results`` reads the facts of its jobs, stage by stage.

Start-up is the processor time that a job had used when its own work began: Python itself and its imports. All that
Snakemake itself takes counts as start-up too, as a stage called scheduling.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from scoup import store
from scoup.job import read_facts
from scoup.scorecard import insert

HEAD = "| stage | jobs | processor time (s) | of it start-up (s) | wall-clock time, added up (s) |"
Row = tuple[str, int, float, float, float]


def stages(logs: Path) -> list[Row]:
    """Add up jobs, processor time, start-up and wall-clock time of every stage, the longest first."""
    sums: dict[str, list[float]] = {}
    for path in logs.rglob("*.json"):
        facts = read_facts(path)
        if "ended" in facts:
            row = sums.setdefault(facts["rule"], [0, 0.0, 0.0, 0.0])
            job = (1, facts["processor"], facts["startup"], facts["ended"] - facts["started"])
            row[:] = [total + value for total, value in zip(row, job, strict=True)]
    rows = [(name, int(row[0]), row[1], row[2], row[3]) for name, row in sums.items()]
    return sorted(rows, key=lambda row: -row[2])


def table(rows: Iterable[Row]) -> str:
    """Lay the stages out as Markdown, with their sum, and say what share is not start-up.

    >>> print(table([("fit", 2, 8.0, 2.0, 9.0)]).splitlines()[-1])
    75 % of the processor time is the jobs' own work: reading data, computing, writing.
    """
    rows = list(rows)
    total = ("all", *(sum(row[n] for row in rows) for n in (1, 2, 3, 4)))
    lines = [
        f"| {name} | {jobs} | {cpu:.0f} | {start:.0f} | {wall:.0f} |"
        for name, jobs, cpu, start, wall in [*rows, total]
    ]
    share = 1 - float(total[3]) / max(float(total[2]), 1e-9)
    said = f"{100 * share:.0f} % of the processor time is the jobs' own work: reading data, computing, writing."
    return "\n".join([HEAD, "|---" * 5 + "|", *lines, "", said])


def main(results: str, readme: str = "") -> None:
    """Print the table, or put it between the markers of a README."""
    text = table(stages(Path(results) / "logs"))
    if not readme:
        print(text)
        return
    path = Path(readme)
    store.write_text(path, insert(path.read_text(), "stages", text))


if __name__ == "__main__":
    main(*sys.argv[1:3])
