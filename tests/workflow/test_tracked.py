"""The stage track in the workflow: it alone fails where a server is down, and nothing is lost."""

import json
import sqlite3
from collections import Counter

from tests.workflow.conftest import planned, snakemake, succeeded


def test_every_experiment_is_there_with_few_metric_names_and_complete_runs(finished):
    results = finished / "results"
    receipt = json.loads((results / "track.json").read_text())
    with sqlite3.connect(f"file:{results}/mlflow.db?mode=ro", uri=True) as base:
        rows = base.execute(
            "SELECT e.name, r.experiment_id, run_uuid, status, start_time, end_time"
            " FROM runs r JOIN experiments e ON e.experiment_id = r.experiment_id"
        ).fetchall()
        names = base.execute(
            "SELECT DISTINCT experiment_id, key FROM latest_metrics m"
            " JOIN runs r ON r.run_uuid = m.run_uuid"
        ).fetchall()
    assert len(rows) == receipt["runs"]
    measured = {path.name for path in (results / "experiments").iterdir()}
    stages = {"scorecard", "fit", "merge"}
    assert {name for name, *_ in rows} == {f"scoup/{name}" for name in measured | stages}
    for _, experiment, run_id, status, start, end in rows:
        assert (status, start <= end) == ("FINISHED", True)
        artifacts = results / "mlflow-artifacts" / str(experiment) / run_id / "artifacts"
        assert any(path.is_file() for path in artifacts.rglob("*"))
    assert max(Counter(experiment for experiment, _ in names).values()) <= 12
    assert len({key for _, key in names}) <= 40


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
