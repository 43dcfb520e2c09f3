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
from hypothesis import given
from hypothesis import strategies as st

from scoup.errors import ScoupError
from scoup.evidence import Metric
from scoup.experiments._view import View
from scoup.track import Sources, local, track
from scoup.track.collect import collect
from scoup.track.log import log_run, mark_finished
from scoup.track.points import Point, names, split
from scoup.track.runs import SYSTEM_PREFIX
from tests import tracked, whole
from tests.tracked import sources

RUN = "accuracy/brainq/whole/scoup/seed{}/finish=none/merge={}"


@pytest.fixture(autouse=True)
def _no_server(monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    # A pooled connection would still read a store that has been replaced.
    monkeypatch.setenv("MLFLOW_SQLALCHEMYSTORE_POOLCLASS", "NullPool")


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


def client(database="results/mlflow.db"):
    from mlflow.tracking import MlflowClient

    return MlflowClient(f"sqlite:///{Path(database).absolute()}")


def logged(database="results/mlflow.db"):
    """Return ``{key: run}`` of the store, having seen that no key is there twice."""
    reader = client(database)
    ids = [experiment.experiment_id for experiment in reader.search_experiments()]
    runs = reader.search_runs(ids, max_results=5000)
    keys = [run.data.tags["scoup.key"] for run in runs]
    assert len(keys) == len(set(keys))
    return dict(zip(keys, runs, strict=True))


def content(path="results/mlflow.db"):
    """Return every row of the database."""
    with sqlite3.connect(path) as base:
        tables = [
            name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        return {name: base.execute(f"SELECT * FROM {name}").fetchall() for name in tables}


def complete_keys(path="results"):
    """Return the keys of a store, each of whose runs is finished and has its files."""
    with sqlite3.connect(f"file:{path}/mlflow.db?mode=ro", uri=True) as base:
        rows = base.execute(
            "SELECT r.experiment_id, r.run_uuid, r.status, t.value FROM runs r"
            " JOIN tags t ON r.run_uuid = t.run_uuid WHERE t.key = 'scoup.key'"
        ).fetchall()
    for experiment, identity, status, _ in rows:
        assert status == "FINISHED"
        artifacts = Path(path, "mlflow-artifacts", str(experiment), identity, "artifacts")
        assert any(file.is_file() for file in artifacts.rglob("*"))
    return sorted(key for *_, key in rows)


def relative_cost(run):
    return run.data.metrics["relative_cost"]


# What a run says.


def test_a_run_says_everything(stored):
    run = logged()[RUN.format(1, "joint")]
    assert run.info.run_name == "joint seed 1"
    assert (run.info.start_time, run.info.end_time) == (1700000001000, 1700000006000)
    params = {"merge": "joint", "finish": "none", "plan": "scoup", "seed": "1"}
    params |= {"plan.rank": "2", "plan.sampling": "[2, 3, 1]", "variant.fraction": "0.0"}
    assert run.data.params | params | {"dataset.size": "tiny"} == run.data.params
    tags = {"data": "simulated", "host": "here", "threads": "1", "version": "0.1.0"}
    tags |= {"revision": "abc1234-dirty", "source": "simulate"}
    assert run.data.tags | tags == run.data.tags
    assert "mlflow.parentRunId" not in run.data.tags  # MLflow draws no charts of nested runs
    assert "mlflow.note.content" not in run.data.tags  # the note is for people
    [entry] = run.inputs.dataset_inputs
    assert entry.dataset.name == "brainq"
    assert tracked.RAW.sha256 in entry.dataset.source


def test_repetitions_and_sweeps_are_steps(stored):
    run = logged()[RUN.format(0, "joint")]
    history = client().get_metric_history(run.info.run_id, "relative_cost")
    assert [(point.step, point.value) for point in history] == [(1, 2.0), (2, 1.5), (3, 1 + 1 / 3)]
    assert relative_cost(run) == 1 + 1 / 3
    assert run.data.metrics["monotone"] == 1.0
    fit = logged()["fit/brainq/whole/scoup/seed0/repetition=1"]
    losses = client().get_metric_history(fit.info.run_id, "loss")
    assert [(point.step, point.value) for point in losses] == [(1, 3.0), (2, 2.0), (3, 2.0)]


def test_a_bulk_store_reads_like_one_that_the_client_logged(stored, tmp_path):
    """The rows are written without MLflow's client; MLflow must not be able to tell."""
    slow = client(tmp_path / "slow.db")
    for experiment in collect(sources()):
        number = slow.create_experiment(f"scoup/{experiment.name}")
        for run in experiment.runs:
            mark_finished(slow, log_run(slow, number, run, {}), run)
    fast, slow_runs = logged(), logged(tmp_path / "slow.db")
    assert fast.keys() == slow_runs.keys()
    for key, run in fast.items():
        other = slow_runs[key]
        for part in ("metrics", "params", "tags"):
            assert getattr(run.data, part) == getattr(other.data, part)
        own = {"run_id", "run_uuid", "artifact_uri"}
        info, other_info = (dict(item.info) for item in (run, other))
        assert {k: v for k, v in info.items() if k not in own} == {
            k: v for k, v in other_info.items() if k not in own
        }
        inputs, others = (item.inputs.dataset_inputs for item in (run, other))
        assert [(dict(entry.dataset), [dict(tag) for tag in entry.tags]) for entry in inputs] == [
            (dict(entry.dataset), [dict(tag) for tag in entry.tags]) for entry in others
        ]
        for name in run.data.metrics:
            histories = [
                [(point.step, point.value, point.timestamp) for point in history]
                for history in (
                    client().get_metric_history(run.info.run_id, name),
                    slow.get_metric_history(other.info.run_id, name),
                )
            ]
            assert histories[0] == histories[1]


def test_artifacts_lie_where_a_server_looks_for_them_and_survive_a_move(copied):
    run = logged()[RUN.format(0, "joint")]
    place = f"{run.info.experiment_id}/{run.info.run_id}/artifacts"
    assert run.info.artifact_uri == f"mlflow-artifacts:/{place}"
    root = Path("results/mlflow-artifacts", place)
    files = sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
    logs = ["log/seed0.json", "log/seed0.log"]
    assert files == ["figures/accuracy.png", "figures/accuracy.svg", *logs, "metrics/seed0.json"]
    assert (root / "metrics/seed0.json").read_bytes() == tracked.path_of(".", 0).read_bytes()
    count = len(complete_keys())
    shutil.move("results", "elsewhere")
    assert len(complete_keys("elsewhere")) == count


def test_one_experiment_each_with_a_question_and_the_meaning_of_its_metrics(stored):
    reader = client()
    named = {e.name: e for e in reader.search_experiments() if e.name != "Default"}
    stages = ["accuracy", "fit", "missing", "scorecard"]
    assert sorted(named) == [f"scoup/{stage}" for stage in stages]
    note = named["scoup/accuracy"].tags["mlflow.note.content"]
    assert "**Asked.**" in note
    assert "| relative_cost | ratio | lower | cost over that of full ALS |" in note
    assert "more repetitions never raise the cost" in note
    assert "/artifacts/figures/accuracy.png" in note


def test_the_scorecard_has_a_run_per_claim(stored):
    runs = {key: run for key, run in logged().items() if key.startswith("scorecard/")}
    assert len(runs) == 2
    [run] = [run for run in runs.values() if run.data.tags["verdict"] == "does not hold"]
    assert run.data.metrics == {"ours": 0.25, "bar": 0.9, "control": 0.1}
    assert run.data.tags["paper"] == "1"
    assert run.data.tags["data"] == "simulated"


def test_lost_facts_lose_only_what_they_said(folder):
    shutil.rmtree("results/logs")
    run = collect(sources())[1].runs[0]
    assert run.tags["revision"] == "unknown"
    assert run.ended == round(1000 * tracked.path_of(".", 0).stat().st_mtime)


# A whole run.


@pytest.fixture(scope="module")
def whole_store(tmp_path_factory):
    made = tmp_path_factory.mktemp("whole") / "results"
    return collect(whole.make(made))


def test_metric_names_are_few_and_no_number_is_lost(whole_store):
    names_of = {
        experiment.name: {point.name for run in experiment.runs for point in run.points}
        for experiment in whole_store
    }
    assert max(map(len, names_of.values())) <= 12
    assert len(set().union(*names_of.values())) <= 40
    for experiment, (datasets, seeds, *_) in whole.LAYOUT.items():
        [runs] = [e.runs for e in whole_store if e.name == experiment]
        points = ((run.key, point) for run in runs for point in run.points)
        places = {
            (key, point.name, point.step)
            for key, point in points
            if not point.name.startswith(SYSTEM_PREFIX)
        }
        metrics = whole.metrics_of(experiment, datasets[0], 0)
        shared = 2 * (len(runs) - 1) if experiment == "leave_two_out" else 0
        assert len(places) == len(datasets) * seeds * len(metrics) + shared


def test_run_keys_and_names_are_unique(whole_store):
    for experiment in whole_store:
        for unique in ("key", "name"):
            claimed = [run.params.get("experiment", "") for run in experiment.runs]
            values = [
                (getattr(run, unique), of) for run, of in zip(experiment.runs, claimed, strict=True)
            ]
            assert len(values) == len(set(values)), experiment.name


# Two builds.


def test_running_again_changes_nothing_but_the_time_of_the_build(copied):
    first = track(sources(), "results")
    before = content()
    os.utime("results/mlflow.db", (1, 1))
    assert track(sources(), "results") == first
    assert content() == before
    assert Path("results/mlflow.db").stat().st_mtime > 1


def test_a_store_built_anew_has_the_same_runs_with_the_same_ids(copied):
    before = {key: run.info.run_id for key, run in logged().items()}
    Path("results/mlflow.db").unlink()
    track(sources(), "results")
    assert {key: run.info.run_id for key, run in logged().items()} == before


def test_a_changed_result_replaces_its_run_and_leaves_no_files_behind(copied):
    count = len(complete_keys())
    tracked.write_run(".", 0, value=5.0)
    track(sources(), "results")
    assert relative_cost(logged()[RUN.format(0, "joint")]) == 5 + 1 / 3
    assert len(list(Path("results/mlflow-artifacts").glob("*/*"))) == count
    assert not list(Path("results").glob(".mlflow-building-*"))


def test_what_a_person_added_survives_a_rebuild(copied):
    key = RUN.format(0, "joint")
    writer, run_id = client(), logged()[key].info.run_id
    writer.set_tag(run_id, "mlflow.note.content", "look at this one")
    writer.set_tag(run_id, "checked", "yes")
    writer.set_tag(run_id, "data", "doubtful")
    writer.update_run(run_id, name="the good one")
    experiment = writer.get_experiment_by_name("scoup/accuracy").experiment_id
    writer.set_experiment_tag(experiment, "mlflow.note.content", "my own words")
    tracked.write_run(".", 0, value=5.0)
    for _ in range(2):
        track(sources(), "results")
        run = logged()[key]
        assert relative_cost(run) == 5 + 1 / 3
        assert run.info.run_name == "the good one"
        tags = {"mlflow.note.content": "look at this one", "checked": "yes", "data": "doubtful"}
        assert run.data.tags | tags == run.data.tags
        words = client().get_experiment(experiment).tags["mlflow.note.content"]
        assert words == "my own words"
        assert "checked" not in logged()[RUN.format(1, "joint")].data.tags
        tracked.write_run(".", 1, value=6.0)


def test_a_damaged_store_is_rebuilt(copied, caplog):
    Path("results/mlflow.db").write_bytes(b"no database" * 1000)
    track(sources(), "results")
    assert len(complete_keys()) > 4
    assert "notes and tags in it are lost" in caplog.text


def test_lost_artifacts_are_made_again(copied):
    count = len(complete_keys())
    shutil.rmtree("results/mlflow-artifacts")
    track(sources(), "results")
    assert len(complete_keys()) == count


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
        for name in ("_write", "_keep_edits", "_remove_stale_artifacts"):
            setattr(local, name, partial(dying, getattr(local, name)))
        track(sources(), "results")
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def test_a_build_killed_at_any_moment_leaves_the_old_store_or_the_new(copied):
    old, count = Path("results/mlflow.db").read_bytes(), len(complete_keys())
    tracked.write_run(".", 0, value=5.0)
    # Write the store, rename the files of two new runs (kept if killed later), then copy edits,
    # rename the database and clean up.
    for moment in (0, 1, 2, 2):
        assert killed_at(moment)
        assert Path("results/mlflow.db").read_bytes() == old
        assert len(complete_keys()) == count
    assert killed_at(3)
    assert relative_cost(logged()[RUN.format(0, "joint")]) == 5 + 1 / 3
    assert not killed_at(4)
    assert len(list(Path("results/mlflow-artifacts").glob("*/*"))) == count == len(complete_keys())
    assert not list(Path("results").glob(".mlflow-building-*"))


def test_files_of_parallel_jobs_are_in_the_store_once_each(folder):
    with ProcessPoolExecutor(8) as jobs:
        list(jobs.map(partial(tracked.write_run, "."), range(40)))
    track(sources(), "results")
    expected = {RUN.format(seed, merge) for seed in range(40) for merge in ("joint", "paper")}
    assert {key for key in complete_keys() if key.startswith("accuracy")} == expected


def test_a_job_listed_twice_or_with_an_unknown_key_is_refused(folder):
    job = sources().jobs[0]
    with pytest.raises(ScoupError, match="jobs: expected each job once, got accuracy of brainq"):
        Sources(jobs=[job, job])
    with pytest.raises(ScoupError, match="perhaps 'metrics' was meant"):
        Sources(jobs=[{**job.to_dict(), "metric": "a.json"}])


# From metrics to runs.


def measured(name="cost", seed=0, **at):
    return Metric(name, 1.0, "", "lower", (None, None), "", "x", "d", "v", "p", seed, "real", at)


def test_coordinates_are_parameters_and_one_of_them_the_steps():
    metrics = [measured(workers=n, rank=r) for n in (1, 2) for r in (3, 4)]
    things = split(metrics, View(steps="rank"))
    assert [thing.at for thing in things] == [{"workers": 1}, {"workers": 2}]
    assert things[0].points == (Point("cost", 1.0, 3), Point("cost", 1.0, 4))
    assert len(split(metrics, View())) == 4


def test_a_control_is_a_run_of_the_measure_that_it_controls():
    things = split([measured("relative_cost"), measured("control_cost", control="random")], View())
    assert [thing.points[0].name for thing in things] == ["relative_cost", "relative_cost"]
    assert things[1].at == {"control": "random"}


def test_shared_numbers_are_with_every_run_of_their_job():
    metrics = [measured(subject=s, seed=n) for s in "ab" for n in (0, 1)] + [measured("chance")]
    things = split(metrics, View(shared=("chance",)))
    assert [len(thing.points) for thing in things] == [2, 1, 2, 1]
    [alone] = split([measured("chance")], View(shared=("chance",)))
    assert alone.points == (Point("chance", 1.0),)


coordinates = st.fixed_dictionaries(
    {}, optional={"finish": st.sampled_from("ab"), "workers": st.integers(1, 3), "r": st.just(1)}
)


@given(st.lists(st.tuples(coordinates, st.integers(0, 2)), unique_by=str))
def test_every_number_is_in_one_run_whose_name_is_unique(places):
    things = split([measured(seed=seed, **at) for at, seed in places], View(steps="r"))
    assert sum(len(thing.points) for thing in things) == len(places)
    assert len({thing.key for thing in things}) == len(things)
    assert len(set(names(things))) == len(things)


def test_the_digest_follows_everything_a_run_says(folder):
    first = collect(sources())[1].runs[0]
    before = first.digest
    assert collect(sources())[1].runs[0].digest == before
    assert replace(first, name="other").digest != before
    Path("results/figures/accuracy.png").write_bytes(b"other")
    assert collect(sources())[1].runs[0].digest != before


def test_a_store_that_is_not_there_is_a_hint(tmp_path):
    from scoup.track import ui

    with pytest.raises(ScoupError, match="scoup run builds it, and with --forcerun track"):
        ui.serve(tmp_path, 5000)
