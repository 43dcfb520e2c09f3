"""On a real Grid Engine, the workflow gives the same bytes as a local run, whatever fails."""

import pytest

from tests.cluster.conftest import METRICS, TARGET, Run, until
from tests.workflow.test_runs import digests

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("gridengine")]


def run_of(grid, folder, target, **options):
    return Run(folder, target, profile="gridengine", **options, **grid.VARIABLES)


def test_every_stage_gives_the_same_bytes_and_a_killed_job_comes_back(grid, local, tmp_path):
    run = run_of(grid, tmp_path / "run", TARGET, faults=["die"])
    run.wait()
    assert run.triggered_faults() == ["die"]
    assert digests(tmp_path / "run") == digests(local)
    names = [job["jobname"] for job in grid.jobs() if job["exit_status"] == "0"]
    assert names == [
        "scoup-download", "scoup-preprocess", "scoup-holdout_holdout", "scoup-sample_sample",
        "scoup-fit_fit", "scoup-merge_merge", "scoup-experiments", "scoup-plot_plot",
    ]  # fmt: skip
    failed = [job["jobname"] for job in grid.jobs() if job["exit_status"] != "0"]
    assert failed == ["scoup-fit_fit"]


def test_a_host_that_dies_under_its_job(grid, local, unfitted):
    run = run_of(grid, unfitted, METRICS, faults=["hang"])
    until(run.triggered_faults, run)
    grid.kill_host()
    grid.start_host()
    run.wait()
    assert digests(unfitted) == digests(local)
