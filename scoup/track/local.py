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

from scoup.track.log import DIGEST_TAG, EXPERIMENT_TAGS, log_run, mark_finished
from scoup.track.runs import TrackedRun

DATABASE, ARTIFACTS = "mlflow.db", "mlflow-artifacts"
EXPERIMENT_ID = "1"  # the first that a new store creates
_SCRATCH_PREFIX = ".mlflow-building-"


def build(runs: Sequence[TrackedRun], folder: Path, name: str) -> dict[str, Any]:
    """Build ``folder/mlflow.db`` from ``runs``, unless it holds exactly these already."""
    digests = [run.digest for run in runs]
    digest = hashlib.sha256("\n".join(digests).encode()).hexdigest()
    with _locked(folder):
        for leftover in folder.glob(f"{_SCRATCH_PREFIX}*"):  # of a build that was killed
            shutil.rmtree(leftover, ignore_errors=True)
        if current_digest(folder) == digest:
            os.utime(folder / DATABASE)
        else:
            _build(runs, digests, folder, name, digest)
        _remove_stale_artifacts(folder)
    store = {"store": DATABASE, "experiment": name, "experiment_id": EXPERIMENT_ID}
    return {**store, "runs": len(runs), "digest": digest}


def _build(
    runs: Sequence[TrackedRun], digests: Sequence[str], folder: Path, name: str, digest: str
) -> None:
    from mlflow.tracking import MlflowClient

    artifacts = _artifacts(folder)
    with TemporaryDirectory(prefix=_SCRATCH_PREFIX, dir=folder) as scratch, _unsynced():
        database, pending = Path(scratch, DATABASE), Path(scratch, EXPERIMENT_ID)
        client = MlflowClient(f"sqlite:///{database.absolute()}")
        tags = {**EXPERIMENT_TAGS, DIGEST_TAG: digest}
        experiment = client.create_experiment(name, f"mlflow-artifacts:/{EXPERIMENT_ID}", tags)
        for run, run_digest in zip(runs, digests, strict=True):
            run_id = log_run(client, experiment, run, run_digest)
            _place_artifacts(run, pending / run_id / "artifacts")
            mark_finished(client, run_id, run)
        artifacts.mkdir(parents=True, exist_ok=True)
        for run_folder in pending.iterdir():
            os.replace(run_folder, artifacts / run_folder.name)
        with open(database, "rb") as file:
            os.fsync(file)
        os.replace(database, folder / DATABASE)


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
            query = "SELECT value FROM experiment_tags WHERE key = ?"
            [(digest,)] = database.execute(query, (DIGEST_TAG,)).fetchall()
        return digest if _run_ids(folder) <= _artifact_names(folder) else ""
    except (sqlite3.Error, ValueError):
        return ""


def _remove_stale_artifacts(folder: Path) -> None:
    for name in _artifact_names(folder) - _run_ids(folder):
        shutil.rmtree(_artifacts(folder) / name, ignore_errors=True)


def _open(folder: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{folder / DATABASE}?mode=ro", uri=True)


def _run_ids(folder: Path) -> set[str]:
    with closing(_open(folder)) as database:
        return {run_id for (run_id,) in database.execute("SELECT run_uuid FROM runs")}


def _artifacts(folder: Path) -> Path:
    return folder / ARTIFACTS / EXPERIMENT_ID


def _artifact_names(folder: Path) -> set[str]:
    return {path.name for path in _artifacts(folder).glob("*")}


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Wait until no other build is running in this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".mlflow.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
