"""Tracking on a real MLflow server: every run is active once, even after an interruption."""

import subprocess
import sys
from pathlib import Path

import pytest

from scoup.errors import ScoupError
from scoup.track import server as remote
from scoup.track import track
from tests import served, tracked
from tests.tracked import sources

KEYS = ["accuracy/brainq/whole/scoup/seed0", "accuracy/brainq/whole/scoup/seed1", "scorecard"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A results folder, and the port that a server will listen on."""
    port = served.free_port()
    monkeypatch.chdir(tracked.make(tmp_path / "run"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://{served.ui.HOST}:{port}")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    return tmp_path / "server", port


def active(port):
    """Return ``[key]`` of all active runs of the experiment."""
    from mlflow.tracking import MlflowClient

    client = MlflowClient(f"http://{served.ui.HOST}:{port}")
    experiment = client.get_experiment_by_name("scoup").experiment_id
    return sorted(
        run.data.tags["scoup.key"] for run in client.search_runs([experiment], max_results=1000)
    )


def test_a_server_that_is_down_is_a_sentence_and_loses_nothing(folder):
    before = sorted(Path("results").rglob("*"))
    with pytest.raises(
        ScoupError, match=r"MLFLOW_TRACKING_URI: expected the MLflow server .* the results are safe"
    ):
        track(sources(), "results")
    assert sorted(Path("results").rglob("*")) == before


def test_logged_again_broken_off_and_resumed_every_run_is_there_once(folder, monkeypatch):
    place, port = folder
    server = served.start(place, port)
    try:
        assert track(sources(), "results")["sent"] == 3
        assert active(port) == KEYS
        assert track(sources(), "results")["sent"] == 0
        assert active(port) == KEYS

        tracked.write_run(".", 0, value=5.0)
        assert track(sources(), "results")["sent"] == 1
        assert active(port) == KEYS

        tracked.write_run(".", 1, value=5.0)

        def stopped(*_):
            served.stop(server)
            raise OSError(
                "the server was stopped after the run was told and before it was finished"
            )

        with monkeypatch.context() as patch:
            patch.setattr(remote, "mark_finished", stopped)
            with pytest.raises(ScoupError, match="the results are safe"):
                track(sources(), "results")
        server = served.start(place, port)
        assert active(port) == sorted(
            [*KEYS, KEYS[1]]
        )  # the broken one beside the one it would have replaced
        assert track(sources(), "results")["sent"] == 1
        assert active(port) == KEYS
        assert not Path("results/mlflow.db").exists()
    finally:
        served.stop(server)


def test_artifacts_reach_the_server(folder):
    from mlflow.tracking import MlflowClient

    place, port = folder
    server = served.start(place, port)
    try:
        track(sources(), "results")
        client = MlflowClient(f"http://{served.ui.HOST}:{port}")
        [run] = client.search_runs(["1"], "tags.`scoup.key` = 'accuracy/brainq/whole/scoup/seed0'")
        path = client.download_artifacts(run.info.run_id, "metrics/seed0.json", str(place))
        assert Path(path).read_bytes() == tracked.path_of(".", 0).read_bytes()
    finally:
        served.stop(server)


def listeners(port):
    """Return the addresses, as the kernel writes them, on which somebody listens at a port."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            _, local, _, state = line.split()[:4]
            if state == "0A" and int(local.split(":")[1], 16) == port:
                found.add(local.split(":")[0])
    return found


@pytest.mark.skipif(
    not Path("/proc/net/tcp").exists(), reason="needs /proc to see who listens where"
)
def test_make_ui_prints_the_page_of_the_runs_and_listens_on_loopback_only(folder, monkeypatch):
    _, port = folder
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    track(sources(), "results")
    command = [sys.executable, "-m", "scoup.track", "ui", "--port", str(port)]
    shown = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        line = next(line for line in shown.stdout if "MLflow shows the runs" in line)
        assert served.ui.page(port) in line
        assert listeners(port) == {"0100007F"}
        busy = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (busy.returncode, f"make ui PORT={port + 1}" in busy.stderr) == (1, True)
    finally:
        shown.terminate()
        shown.wait(timeout=60)
    assert listeners(port) == set()
