"""Tracking: every run once, the old store or the new one, and numbers a reviewer can find."""

import os
import shutil
import signal
import sqlite3
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from scoup.errors import ScoupError
from scoup.records import Metric
from scoup.track import Sources, local, track
from scoup.track.names import Point, name_points
from scoup.track.runs import collect
from tests import tracked
from tests.tracked import sources


@pytest.fixture(autouse=True)
def _no_server(monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A results folder of two seeds, which is also the working folder, as in a job."""
    monkeypatch.chdir(tracked.make(tmp_path))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A results folder with its store, not to be changed: building one costs MLflow two seconds."""
    made = tracked.make(tmp_path_factory.mktemp("finished"))
    tracked.write_run(made, 0, experiment="missing")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        track(sources(), "results")
    return made


@pytest.fixture
def stored(finished, monkeypatch):
    """Stand in the finished folder and read it."""
    monkeypatch.chdir(finished)


@pytest.fixture
def copied(finished, tmp_path, monkeypatch):
    """Stand in a copy of the finished folder that a test may change."""
    shutil.copytree(finished, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")


def client():
    from mlflow.tracking import MlflowClient

    return MlflowClient(f"sqlite:///{Path('results/mlflow.db').absolute()}")


def logged():
    """Return ``{key: run}`` of the store, having seen that no key is there twice."""
    runs = client().search_runs(["1"], max_results=5000)
    keys = [run.data.tags["scoup.key"] for run in runs]
    assert len(keys) == len(set(keys))
    return dict(zip(keys, runs, strict=True))


def content(path="results/mlflow.db"):
    """Return every row of the database."""
    with sqlite3.connect(path) as base:
        names = [
            name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        return {name: base.execute(f"SELECT * FROM {name}").fetchall() for name in names}


def whole(path="results"):
    """Return the keys of a store, each of whose runs is finished and has its metrics file."""
    with sqlite3.connect(f"file:{path}/mlflow.db?mode=ro", uri=True) as base:
        rows = base.execute(
            "SELECT r.run_uuid, r.status, t.value FROM runs r"
            " JOIN tags t ON r.run_uuid = t.run_uuid WHERE t.key = 'scoup.key'"
        ).fetchall()
    for identity, status, key in rows:
        assert status == "FINISHED"
        assert key == "scorecard" or list(
            Path(path, "mlflow-artifacts/1", identity, "artifacts/metrics").iterdir()
        )
    return sorted(key for _, _, key in rows)


def test_a_run_says_everything(stored):
    run = logged()["accuracy/brainq/whole/scoup/seed1"]
    assert run.info.run_name == "accuracy scoup seed1 brainq"
    assert (run.info.start_time, run.info.end_time) == (1700000001000, 1700000006000)
    assert (
        run.data.params | {"rank": "2", "sampling": "[2, 3, 1]", "fraction": "0.0"}
        == run.data.params
    )
    assert run.data.params["dataset.size"] == "tiny"
    wanted = {
        "experiment": "accuracy",
        "data": "simulated",
        "host": "here",
        "threads": "1",
        "version": "0.1.0",
    }
    wanted |= {
        "revision": "abc1234-dirty",
        "source": "simulate",
        "sha256/raw.txt": tracked.RAW.sha256,
    }
    assert run.data.tags | wanted == run.data.tags
    assert run.data.tags["mlflow.note.content"].startswith("**Simulated data.**")
    assert "mlflow.parentRunId" not in run.data.tags  # nested runs would be folded away
    [entry] = run.inputs.dataset_inputs
    assert entry.dataset.name == "brainq"
    assert tracked.RAW.sha256 in entry.dataset.source


def test_numbers_over_repetitions_and_losses_are_stepped(stored):
    run = logged()["accuracy/brainq/whole/scoup/seed0"]
    history = client().get_metric_history(run.info.run_id, "relative_cost/joint")
    assert [(point.step, point.value) for point in history] == [(1, 2.0), (2, 1.5), (3, 1 + 1 / 3)]
    losses = client().get_metric_history(run.info.run_id, "loss/rep1")
    assert [(point.step, point.value) for point in losses] == [(1, 3.0), (2, 2.0), (3, 2.0)]
    assert run.data.metrics["monotone/joint"] == 1.0


def test_artifacts_lie_where_a_server_looks_for_them_and_survive_a_move(copied):
    run = logged()["accuracy/brainq/whole/scoup/seed0"]
    assert run.info.artifact_uri == f"mlflow-artifacts:/1/{run.info.run_id}/artifacts"
    root = Path("results/mlflow-artifacts/1", run.info.run_id, "artifacts")
    found = sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
    factors = ["factors/rep0.npz", "factors/rep1.npz"]
    logs = ["log/seed0.json", "log/seed0.log"]
    assert found == [*factors, "figures/accuracy.png", *logs, "metrics/seed0.json"]
    assert (root / "metrics/seed0.json").read_bytes() == tracked.path_of(".", 0).read_bytes()
    shutil.move("results", "elsewhere")
    assert len(whole("elsewhere")) == 4


def test_the_scorecard_is_a_run_of_its_own(stored):
    run = logged()["scorecard"]
    assert (
        run.data.metrics | {"claims": 2.0, "claims_hold": 1.0, "claim/02 accuracy": 0.25}
        == run.data.metrics
    )
    assert "it holds" in run.data.tags["mlflow.note.content"]


def test_a_reviewer_filters_by_experiment(stored):
    found = client().search_runs(["1"], "tags.experiment = 'accuracy'")
    assert {run.data.tags["scoup.key"] for run in found} == {
        f"accuracy/brainq/whole/scoup/seed{n}" for n in (0, 1)
    }


def test_running_again_changes_nothing_but_the_time_of_the_build(copied):
    first = track(sources(), "results")
    before = content()
    os.utime("results/mlflow.db", (1, 1))
    assert track(sources(), "results") == first
    assert content() == before
    assert Path("results/mlflow.db").stat().st_mtime > 1


def test_a_changed_result_replaces_its_run_and_leaves_no_files_behind(copied):
    tracked.write_run(".", 0, value=5.0)
    track(sources(), "results")
    assert (
        logged()["accuracy/brainq/whole/scoup/seed0"].data.metrics["relative_cost/joint"]
        == 5 + 1 / 3
    )
    assert len(list(Path("results/mlflow-artifacts/1").iterdir())) == 4
    assert not list(Path("results").glob(".mlflow-building-*"))


def test_lost_artifacts_are_made_again(copied):
    shutil.rmtree("results/mlflow-artifacts")
    track(sources(), "results")
    assert len(whole()) == 4


def test_lost_facts_lose_only_what_they_said(folder):
    shutil.rmtree("results/logs")
    [_, run, _] = collect(sources())
    assert run.tags["revision"] == "unknown"
    assert run.ended == round(1000 * tracked.path_of(".", 0).stat().st_mtime)


def killed_at(moment):
    """Build in a child process that is killed (-9) at a given step; say whether it was."""
    child = os.fork()
    if not child:
        left = iter(range(moment))

        def dying(step, *arguments):
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            return step(*arguments)

        os.replace = partial(dying, os.replace)
        for name in ("mark_finished", "_place_artifacts", "_remove_stale_artifacts"):
            setattr(local, name, partial(dying, getattr(local, name)))
        track(sources(), "results")
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def test_a_build_killed_at_any_moment_leaves_the_old_store_or_the_new(copied):
    old = Path("results/mlflow.db").read_bytes()
    tracked.write_run(".", 0, value=5.0)
    # Four runs: place and finish each, rename the files of each and the database, clean up.
    for moment in (0, 3, 7, 8, 11, 12):
        assert killed_at(moment)
        assert Path("results/mlflow.db").read_bytes() == old
        assert len(whole()) == 4
    assert killed_at(13)
    assert len(whole()) == 4
    assert (
        logged()["accuracy/brainq/whole/scoup/seed0"].data.metrics["relative_cost/joint"]
        == 5 + 1 / 3
    )
    assert not killed_at(14)
    assert len(list(Path("results/mlflow-artifacts/1").iterdir())) == 4
    assert not list(Path("results").glob(".mlflow-building-*"))


def test_files_of_parallel_jobs_are_in_the_store_once_each(folder):
    with ProcessPoolExecutor(8) as jobs:
        list(jobs.map(partial(tracked.write_run, "."), range(40)))
    track(sources(), "results")
    assert whole() == sorted(
        ["scorecard", *(f"accuracy/brainq/whole/scoup/seed{n}" for n in range(40))]
    )


def test_a_run_has_the_models_of_its_own_plan_and_variant_only(folder):
    job = sources().jobs[0]
    other = [fit.replace(plan="full") for fit in job.fits]
    merged = [
        {"plan": plan, "variant": "whole", "path": f"{plan}.npz"} for plan in ("scoup", "full")
    ]
    for name in ("scoup.npz", "full.npz"):
        Path(name).touch()
    [run] = collect(Sources(jobs=[job.replace(fits=[*other, job.fits[0]], merged=merged)]))
    factors = [path for folder, path in run.artifacts if folder == "factors"]
    assert factors == [job.fits[0].path, "scoup.npz"]
    assert {point.name for point in run.points if point.name.startswith("loss")} == {"loss/rep0"}


def test_a_job_listed_twice_or_with_an_unknown_key_is_refused(folder):
    job = sources().jobs[0]
    with pytest.raises(ScoupError, match="jobs: expected each job once, got accuracy of brainq"):
        Sources(jobs=[job, job])
    with pytest.raises(ScoupError, match="perhaps 'metrics' was meant"):
        Sources(jobs=[{**job.to_dict(), "metric": "a.json"}])


def measured(name="cost", run=0, **at):
    return Metric(name, 1.0, "", "lower", (None, None), "", "x", "d", "v", "p", run, "real", at)


def test_names_mean_the_same_in_every_run():
    runs = {
        0: [measured(workers=1, finish="none"), measured(workers=2, finish="none")],
        1: [measured(run=1, workers=1, finish="none"), measured(run=1, workers=1, finish="refit")],
    }
    named = name_points(runs)
    assert named[0][0] == [Point("cost/none", 1.0, 1), Point("cost/none", 1.0, 2)]
    assert [point.name for point in named[1][0]] == ["cost/none", "cost/refit"]


def test_what_is_fixed_in_a_run_is_a_parameter_and_fractions_are_no_steps():
    named = name_points(
        {0: [measured(fraction=0.1, weight=0.5), measured(fraction=0.1, weight=1.5)]}
    )
    points, fixed = named[0]
    assert fixed == {"fraction": 0.1}
    assert [(point.name, point.step) for point in points] == [
        ("cost/weight 0.5", 0),
        ("cost/weight 1.5", 0),
    ]


def test_numbers_measured_without_a_coordinate_keep_names_of_their_own():
    named = name_points({0: [measured(contender="grid", rank=2), measured(contender="ridge")]})
    assert [(p.name, p.step) for p in named[0][0]] == [("cost/grid", 2), ("cost/ridge", 0)]


def test_odd_characters_do_not_reach_a_name():
    [point, _] = name_points({0: [measured(pair="cow & bear"), measured(pair="a")]})[0][0]
    assert point.name == "cost/cow _ bear"


def test_the_digest_follows_everything_a_run_says(folder):
    [_, first, _] = collect(sources())
    before = first.digest
    assert collect(sources())[1].digest == before
    assert replace(first, name="other").digest != before
    Path("results/figures/accuracy.png").write_bytes(b"other")
    assert first.digest != before


def test_a_store_that_is_not_there_is_a_hint(tmp_path):
    from scoup.track import ui

    with pytest.raises(ScoupError, match="run `make reproduce` first"):
        ui.serve(tmp_path, 5000)
