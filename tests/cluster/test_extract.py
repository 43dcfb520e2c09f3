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
SHARDS, PARTS = 16, 4
MODEL = "results/merge/visits/whole/streamed/seed0.npz"
DISK, ROUNDS = "results/extract", "results/multiply"


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """A folder with a tensor in 16 shards, and a matrix."""
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


@pytest.fixture
def unextracted(one_process, tmp_path):
    """A copy of that run as it was before the first pass, its next results on a full disk."""
    folder = tmp_path / "run"
    shutil.copytree(one_process, folder, symlinks=True)
    for stage in ("extract", "fit", "merge"):
        shutil.rmtree(folder / "results" / stage)
    with full_disk(folder / DISK):
        yield folder


@pytest.fixture
def uncompleted(one_process, config, tmp_path):
    """A run on one machine whose passes jobs share, up to the first round, on a full disk."""
    folder = tmp_path / "run"
    shutil.copytree(one_process, folder, symlinks=True)
    shutil.rmtree(folder / "results" / "merge")
    first = "results/complete/visits/whole/streamed/seed0/round1.npz"
    scatter = ["--set-scatter", f"parts={PARTS}"]
    succeeded(snakemake(folder, *scatter, "--", first, config=config))
    with full_disk(folder / ROUNDS):
        yield folder


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
    """A shard of the second part has lost a byte."""
    path = shards / Manifest.read(shards).shards[6].file
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    try:
        yield path
    finally:
        path.write_bytes(content)


def kill_a_busy_node(cluster):
    cluster.kill(next(job["node"] for job in cluster.jobs() if job["state"] == "RUNNING"))


def test_a_full_disk_a_damaged_shard_and_a_dead_node_delay_the_same_bytes(
    healthy, one_process, unextracted, shards, config
):
    output = start(unextracted, config, "--retries", "0").wait(success=False)
    assert "the disk has 0.1 MB free; make room or choose another folder" in output
    assert files_of(unextracted, "extract") == {}

    subprocess.run(["mount", "-o", "remount,size=1g", unextracted / DISK], check=True)
    with damaged(shards) as path:
        output = start(unextracted, config, "--retries", "0").wait(success=False)
    assert f"{path}: " in output
    assert numbers_of(files_of(unextracted, "extract")) == [1, 3, 4]
    assert not (unextracted / "results" / "fit").exists()

    before = files_of(unextracted, "extract") | files_of(unextracted, "cover")
    run = start(unextracted, config, faults=["hang"], stage="extract")
    until(run.triggered_faults, run)
    kill_a_busy_node(healthy)
    run.wait()
    after = files_of(unextracted, "extract") | files_of(unextracted, "cover")
    assert before.items() <= after.items()  # no part was extracted twice
    assert len(after) == 2 * PARTS
    assert without_parts(unextracted) == without_parts(one_process)


def test_the_same_faults_in_a_round_of_the_completion(
    healthy, one_process, uncompleted, shards, config
):
    output = start(uncompleted, config, "--retries", "0").wait(success=False)
    assert "the disk has 0.1 MB free; make room or choose another folder" in output
    assert files_of(uncompleted, "multiply") == {}

    subprocess.run(["mount", "-o", "remount,size=1g", uncompleted / ROUNDS], check=True)
    before = files_of(uncompleted, "cover")
    with damaged(shards) as path:
        output = start(uncompleted, config, "--retries", "0").wait(success=False)
    assert f"{path}: " in output
    assert numbers_of(files_of(uncompleted, "multiply")) == [1, 3, 4]
    assert not (uncompleted / MODEL).exists()

    before |= files_of(uncompleted, "multiply")
    run = start(uncompleted, config, faults=["hang"], stage="multiply")
    until(run.triggered_faults, run)
    kill_a_busy_node(healthy)
    run.wait()
    after = files_of(uncompleted, "cover") | files_of(uncompleted, "multiply")
    assert before.items() <= after.items()  # no product was computed twice
    assert numbers_of(files_of(uncompleted, "multiply")) == sorted([*range(1, PARTS + 1)] * 2)
    assert without_parts(uncompleted) == without_parts(one_process)
