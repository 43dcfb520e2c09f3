"""On a real Slurm the workflow ends in the bytes of a local run, whatever dies on the way."""

import os
import shutil
import signal

import pytest

from tests.cluster.conftest import TARGET, Run, until
from tests.workflow.test_runs import digests

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("slurm")]

# Two levels of jobs, fits and what reads them: all that a fault in a fit needs to be seen and survived.
METRICS = "results/experiments/accuracy/brainq/seed0.json"
FIT = "results/fit/brainq/whole/scoup/seed0"


@pytest.fixture
def unfitted(local, tmp_path):
    """A copy of the local run without the fits of one seed, and so without its metrics."""
    folder = tmp_path / "run"
    shutil.copytree(local, folder, symlinks=True)
    shutil.rmtree(folder / FIT)
    (folder / METRICS).unlink()
    return folder


def same(folder, local):
    assert digests(folder) == digests(local)


def states(cluster):
    return [job["state"] for job in cluster.jobs()]


def test_every_stage_runs_to_the_same_bytes_on_both_nodes_and_small_jobs_share_a_submission(
    cluster, local, tmp_path
):
    Run(tmp_path / "run", TARGET, "--group-components", "sample=9", "fit=2", "merge=9").ends()
    same(tmp_path / "run", local)
    assert {job["node"] for job in cluster.jobs()} == set(cluster.NODES)
    assert (
        len(cluster.jobs()) == 8
    )  # three fits in two submissions, and one for each of the other six stages


def test_a_job_over_its_time_and_one_killed_for_memory_come_back_with_more(
    healthy, local, unfitted
):
    run = Run(
        unfitted, METRICS, "--group-components", "fit=1", "--set-resources", "fit:runtime=attempt",
        faults=["hang", "die"],
    )  # fmt: skip
    run.ends()
    assert run.taken() == ["die", "hang"]
    limits = {job["state"]: job["limit"] for job in healthy.jobs()}
    assert limits["TIMEOUT"] == "1:00"
    assert "FAILED" in limits
    assert "2:00" in [job["limit"] for job in healthy.jobs() if job["state"] == "COMPLETED"]
    same(unfitted, local)


def test_a_node_that_dies_under_its_job(healthy, local, unfitted):
    run = Run(unfitted, METRICS, faults=["hang"])
    until(run.taken, run)
    node = next(job["node"] for job in healthy.jobs() if job["state"] == "RUNNING")
    healthy.kill(node)
    run.ends()
    assert {job["node"] for job in healthy.jobs()[-2:]} == set(healthy.NODES) - {node}
    same(unfitted, local)


def test_a_controller_that_is_restarted_under_running_jobs(healthy, local, unfitted):
    run = Run(unfitted, METRICS, faults=["pause"])
    until(run.taken, run)
    healthy.stop_controller()
    healthy.start_controller()
    run.ends()
    assert states(healthy) == ["COMPLETED", "COMPLETED"]  # no job was lost or repeated
    same(unfitted, local)


def test_a_killed_snakemake_is_started_again_beside_its_orphans(healthy, local, unfitted):
    run = Run(unfitted, METRICS, faults=["hang"])
    until(run.taken, run)
    os.killpg(run.process.pid, signal.SIGKILL)
    run.process.wait(timeout=60)
    assert "RUNNING" in states(healthy)
    Run(unfitted, METRICS).ends()
    same(unfitted, local)


def test_a_corrupted_file_is_named_by_its_reader_and_made_again(healthy, local, unfitted):
    for name in ("rep0", "rep1"):
        path = unfitted / FIT / f"{name}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(local / FIT / path.name, path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    said = Run(unfitted, METRICS, "--retries", "0").ends(well=False)
    assert f"{FIT}/rep1.npz: expected a whole " in said
    assert not path.exists()
    Run(unfitted, METRICS).ends()
    same(unfitted, local)
