"""Where the time of a run went: ``python -m benchmarks.stages results``, stage by stage.

Every job leaves its facts as a JSON file next to its log. Start-up is the processor time that a job
had used when its work began: Python and its imports. All of Snakemake's own time counts as
start-up, of a stage called scheduling.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from scoup import store
from scoup.scorecard import insert

HEAD = "| stage | jobs | processor time (s) | of it start-up (s) | wall-clock time, added up (s) |"
# Rules that serve several experiments, whose name is next in the path of the log.
SHARED_RULES = ("experiments", "parts")


class Stage(NamedTuple):
    """A stage of the workflow with the sums over its jobs, times in seconds."""

    name: str
    jobs: int
    processor: float
    startup: float
    wall_clock: float


def stages(logs: Path) -> list[Stage]:
    """Sum jobs and times over the facts of every stage, the longest first."""
    sums: dict[str, Stage] = {}
    for path in logs.rglob("*.json"):
        facts = store.read_json(path)
        if "processor" in facts:
            parts = path.relative_to(logs).with_suffix("").parts
            name = " ".join(parts[: 2 if parts[0] in SHARED_RULES else 1])
            before = sums.get(name, Stage(name, 0, 0.0, 0.0, 0.0))
            sums[name] = Stage(
                name,
                before.jobs + 1,
                before.processor + facts["processor"],
                before.startup + facts["startup"],
                before.wall_clock + facts["ended"] - facts["started"],
            )
    return sorted(sums.values(), key=lambda stage: -stage.processor)


def table(rows: Iterable[Stage]) -> str:
    """Return the stages and their sum as Markdown, and what share of the time is not start-up.

    >>> print(table([Stage("fit", 2, 8.0, 2.0, 9.0)]).splitlines()[-1])
    75 % of the processor time is the jobs' own work: reading data, computing, writing.
    """
    rows = list(rows)
    jobs, processor, startup, wall_clock = (sum(row[n] for row in rows) for n in (1, 2, 3, 4))
    total = Stage("all", jobs, processor, startup, wall_clock)
    lines = [
        f"| {row.name} | {row.jobs} | {row.processor:.0f} | {row.startup:.0f} "
        f"| {row.wall_clock:.0f} |"
        for row in [*rows, total]
    ]
    percent = 100 * (1 - startup / max(processor, 1e-9))
    remark = (
        f"{percent:.0f} % of the processor time is the jobs' own work: "
        "reading data, computing, writing."
    )
    return "\n".join([HEAD, "|---" * 5 + "|", *lines, "", remark])


def main(results: str, page: str = "") -> None:
    """Print the table, or put it between the markers of a page."""
    text = table(stages(Path(results) / "logs"))
    if page:
        store.write_text(page, insert(Path(page).read_text(), "stages", text))
    else:
        print(text)


if __name__ == "__main__":
    main(*sys.argv[1:3])
