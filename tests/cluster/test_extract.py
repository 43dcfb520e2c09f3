"""On two nodes, jobs share the shards of a tensor on disk and give the bytes of one process.

``SCOUP_TEST_CELLS=10000000`` runs it with ten million cells instead of one.
"""

import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from scoup.datasets.events import LIKES_FILE, EventsSize
from scoup.datasets.events.simulate import write_events
from scoup.manifest import Manifest
from tests.cluster.conftest import Run, until
from tests.workflow.conftest import snakemake, succeeded
from tests.workflow.test_corridor import without_parts

pytestmark = pytest.mark.cluster

CELLS = int(os.environ.get("SCOUP_TEST_CELLS", "1000000"))
SHARDS, PARTS = 8, 2
MODEL = "results/merge/visits/whole/streamed/seed0.npz"
FIRST_ROUND = "results/complete/visits/whole/streamed/seed0/round1.npz"
# What follows from the passes of a stage, and how many passes it makes.
LATER_STAGES = {"extract": ("extract", "fit", "merge"), "multiply": ("merge",)}
ROUNDS = {"extract": 1, "multiply": 2}


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """A folder with a tensor in shards, and a matrix."""
    folder = tmp_path_factory.mktemp("visits")
    write_events(folder, EventsSize.of(CELLS), seed=0, shard_cells=-(-CELLS // SHARDS))
    assert len(Manifest.read(folder).shards) == SHARDS
    return folder


@pytest.fixture(scope="module")
def config(shards):
    """A configuration whose plan goes through every stage up to the merge."""
    options = {
        "tensor": str(shards),
        "matrices": [{"file": str(shards / LIKES_FILE), "mode": "user"}],
    }
    visits = {"kind": "shards", "source": "local", "size": "full", "seed": 0, "options": options}
    plan = {"rank": 4, "sampling": [2, 2, 1], "repetitions": 2, "init": "random", "max_iter": 5}
    changes = {
        "datasets": {"visits": visits},
        "plans": {"streamed": {**plan, "finish": "complete"}},
    }
    path = shards.parent / "visits.yaml"
    path.write_text(yaml.safe_dump(changes))
    return path


@pytest.fixture(scope="module")
def one_process(config):
    """A run on one machine, where one process reads all shards."""
    folder = config.parent / "one" / "run"
    succeeded(snakemake(folder, MODEL, config=config))
    return folder


@contextmanager
def full_disk(path):
    """A disk with next to no room for results."""
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "full", path], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)


@pytest.fixture(params=["extract", "multiply"])
def unfinished(request, one_process, config, tmp_path):
    """A copy of that run before the passes of a stage, whose results are on a full disk."""
    stage, folder = request.param, tmp_path / "run"
    shutil.copytree(one_process, folder, symlinks=True)
    for later in LATER_STAGES[stage]:
        shutil.rmtree(folder / "results" / later)
    if stage == "multiply":  # one machine goes on, with passes that jobs share, to the first round
        scatter = ["--set-scatter", f"parts={PARTS}"]
        succeeded(snakemake(folder, *scatter, "--", FIRST_ROUND, config=config))
    with full_disk(folder / "results" / stage):
        yield folder, stage


def start(folder, config, *options, **faults):
    """Start the run on the cluster, with its passes shared by jobs."""
    parts = ["--set-scatter", f"parts={PARTS}", "--", MODEL]
    return Run(folder, *options, *parts, config=("--configfile", str(config)), **faults)


def files_of(folder, stage):
    """Return the files of one stage's parts and when they were written."""
    paths = (folder / "results" / stage).rglob(f"*-of-{PARTS}.npz")
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in paths}


def numbers_of(files):
    return sorted(int(Path(name).name.split("-")[0]) for name in files)


@contextmanager
def damaged(shards):
    """A shard of the last part has lost a byte."""
    path = shards / Manifest.read(shards).shards[-1].file
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    try:
        yield path
    finally:
        path.write_bytes(content)


def kill_a_busy_node(cluster):
    cluster.kill(next(job["node"] for job in cluster.jobs() if job["state"] == "RUNNING"))


def test_a_full_disk_a_damaged_shard_and_a_dead_node_delay_the_same_bytes(
    healthy, one_process, unfinished, shards, config
):
    folder, stage = unfinished
    output = start(folder, config, "--retries", "0").wait(success=False)
    assert "the disk has 0.1 MB free; make room or choose another folder" in output
    assert files_of(folder, stage) == {}

    subprocess.run(["mount", "-o", "remount,size=1g", folder / "results" / stage], check=True)
    with damaged(shards) as path:
        output = start(folder, config, "--retries", "0").wait(success=False)
    assert f"{path}: " in output
    assert numbers_of(files_of(folder, stage)) == list(range(1, PARTS))
    assert not (folder / MODEL).exists()

    before = files_of(folder, stage) | files_of(folder, "cover")
    run = start(folder, config, faults=["hang"], stage=stage)
    until(run.triggered_faults, run)
    kill_a_busy_node(healthy)
    run.wait()
    after = files_of(folder, stage) | files_of(folder, "cover")
    assert before.items() <= after.items()  # no part was computed twice
    every_part = [*range(1, PARTS + 1)] * ROUNDS[stage]
    assert numbers_of(files_of(folder, stage)) == sorted(every_part)
    assert without_parts(folder) == without_parts(one_process)
