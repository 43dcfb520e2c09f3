"""On a real Grid Engine, the workflow gives the same bytes as a local run, whatever fails."""

import os
import subprocess
import time

import pytest
import yaml

from tests.cluster.conftest import METRICS, TARGET, Run, until
from tests.workflow.conftest import ROOT
from tests.workflow.test_runs import digests

pytestmark = pytest.mark.cluster


def run_of(grid, folder, target, **options):
    return Run(folder, target, profile="gridengine", **options, **grid.VARIABLES)


def test_a_job_is_running_until_accounting_says_how_it_ended(grid, tmp_path):
    profile = yaml.safe_load((ROOT / "workflow/profiles/gridengine/config.yaml").read_text())
    logs = tmp_path / ".snakemake" / "gridengine_logs"
    logs.mkdir(parents=True)

    def call(words):
        environment = {**os.environ, **grid.VARIABLES}
        answer = subprocess.check_output(words, shell=True, env=environment, cwd=tmp_path)
        return answer.decode().strip()

    def status(job):
        return call(f"{profile['cluster-generic-status-cmd']} '{job}'")

    def settled(job):
        limit = time.monotonic() + 60
        while status(job) == "running" and time.monotonic() < limit:
            time.sleep(0.2)
        return status(job)

    submit = f"qsub -terse -o {logs} -j y -S /bin/sh -pe smp 1"
    (tmp_path / "job.sh").write_text("exit $1\n")
    good, bad = (call(f"{submit} job.sh {code}") for code in (0, 3))
    unreadable = call("qsub -terse -o /nowhere/at/all -j y -pe smp 1 job.sh 0")
    assert [settled(job) for job in (good, bad, unreadable)] == ["success", "failed", "failed"]
    deleted = call(f"{submit} -h job.sh 0")
    assert status(deleted) == "running"
    call(f"qdel {deleted}")
    assert status(deleted) == "running"
    hour_ago = time.time() - 3600
    os.utime(logs / f"lost-{deleted}", (hour_ago, hour_ago))
    assert status(deleted) == "failed"


def test_every_stage_gives_the_same_bytes_and_a_killed_job_comes_back(grid, local, tmp_path):
    run = run_of(grid, tmp_path / "run", TARGET, faults=["die"])
    run.wait()
    assert run.triggered_faults() == ["die"]
    assert digests(tmp_path / "run") == digests(local)
    jobs = [job for job in grid.jobs() if job["jobname"].startswith("scoup-")]
    names = [job["jobname"] for job in jobs if job["exit_status"] == "0"]
    assert names == [
        "scoup-download", "scoup-preprocess", "scoup-holdout_holdout", "scoup-sample_sample",
        "scoup-fit_fit", "scoup-merge_merge", "scoup-experiments", "scoup-plot_plot",
    ]  # fmt: skip
    failed = [job["jobname"] for job in jobs if job["exit_status"] != "0"]
    assert failed == ["scoup-fit_fit"]


def test_a_host_that_dies_under_its_job(grid, local, unfitted):
    run = run_of(grid, unfitted, METRICS, faults=["hang"])
    until(run.triggered_faults, run)
    grid.kill_host()
    grid.start_host()
    run.wait()
    assert digests(unfitted) == digests(local)
