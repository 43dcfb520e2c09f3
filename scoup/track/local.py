"""The store next to the results: it is built from scratch and then replaces the old one.

``mlflow.db`` refers to artifacts by run, not by folder (``mlflow-artifacts:/...``), so that a
results folder may be moved or copied: the server is told where they are. Run ids differ from build
to build, so new artifacts lie next to the old ones until the database is renamed, which is the one
moment of change.
"""

import fcntl
import hashlib
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scoup.track.log import DIGEST_TAG, experiment_tags, log_run, mark_finished
from scoup.track.runs import TrackedExperiment, TrackedRun

DATABASE, ARTIFACTS = "mlflow.db", "mlflow-artifacts"
_SCRATCH_PREFIX = ".mlflow-building-"


def build(experiments: Sequence[TrackedExperiment], folder: Path, name: str) -> dict[str, Any]:
    """Build ``folder/mlflow.db`` from experiments, unless it holds exactly these already."""
    digests = [experiment.digest for experiment in experiments]
    digest = hashlib.sha256("\n".join([name, *digests]).encode()).hexdigest()
    with _locked(folder):
        for leftover in folder.glob(f"{_SCRATCH_PREFIX}*"):  # of a build that was killed
            shutil.rmtree(leftover, ignore_errors=True)
        if current_digest(folder) == digest:
            os.utime(folder / DATABASE)
        else:
            _build(experiments, folder, name, digest)
        _remove_stale_artifacts(folder)
    count = sum(len(experiment.runs) for experiment in experiments)
    return {"store": DATABASE, "experiments": name, "runs": count, "digest": digest}


def _build(
    experiments: Sequence[TrackedExperiment], folder: Path, name: str, digest: str
) -> None:
    from mlflow.tracking import MlflowClient

    with TemporaryDirectory(prefix=_SCRATCH_PREFIX, dir=folder) as scratch, _unsynced():
        database, pending = Path(scratch, DATABASE), Path(scratch, ARTIFACTS)
        client = MlflowClient(f"sqlite:///{database.absolute()}")
        for experiment in experiments:
            _log(client, experiment, f"{name}/{experiment.name}", digest, pending)
        for run_folder in pending.glob("*/*"):
            target = folder / ARTIFACTS / run_folder.relative_to(pending)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(run_folder, target)
        with open(database, "rb") as file:
            os.fsync(file)
        os.replace(database, folder / DATABASE)


def _log(
    client: Any, experiment: TrackedExperiment, name: str, digest: str, pending: Path
) -> None:
    """Log an experiment with its runs, and link their files into ``pending``."""
    number = str(len(client.search_experiments()))  # the id that MLflow gives to the next one
    experiment_id = client.create_experiment(name, f"mlflow-artifacts:/{number}")
    run_ids = []
    for run in experiment.runs:
        run_ids.append(log_run(client, experiment_id, run, run.digest))
        _place_artifacts(run, pending / number / run_ids[-1] / "artifacts")
        mark_finished(client, run_ids[-1], run)
    tags = experiment_tags(experiment, experiment_id, run_ids[0]) | {DIGEST_TAG: digest}
    for key, value in tags.items():
        client.set_experiment_tag(experiment_id, key, value)


@contextmanager
def _unsynced() -> Iterator[None]:
    """Let sqlite not wait for the disk at thousands of commits: a broken build is discarded."""
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    def relax(connection: sqlite3.Connection, _: Any) -> None:
        connection.execute("PRAGMA synchronous = OFF")

    event.listen(Engine, "connect", relax)
    try:
        yield
    finally:
        event.remove(Engine, "connect", relax)


def _place_artifacts(run: TrackedRun, folder: Path) -> None:
    """Link the files of a run into its folder: result files are replaced, never changed."""
    folder.mkdir(parents=True)
    for subfolder, path in run.artifacts:
        target = folder / subfolder / Path(path).name
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, target)
        except OSError:  # another disk, or one without links
            shutil.copyfile(path, target)


def current_digest(folder: Path) -> str:
    """Return the digest of the store in a folder; empty if it or any artifacts are missing."""
    try:
        with closing(_open(folder)) as database:
            query = "SELECT DISTINCT value FROM experiment_tags WHERE key = ?"
            [(digest,)] = database.execute(query, (DIGEST_TAG,)).fetchall()
        return digest if _run_ids(folder) <= {path.name for path in _artifacts(folder)} else ""
    except (sqlite3.Error, ValueError):
        return ""


def _remove_stale_artifacts(folder: Path) -> None:
    run_ids = _run_ids(folder)
    for path in _artifacts(folder):
        if path.name not in run_ids:
            shutil.rmtree(path, ignore_errors=True)


def _open(folder: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{folder / DATABASE}?mode=ro", uri=True)


def _run_ids(folder: Path) -> set[str]:
    with closing(_open(folder)) as database:
        return {run_id for (run_id,) in database.execute("SELECT run_uuid FROM runs")}


def _artifacts(folder: Path) -> list[Path]:
    """Return the folders of all runs that have artifacts."""
    return list((folder / ARTIFACTS).glob("*/*"))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Wait until no other build is running in this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".mlflow.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
