"""Clusters for the session, and runs of a small workflow on them."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

import pytest

from tests.cluster import gridengine, slurm
from tests.workflow.conftest import ROOT, TINY, snakemake, succeeded

collect_ignore = ["faults"]  # Python itself imports it, in jobs
FAULTS = Path(__file__).parent / "faults"
CONFIG = ("--configfile", str(TINY), str(Path(__file__).parent / "small.yaml"))
# One experiment, through every stage from raw data to a figure.
TARGET = "results/plot/accuracy.svg"
# Enough to see a fault in a fit and the recovery: fits, and the merge and metrics they feed.
METRICS = "results/experiments/accuracy/brainq/seed0.json"
FIT = "results/fit/brainq/whole/scoup/seed0"


def started(scheduler):
    """Yield a scheduler while it is up; skip the test where it cannot be started."""
    if reason := scheduler.why_not():
        pytest.skip(reason)
    scheduler.up()
    yield scheduler
    scheduler.down()


@pytest.fixture(scope="module")
def cluster():
    """Two nodes, up and idle, that know no jobs of other modules."""
    yield from started(slurm)


@pytest.fixture(scope="session")
def grid():
    """A Grid Engine with one host."""
    yield from started(gridengine)


@pytest.fixture(scope="session")
def local(tmp_path_factory):
    """A run without a cluster, to compare other runs with; not to be changed."""
    folder = tmp_path_factory.mktemp("local") / "run"
    succeeded(snakemake(folder, TARGET, *CONFIG))
    return folder


@pytest.fixture
def unfitted(local, tmp_path):
    """A copy of the local run without the fits of one seed, and thus without its metrics."""
    folder = tmp_path / "run"
    shutil.copytree(local, folder, symlinks=True)
    shutil.rmtree(folder / FIT)
    (folder / METRICS).unlink()
    return folder


@pytest.fixture
def healthy(cluster):
    """A freshly started cluster: no dead node, no old job."""
    slurm.up()
    return cluster


@pytest.fixture(autouse=True)
def no_leftovers():
    """Kill the runs that a failed test left behind."""
    yield
    while Run.started:
        process = Run.started.pop()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=60)


class Run:
    """One run of Snakemake through the profile of a cluster, in the background."""

    started: ClassVar[list[subprocess.Popen]] = []

    def __init__(
        self, folder, *options, faults=(), stage="fit", profile="slurm", config=CONFIG, **variables
    ):
        folder.mkdir(parents=True, exist_ok=True)
        fault_folder = folder.parent / "faults"
        fault_folder.mkdir(exist_ok=True)
        for position, fault in enumerate(faults):
            (fault_folder / f"{fault}-{position}").touch()
        self.log, self.folder = folder.parent / "snakemake.log", folder
        environment = {
            **os.environ, "SCOUP_FAULTS": str(fault_folder), "SCOUP_FAULTY": stage,
            "PYTHONPATH": os.pathsep.join([str(FAULTS), str(ROOT)]),
            "XDG_CACHE_HOME": str(folder.parent / "cache"), **variables,
        }  # fmt: skip
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                command(folder, *options, profile=profile, config=config),
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.started.append(self.process)

    def triggered_faults(self):
        """Return the faults that jobs have met so far."""
        return sorted(path.name.split("-")[1] for path in self.folder.parent.glob("triggered-*"))

    def wait(self, success=True, seconds=900):
        """Wait for the run to succeed, or to fail, and return its output."""
        code = self.process.wait(timeout=seconds)
        output = self.log.read_text()
        assert (code == 0) == success, output[-6000:]
        return output


def command(folder, *options, profile="slurm", config=CONFIG):
    """Return the command that runs a configuration with the profile of a cluster."""
    return [
        sys.executable, "-m", "tests.cluster.impatient",
        "--snakefile", str(ROOT / "Snakefile"), "--directory", str(folder),
        *config, "--workflow-profile", str(ROOT / "workflow" / "profiles" / profile),
        "--max-status-checks-per-second", "1", "--seconds-between-status-checks", "1", *options,
    ]  # fmt: skip


def until(condition, run, seconds=300):
    """Wait until ``condition`` returns something true; the run must not end before that."""
    limit = time.monotonic() + seconds
    while not (result := condition()):
        assert run.process.poll() is None, run.log.read_text()[-6000:]
        assert time.monotonic() < limit, "the condition never came true"
        time.sleep(0.2)
    return result
