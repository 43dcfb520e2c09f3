"""The stage track in the workflow: it alone fails where a server is down, and nothing is lost."""

import json
import sqlite3

import pytest

from tests.workflow.conftest import planned, snakemake, succeeded

pytestmark = pytest.mark.xdist_group("workflow")


def test_every_metrics_file_is_told_and_every_run_is_whole(finished):
    receipt = json.loads((finished / "results" / "track.json").read_text())
    with sqlite3.connect(f"file:{finished}/results/mlflow.db?mode=ro", uri=True) as base:
        rows = base.execute("SELECT run_uuid, status, start_time, end_time FROM runs").fetchall()
        told = {
            value for (value,) in base.execute("SELECT value FROM params WHERE key = 'experiment'")
        }
    assert len(rows) == receipt["runs"]
    assert told == {
        "scorecard",
        *(path.name for path in (finished / "results" / "experiments").iterdir()),
    }
    for name, status, start, end in rows:
        assert (status, start <= end) == ("FINISHED", True)
        assert list(
            (finished / "results" / "mlflow-artifacts" / "1" / name / "artifacts").rglob("*.json")
        )


def test_a_server_that_is_down_fails_track_alone_with_a_hint(run, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")  # where nobody listens
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    assert set(planned(succeeded(snakemake(run, "--dry-run")))) == {"track"}
    before = (run / "results" / "mlflow.db").read_bytes()
    done = snakemake(run)
    assert done.returncode != 0
    assert "the results are safe" in done.stdout + done.stderr
    assert (run / "results" / "mlflow.db").read_bytes() == before
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    assert set(planned(succeeded(snakemake(run, "--dry-run")))) == {"track"}
