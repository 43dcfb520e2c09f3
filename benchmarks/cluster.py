"""What a cluster adds to a run: ``python -m benchmarks.cluster`` makes the same files here and on a Slurm.

First the whole quick configuration, then 500 repetitions of tiny data. The Slurm is that of tests/cluster (root, two
nodes on this machine), so both have the same cores: the difference is what submitting, waiting and looking after jobs
takes.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

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
    """Make ``targets`` in ``folder``, or all there is; return the seconds it took."""
    folder.mkdir(exist_ok=True)
    words = [
        sys.executable,
        "-m",
        "snakemake",
        "--snakefile",
        ROOT / "Snakefile",
        "--directory",
        folder,
    ]
    started = time.perf_counter()
    with (folder / "run.log").open("a") as log:
        subprocess.run(
            [*words, "--configfile", config, *PLACES[place], *targets],
            check=True,
            stdout=log,
            stderr=log,
        )
    return time.perf_counter() - started


def nodes(folder: Path) -> dict[str, int]:
    """Count the submissions of a run by the node that took them, as the logs of jobs say; those forgotten apart."""
    submitted = set(SUBMITTED.findall((folder / "run.log").read_text()))
    places = {job["id"]: job["node"] for job in slurm.jobs()}
    found = [places.get(job, "no longer known") for job in submitted]
    return {name: found.count(name) for name in sorted(set(found))}


def compare(
    scratch: Path, config: Path, targets: tuple[str, ...] = (), before: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Make the same files in both places, and look whether they are the same bytes; ``before`` is made untimed."""
    found: dict[str, Any] = {}
    for place in PLACES:
        if before:
            run(scratch / place, "local", config, *before)
        found[f"{place} seconds"] = round(run(scratch / place, place, config, *targets), 1)
    here, there = (digests(scratch / place) for place in PLACES)
    found["submissions"] = nodes(scratch / "slurm")
    found["files compared"] = len(here)
    found["files that differ"] = sorted({name for name, _ in here.items() ^ there.items()})
    return found


def repetitions(scratch: Path, count: int) -> dict[str, Any]:
    """Fit and merge so many repetitions in both places; data and samples are made before the clock starts."""
    config = scratch / "config.yaml"
    plan = {"rank": 2, "sampling": 2, "repetitions": count}
    config.write_text(
        yaml.safe_dump({"datasets": {"brainq": {"size": "tiny"}}, "plans": {"scoup": plan}})
    )
    found = compare(scratch, config, (MODEL,), (SAMPLE,))
    found["overhead a repetition"] = round(
        (found["slurm seconds"] - found["local seconds"]) / count, 3
    )
    return found


def main() -> None:
    """Bring the cluster up, measure, take it down."""
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
                found = (
                    compare(scratch, QUICK)
                    if part == "quick"
                    else repetitions(scratch, options.repetitions)
                )
                print(json.dumps({part: found}, indent=1), flush=True)
        finally:
            slurm.down()


if __name__ == "__main__":
    main()
