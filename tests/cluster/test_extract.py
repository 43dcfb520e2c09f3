"""On two nodes, jobs share the shards of a tensor on disk and give the bytes of one process.

``SCOUP_TEST_CELLS=10000000`` runs it with ten million cells instead of one.
"""

import os
import shutil
import subprocess

import pytest
import yaml

from scoup.datasets.events import LIKES_FILE, EventsSize
from scoup.datasets.events.simulate import write_events
from scoup.manifest import Manifest
from tests.cluster.conftest import Run, until
from tests.workflow.conftest import snakemake, succeeded
from tests.workflow.test_corridor import without_extracted

pytestmark = pytest.mark.cluster

CELLS = int(os.environ.get("SCOUP_TEST_CELLS", "1000000"))
SHARDS, PARTS = 16, 4
MODEL = "results/merge/visits/whole/streamed/seed0.npz"
DISK = "results/extract"


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


@pytest.fixture
def unextracted(one_process, tmp_path):
    """A copy of that run as it was before the first pass, its next results on a full disk."""
    folder = tmp_path / "run"
    shutil.copytree(one_process, folder, symlinks=True)
    for stage in ("extract", "fit", "merge"):
        shutil.rmtree(folder / "results" / stage)
    (folder / DISK).mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "full", folder / DISK], check=True)
    yield folder
    subprocess.run(["umount", "--lazy", folder / DISK], check=True)


def test_a_full_disk_a_damaged_shard_and_a_dead_node_delay_the_same_bytes(
    healthy, one_process, unextracted, shards, config
):
    def start(*options, **faults):
        parts = ["--set-scatter", f"parts={PARTS}", "--", MODEL]
        return Run(unextracted, *options, *parts, config=("--configfile", str(config)), **faults)

    def written():
        paths = (unextracted / DISK).rglob("[0-9]*.npz")
        return {path.name: path.stat().st_mtime_ns for path in paths}

    def extracted():
        return sorted(written())

    output = start("--retries", "0").wait(success=False)
    assert "the disk has 0.1 MB free; make room or choose another folder" in output
    assert extracted() == []

    subprocess.run(["mount", "-o", "remount,size=1g", unextracted / DISK], check=True)
    damaged = shards / Manifest.read(shards).shards[6].file  # of the second part
    content = damaged.read_bytes()
    damaged.write_bytes(content[:-1])
    try:
        output = start("--retries", "0").wait(success=False)
    finally:
        damaged.write_bytes(content)
    assert f"{damaged}: " in output
    assert extracted() == [f"{number}-of-{PARTS}.npz" for number in (1, 3, 4)]
    assert not (unextracted / "results" / "fit").exists()

    before = written()
    run = start(faults=["hang"], stage="extract")
    until(run.triggered_faults, run)
    node = next(job["node"] for job in healthy.jobs() if job["state"] == "RUNNING")
    healthy.kill(node)
    run.wait()
    assert extracted() == [f"{number}-of-{PARTS}.npz" for number in range(1, PARTS + 1)]
    assert before.items() <= written().items()  # no part was extracted twice
    assert without_extracted(unextracted) == without_extracted(one_process)
