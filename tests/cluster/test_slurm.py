"""On a real Slurm, the workflow gives the same bytes as a local run, whatever fails on the way."""

import os
import shutil
import signal

import pytest

from tests.cluster.conftest import FIT, METRICS, TARGET, Run, until
from tests.workflow.test_runs import digests

pytestmark = pytest.mark.cluster

# Submissions that rebuild METRICS from FIT: both fits as one group, the merge, the experiment.
SUBMISSIONS = 3


def assert_same_bytes(folder, local):
    assert digests(folder) == digests(local)


def states(cluster):
    return [job["state"] for job in cluster.jobs()]


def test_every_stage_gives_the_same_bytes_on_both_nodes_and_small_jobs_share_a_submission(
    cluster, local, tmp_path
):
    Run(tmp_path / "run", TARGET, "--group-components", "sample=9", "fit=2", "merge=9").wait()
    assert_same_bytes(tmp_path / "run", local)
    assert {job["node"] for job in cluster.jobs()} == set(cluster.NODES)
    # The profile groups holdout, sample, fit, merge and plot. One holdout, two samples (plans scoup
    # and full), two merges and one plot are one submission per stage; three fits, two per group,
    # are two. Download, preprocess and experiments are not grouped, with one job each: 4 + 2 + 3.
    assert len(cluster.jobs()) == 9


def test_jobs_out_of_time_or_memory_are_retried_with_more(healthy, local, unfitted):
    run = Run(
        unfitted, METRICS, "--group-components", "fit=1", "--set-resources", "fit:runtime=attempt",
        faults=["hang", "die"],
    )  # fmt: skip
    run.wait()
    assert run.triggered_faults() == ["die", "hang"]
    limits = {job["state"]: job["limit"] for job in healthy.jobs()}
    assert limits["TIMEOUT"] == "1:00"
    assert "FAILED" in limits
    assert "2:00" in [job["limit"] for job in healthy.jobs() if job["state"] == "COMPLETED"]
    assert_same_bytes(unfitted, local)


def test_a_node_that_dies_under_its_job(healthy, local, unfitted):
    run = Run(unfitted, METRICS, faults=["hang"])
    until(run.triggered_faults, run)
    node = next(job["node"] for job in healthy.jobs() if job["state"] == "RUNNING")
    healthy.kill(node)
    run.wait()
    assert {job["node"] for job in healthy.jobs()[-SUBMISSIONS:]} == set(healthy.NODES) - {node}
    assert_same_bytes(unfitted, local)


def test_a_controller_that_is_restarted_under_running_jobs(healthy, local, unfitted):
    run = Run(unfitted, METRICS, faults=["pause"])
    until(run.triggered_faults, run)
    healthy.stop_controller()
    healthy.start_controller()
    run.wait()
    assert states(healthy) == ["COMPLETED"] * SUBMISSIONS  # no job was lost or repeated
    assert_same_bytes(unfitted, local)


def test_a_killed_snakemake_restarts_while_its_orphans_run(healthy, local, unfitted):
    run = Run(unfitted, METRICS, faults=["hang"])
    until(run.triggered_faults, run)
    os.killpg(run.process.pid, signal.SIGKILL)
    run.process.wait(timeout=60)
    assert "RUNNING" in states(healthy)
    Run(unfitted, METRICS).wait()
    assert_same_bytes(unfitted, local)


def test_a_corrupted_file_is_named_and_rebuilt(healthy, local, unfitted):
    for name in ("rep0", "rep1"):
        path = unfitted / FIT / f"{name}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(local / FIT / path.name, path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    output = Run(unfitted, METRICS).wait()
    assert f"{FIT}/rep1.npz: it is not as recorded in " in output
    assert_same_bytes(unfitted, local)
