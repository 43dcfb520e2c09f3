"""Tracking on a real MLflow server: every run is active once, even after an interruption."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from scoup.errors import ScoupError
from scoup.track import EXPERIMENT, server, track
from scoup.track.__main__ import main
from scoup.track.collect import collect
from tests import served, tracked
from tests.tracked import sources

RUN = "accuracy/brainq/whole/scoup/seed{}/finish=none/merge={}"


@pytest.fixture(scope="module")
def served_port(tmp_path_factory):
    """The port of a server on an empty store; starting one takes longer than a test."""
    with served.serving(tmp_path_factory.mktemp("server")) as port:
        yield port


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A results folder, which is also the working folder, as in a job."""
    monkeypatch.chdir(tracked.make(tmp_path / "run"))
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)


@pytest.fixture
def port(folder, served_port, monkeypatch):
    """The port of the server that the runs are sent to."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://{served.ui.HOST}:{served_port}")
    return served_port


def client_of(port):
    from mlflow.tracking import MlflowClient

    return MlflowClient(f"http://{served.ui.HOST}:{port}")


def active(port):
    """Return ``{key: [run]}`` of all active runs of the experiments that are sent."""
    client, runs = client_of(port), {}
    name = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
    experiments = client.search_experiments(filter_string=f"name LIKE '{name}/%'")
    ids = [experiment.experiment_id for experiment in experiments]
    for run in client.search_runs(ids, max_results=1000):
        runs.setdefault(run.data.tags["scoup.key"], []).append(run)
    return runs


def counts(port):
    """Return how often each key is active."""
    return {key: len(runs) for key, runs in active(port).items()}


def once():
    """Return what the server must show: every key once."""
    return {run.key: 1 for experiment in collect(sources()) for run in experiment.runs}


def test_a_server_that_is_down_is_a_sentence_and_loses_nothing(folder, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://{served.ui.HOST}:{served.free_port()}")
    before = sorted(Path("results").rglob("*"))
    with pytest.raises(
        ScoupError, match=r"MLFLOW_TRACKING_URI: expected the MLflow server .* the results are safe"
    ):
        track(sources(), "results")
    assert sorted(Path("results").rglob("*")) == before


def test_every_run_is_there_once_and_edits_are_kept(port, tmp_path):
    key = RUN.format(0, "joint")
    assert track(sources(), "results")["sent"] == len(once())
    assert counts(port) == once()
    assert track(sources(), "results")["sent"] == 0

    client, [run] = client_of(port), active(port)[key]
    path = client.download_artifacts(run.info.run_id, "metrics/seed0.json", str(tmp_path))
    assert Path(path).read_bytes() == tracked.path_of(".", 0).read_bytes()
    client.set_tag(run.info.run_id, "mlflow.note.content", "look at this one")
    client.set_tag(run.info.run_id, "checked", "yes")
    tracked.write_run(".", 0, value=5.0)
    assert track(sources(), "results")["sent"] == 2  # both merges of the seed
    assert counts(port) == once()
    [run] = active(port)[key]
    assert run.data.metrics["relative_cost"] == 5 + 1 / 3
    assert run.data.tags["mlflow.note.content"] == "look at this one"
    assert run.data.tags["checked"] == "yes"

    tracked.write_run(".", 0, value=6.0, revision="fed4321")
    track(sources(), "results")
    revisions = {run.data.tags["revision"] for run in active(port)[key]}
    assert revisions == {"abc1234-dirty", "fed4321"}  # results of other code stay
    assert not Path("results/mlflow.db").exists()


def killed_after(finished_runs):
    """Track in a child process that is killed (-9) once the run after so many is logged."""
    child = os.fork()
    if not child:
        finish, left = server.mark_finished, iter(range(finished_runs))

        def dying(*arguments):
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            return finish(*arguments)

        server.mark_finished = dying
        try:
            track(sources(), "results")
        finally:
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def test_a_track_killed_in_the_middle_is_resumed_three_times_of_three(port, monkeypatch):
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "killed")  # nothing is there of other tests
    for attempt, finished_runs in enumerate((0, 1, 3)):
        for seed in (0, 1):
            tracked.write_run(".", seed, value=1.0 + attempt)
        assert killed_after(finished_runs)
        assert counts(port) != once()
        track(sources(), "results")
        assert counts(port) == once()
        assert track(sources(), "results")["sent"] == 0


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
def test_make_ui_prints_the_page_of_the_runs_and_listens_on_loopback_only(
    folder, monkeypatch, capsys
):
    port = served.free_port()
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    track(sources(), "results")
    command = [sys.executable, "-m", "scoup.track", "ui", "--port", str(port)]
    shown = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        pages = served.ui.pages(Path("results"), port)
        assert set(pages) == {"scoup/accuracy", "scoup/fit", "scoup/scorecard"}
        printed = iter(shown.stdout)
        for name, page in pages.items():
            line = next(line for line in printed if name in line)
            assert page in line
        assert listeners(port) == {"0100007F"}
        assert main(["ui", "--port", str(port)]) == 1  # the port is taken
        assert f"--port {port + 1}`" in capsys.readouterr().err
    finally:
        shown.terminate()
        shown.wait(timeout=60)
    assert listeners(port) == set()
