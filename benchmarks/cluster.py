"""What a cluster adds to a run: ``python -m benchmarks.cluster``, with and without Slurm.

First the whole quick configuration, then 500 repetitions of tiny data. The Slurm is that of
tests/cluster (as root, two nodes on this machine), so both runs have the same cores: the difference
is the cost of submitting, scheduling and watching jobs.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from benchmarks import stages
from tests.cluster import slurm
from tests.workflow.test_runs import digests

ROOT = Path(__file__).resolve().parent.parent
QUICK = ROOT / "workflow" / "configs" / "quick.yaml"
SAMPLE = "results/sample/brainq/whole/scoup/seed0.npz"
MODEL = "results/merge/brainq/whole/scoup/seed0.npz"
PROFILES = ROOT / "workflow" / "profiles"
PLACES = {
    "local": ["--cores", "2", "--workflow-profile", PROFILES / "local"],
    "slurm": ["--workflow-profile", PROFILES / "slurm"],
}
SUBMITTED = re.compile(r"has been submitted with SLURM jobid (\d+)")


def run(folder: Path, place: str, config: Path, *targets: str) -> float:
    """Build ``targets``, or everything, in ``folder``; return the seconds it took."""
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile"]
    options = ["--directory", folder, "--configfile", config, *PLACES[place]]
    started = time.perf_counter()
    with (folder / "run.log").open("a") as log:
        subprocess.run([*command, *options, *targets], check=True, stdout=log, stderr=log)
    return time.perf_counter() - started


def nodes(folder: Path) -> dict[str, int]:
    """Count the submissions of a run by the node that took them."""
    submitted = set(SUBMITTED.findall((folder / "run.log").read_text()))
    known = {job["id"]: job["node"] for job in slurm.jobs()}
    return dict(sorted(Counter(known.get(job, "no longer known") for job in submitted).items()))


def compare(
    scratch: Path, config: Path, targets: tuple[str, ...] = (), before: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Build the same files in both places and compare their bytes; ``before`` is not timed."""
    measured: dict[str, Any] = {}
    for place in PLACES:
        if before:
            run(scratch / place, "local", config, *before)
        measured[f"{place} seconds"] = round(run(scratch / place, place, config, *targets), 1)
    here, there = (digests(scratch / place) for place in PLACES)
    measured["submissions"] = nodes(scratch / "slurm")
    measured["work seconds"] = {place: work_seconds(scratch / place) for place in PLACES}
    measured["files compared"] = len(here)
    measured["files that differ"] = sorted({name for name, _ in here.items() ^ there.items()})
    return measured


def work_seconds(folder: Path) -> float:
    """Return the processor time of all jobs without start-up, from the facts next to their logs."""
    rows = stages.stages(folder / "results" / "logs")
    return round(sum(row.processor - row.startup for row in rows), 1)


def repetitions(scratch: Path, count: int) -> dict[str, Any]:
    """Fit and merge ``count`` repetitions in both places; data and samples are not timed."""
    config = scratch / "config.yaml"
    plan = {"rank": 2, "sampling": 2, "repetitions": count}
    settings = {"datasets": {"brainq": {"size": "tiny"}}, "plans": {"scoup": plan}}
    config.write_text(yaml.safe_dump(settings))
    measured = compare(scratch, config, (MODEL,), (SAMPLE,))
    overhead = measured["slurm seconds"] - measured["local seconds"]
    measured["overhead per repetition"] = round(overhead / count, 3)
    return measured


def main() -> None:
    """Start the cluster, measure, stop it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--parts", nargs="+", choices=["quick", "repetitions"], default=["quick", "repetitions"]
    )
    parser.add_argument("--repetitions", type=int, default=500)
    options = parser.parse_args()
    for part in options.parts:
        slurm.up()
        try:
            with tempfile.TemporaryDirectory() as folder:
                scratch = Path(folder)
                if part == "quick":
                    measured = compare(scratch, QUICK)
                else:
                    measured = repetitions(scratch, options.repetitions)
                print(json.dumps({part: measured}, indent=1), flush=True)
        finally:
            slurm.down()


if __name__ == "__main__":
    main()
