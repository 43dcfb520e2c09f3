"""What a cluster adds to a repetition: ``python -m benchmarks.cluster`` fits 500 of tiny data here and on a Slurm.

The Slurm is that of tests/cluster (root, two nodes on this machine), so both have the same cores: the difference
is what submitting, waiting and looking after jobs takes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from tests.cluster import slurm

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = "results/sample/brainq/whole/scoup/seed0.npz"
MODEL = "results/merge/brainq/whole/scoup/seed0.npz"
PLACES = {
    "local": ["--cores", "2", "--workflow-profile", str(ROOT / "workflow" / "profiles" / "local")],
    "slurm": ["--workflow-profile", str(ROOT / "workflow" / "profiles" / "slurm")],
}


def run(folder: Path, config: Path, target: str, place: str) -> float:
    """Make one file in ``folder``; return the seconds it took."""
    words = [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile", "--directory", folder]
    started = time.perf_counter()
    with (folder.parent / f"{place}.log").open("a") as log:
        subprocess.run([*words, "--configfile", config, *PLACES[place], target], check=True, stdout=log, stderr=log)
    return time.perf_counter() - started


def measure(scratch: Path, repetitions: int) -> dict[str, float]:
    """Fit and merge so many repetitions in both places; data and samples are made before the clock starts."""
    config = scratch / "config.yaml"
    plan = {"rank": 2, "sampling": 2, "repetitions": repetitions}
    config.write_text(yaml.safe_dump({"datasets": {"brainq": {"size": "tiny"}}, "plans": {"scoup": plan}}))
    found: dict[str, float] = {"repetitions": repetitions}
    for place in PLACES:
        folder = scratch / place
        folder.mkdir()
        run(folder, config, SAMPLE, "local")
        found[f"{place} seconds"] = run(folder, config, MODEL, place)
    found["submissions"] = len(slurm.jobs())
    found["overhead a repetition"] = (found["slurm seconds"] - found["local seconds"]) / repetitions
    found["same bytes"] = (scratch / "local" / MODEL).read_bytes() == (scratch / "slurm" / MODEL).read_bytes()
    return found


def main() -> None:
    """Bring the cluster up, measure, take it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=500)
    options = parser.parse_args()
    slurm.up()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            print(json.dumps(measure(Path(scratch), options.repetitions), indent=1))
    finally:
        slurm.down()


if __name__ == "__main__":
    main()
