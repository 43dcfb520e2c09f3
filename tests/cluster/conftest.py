"""A Slurm for the session, and runs of a small workflow on it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

import pytest

from tests.cluster import slurm
from tests.workflow.conftest import ROOT, TINY, snakemake, succeeded

collect_ignore = ["faults"]  # imported by Python itself, in jobs
FAULTS = Path(__file__).parent / "faults"
CONFIG = ("--configfile", str(TINY), str(Path(__file__).parent / "small.yaml"))
# Every stage from raw data to a figure, of one experiment.
TARGET = "results/plot/accuracy.svg"


@pytest.fixture(scope="session")
def cluster():
    """Two nodes, up and idle."""
    reason = slurm.why_not()
    if reason:
        pytest.skip(reason)
    slurm.up()
    yield slurm
    slurm.down()


@pytest.fixture(scope="session")
def local(tmp_path_factory):
    """A run without any cluster, with whose bytes all others are compared; not to be changed."""
    folder = tmp_path_factory.mktemp("local") / "run"
    succeeded(snakemake(folder, TARGET, *CONFIG))
    return folder


@pytest.fixture
def healthy(cluster):
    """The cluster started afresh: whatever a test before has killed is there again, and no job is."""
    slurm.up()
    return cluster


@pytest.fixture(autouse=True)
def none_left():
    """No run of a test that failed goes on behind the next one."""
    yield
    while Run.started:
        process = Run.started.pop()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=60)


class Run:
    """One run of Snakemake through the Slurm profile, in the background."""

    started: ClassVar[list[subprocess.Popen]] = []

    def __init__(self, folder, *options, faults=()):
        folder.mkdir(parents=True, exist_ok=True)
        waiting = folder.parent / "faults"
        waiting.mkdir(exist_ok=True)
        for position, fault in enumerate(faults):
            (waiting / f"{fault}-{position}").touch()
        self.log, self.folder = folder.parent / "snakemake.log", folder
        environment = {
            **os.environ, "SCOUP_FAULTS": str(waiting), "PYTHONPATH": os.pathsep.join([str(FAULTS), str(ROOT)]),
            "XDG_CACHE_HOME": str(folder.parent / "cache"),
        }  # fmt: skip
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                command(folder, *options),
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.started.append(self.process)

    def taken(self):
        """Return the faults that jobs have met so far."""
        return sorted(path.name.split("-")[1] for path in self.folder.parent.glob("taken-*"))

    def ends(self, well=True, seconds=900):
        """Wait for the end, which must be as said, and return all output."""
        code = self.process.wait(timeout=seconds)
        said = self.log.read_text()
        assert (code == 0) == well, said[-6000:]
        return said


def command(folder, *options):
    """Return the call of Snakemake on a small configuration, by the Slurm profile, with impatient looks at jobs."""
    return [
        sys.executable, "-m", "tests.cluster.impatient",
        "--snakefile", str(ROOT / "Snakefile"), "--directory", str(folder),
        *CONFIG, "--workflow-profile", str(ROOT / "workflow" / "profiles" / "slurm"),
        "--max-status-checks-per-second", "1", *options,
    ]  # fmt: skip


def until(condition, run, seconds=300):
    """Poll until ``condition`` gives something; the run must not end before."""
    limit = time.monotonic() + seconds
    while not (found := condition()):
        assert run.process.poll() is None, run.log.read_text()[-6000:]
        assert time.monotonic() < limit, "what the test waits for never came"
        time.sleep(0.2)
    return found
