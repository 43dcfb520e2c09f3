"""The store next to the results: it is built from scratch and then replaces the old one.

``mlflow.db`` refers to artifacts by run, not by folder (``mlflow-artifacts:/...``), so that a
results folder may be moved or copied: the server is told where they are. A run that differs has
another id, so new artifacts lie next to the old ones until the database is renamed, which is the
one moment of change.
"""

import fcntl
import hashlib
import logging
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from importlib.util import cache_from_source
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mlflow
from mlflow.tracking import MlflowClient
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from scoup.errors import ScoupError
from scoup.store import atomic
from scoup.track.edits import copy_edits
from scoup.track.log import experiment_tags
from scoup.track.rows import insert_runs, run_id_of
from scoup.track.runs import TrackedExperiment, TrackedRun

log = logging.getLogger(__name__)

DATABASE, ARTIFACTS = "mlflow.db", "mlflow-artifacts"
STORE_TAG = "scoup.store"  # checksum of the whole store
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


def _build(experiments: Sequence[TrackedExperiment], folder: Path, name: str, digest: str) -> None:
    with TemporaryDirectory(prefix=_SCRATCH_PREFIX, dir=folder) as scratch:
        database, pending = Path(scratch, DATABASE), Path(scratch, ARTIFACTS)
        for number, experiment in enumerate(experiments, start=1):
            for run in experiment.runs:
                _place_artifacts(run, pending / str(number) / run_id_of(run) / "artifacts")
        _write(database, experiments, name, digest)
        for run_folder in pending.glob("*/*"):
            target = folder / ARTIFACTS / run_folder.relative_to(pending)
            if not target.exists():  # equal runs have equal ids and files
                target.parent.mkdir(parents=True, exist_ok=True)
                os.replace(run_folder, target)
        _keep_edits(folder / DATABASE, database)
        with open(database, "rb") as file:
            os.fsync(file)
        os.replace(database, folder / DATABASE)


def _write(
    database: Path, experiments: Sequence[TrackedExperiment], name: str, digest: str
) -> None:
    """Write a new store; the ids of its experiments are 1, 2, ..."""
    _start_empty(database)
    client = MlflowClient(f"sqlite:///{database.absolute()}")
    engine = create_engine(f"sqlite:///{database.absolute()}")
    for number, experiment in enumerate(experiments, start=1):
        first_run = run_id_of(experiment.runs[0])
        tags = experiment_tags(experiment, str(number), first_run) | {STORE_TAG: digest}
        location = f"mlflow-artifacts:/{number}"
        created = client.create_experiment(f"{name}/{experiment.name}", location, tags)
        with Session(engine) as session, session.begin():
            insert_runs(session, created, experiment.runs)
    engine.dispose()


def _start_empty(database: Path) -> None:
    """Copy the empty store of an earlier build, or have MLflow make it, and keep it for later ones.

    That takes seconds: MLflow repeats every change of its tables since its first version.
    """
    empty = Path(cache_from_source(__file__)).with_name(f"mlflow-{mlflow.__version__}.db")
    if empty.exists():
        shutil.copyfile(empty, database)
        return
    MlflowClient(f"sqlite:///{database.absolute()}")
    with closing(sqlite3.connect(database)) as connection, connection:
        # Not the folder of this build: the experiment that MLflow itself makes stays empty.
        connection.execute("UPDATE experiments SET artifact_location = 'mlflow-artifacts:/0'")
    with suppress(OSError, ScoupError), atomic(empty) as temporary:  # may be read-only, or full
        shutil.copyfile(database, temporary)


def _keep_edits(old: Path, new: Path) -> None:
    """Copy what a person added to the old store, just before the new one replaces it."""
    if not old.exists():
        return
    with closing(sqlite3.connect(new)) as database:
        try:
            database.execute("ATTACH ? AS old", (str(old),))
            copy_edits(database)
            database.commit()
        except sqlite3.DatabaseError as error:
            log.warning("%s is damaged (%s): notes and tags in it are lost", old, error)


def _place_artifacts(run: TrackedRun, folder: Path) -> None:
    """Link the files of a run into its folder: result files are replaced, never changed."""
    for subfolder in dict.fromkeys(["", *(subfolder for subfolder, _ in run.artifacts)]):
        (folder / subfolder).mkdir(parents=True, exist_ok=True)
    for subfolder, path in run.artifacts:
        target = folder / subfolder / Path(path).name
        try:
            os.link(path, target)
        except OSError:  # another disk, or one without links
            shutil.copyfile(path, target)


def current_digest(folder: Path) -> str:
    """Return the digest of the store in a folder; empty if it or any artifacts are missing."""
    try:
        with closing(_open(folder)) as database:
            query = "SELECT DISTINCT value FROM experiment_tags WHERE key = ?"
            [(digest,)] = database.execute(query, (STORE_TAG,)).fetchall()
        return digest if _run_ids(folder) <= {path.name for path in _artifacts(folder)} else ""
    except (sqlite3.Error, ValueError):
        return ""


def experiments(folder: Path) -> list[tuple[str, str]]:
    """Return id and name of each experiment in the store of a folder."""
    query = "SELECT experiment_id, name FROM experiments WHERE experiment_id > 0 ORDER BY 1"
    with closing(_open(folder)) as database:
        return [(str(number), name) for number, name in database.execute(query)]


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
