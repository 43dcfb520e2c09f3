"""Local: the store beside the results, built anew and then put in place of the old one.

``mlflow.db`` names artifacts by run, not by folder (``mlflow-artifacts:/...``), so that a results folder may be moved
or copied: who serves it says where they are. Run ids differ from build to build, so the artifacts of the new store lie
beside those of the old one until the database itself is renamed, which is the one moment of change.
"""

from __future__ import annotations

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

from scoup.track.log import DIGEST, KIND, finish, log_run
from scoup.track.runs import Run

DATABASE, ARTIFACTS, _SCRATCH = "mlflow.db", "mlflow-artifacts", ".mlflow-building-"


def build(runs: Sequence[Run], folder: Path, name: str) -> dict[str, Any]:
    """Build ``folder/mlflow.db`` from ``runs``, unless it already holds exactly these."""
    digests = [run.digest for run in runs]
    whole = hashlib.sha256("\n".join(digests).encode()).hexdigest()
    with _alone(folder):
        for left in folder.glob(f"{_SCRATCH}*"):  # by a build that was killed
            shutil.rmtree(left, ignore_errors=True)
        if current(folder) == whole:
            os.utime(folder / DATABASE)
        else:
            _build(runs, digests, folder, name, whole)
        _sweep(folder)
    return {
        "store": DATABASE,
        "experiment": name,
        "experiment_id": "1",
        "runs": len(runs),
        "digest": whole,
    }


def _build(
    runs: Sequence[Run], digests: Sequence[str], folder: Path, name: str, whole: str
) -> None:
    from mlflow.tracking import MlflowClient

    with TemporaryDirectory(prefix=_SCRATCH, dir=folder) as scratch, _unsynced():
        client = MlflowClient(f"sqlite:///{Path(scratch).absolute() / DATABASE}")
        experiment = client.create_experiment(name, "mlflow-artifacts:/1", {**KIND, DIGEST: whole})
        for run, digest in zip(runs, digests, strict=True):
            made = log_run(client, experiment, run, digest)
            _place(run, Path(scratch, "1", made, "artifacts"))
            finish(client, made, run)
        (folder / ARTIFACTS / "1").mkdir(parents=True, exist_ok=True)
        for made_folder in Path(scratch, "1").iterdir():
            os.replace(made_folder, folder / ARTIFACTS / "1" / made_folder.name)
        with open(Path(scratch, DATABASE), "rb") as file:
            os.fsync(file)
        os.replace(Path(scratch, DATABASE), folder / DATABASE)


@contextmanager
def _unsynced() -> Iterator[None]:
    """Let sqlite not wait for the disk at each of thousands of commits: what breaks off is thrown away anyway."""
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    def relax(connection: sqlite3.Connection, _: Any) -> None:
        connection.execute("PRAGMA synchronous = OFF")

    event.listen(Engine, "connect", relax)
    try:
        yield
    finally:
        event.remove(Engine, "connect", relax)


def _place(run: Run, folder: Path) -> None:
    """Lay the files of a run into its artifact folder: as links, since results are replaced and never changed."""
    folder.mkdir(parents=True)
    for place, path in run.artifacts:
        target = folder / place / Path(path).name
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, target)
        except OSError:  # another disk, or one without links
            shutil.copyfile(path, target)


def current(folder: Path) -> str:
    """The digest of the store in a folder; empty where there is none or where artifacts of a run are gone."""
    try:
        with closing(sqlite3.connect(f"file:{folder / DATABASE}?mode=ro", uri=True)) as base:
            [(digest,)] = base.execute(
                "SELECT value FROM experiment_tags WHERE key = ?", (DIGEST,)
            ).fetchall()
            named = {name for (name,) in base.execute("SELECT run_uuid FROM runs")}
    except (sqlite3.Error, ValueError):
        return ""
    return digest if named <= _folders(folder) else ""


def _folders(folder: Path) -> set[str]:
    return {path.name for path in (folder / ARTIFACTS / "1").glob("*")}


def _sweep(folder: Path) -> None:
    """Delete the artifacts of runs that are no longer in the store."""
    with closing(sqlite3.connect(f"file:{folder / DATABASE}?mode=ro", uri=True)) as base:
        named = {name for (name,) in base.execute("SELECT run_uuid FROM runs")}
    for name in _folders(folder) - named:
        shutil.rmtree(folder / ARTIFACTS / "1" / name, ignore_errors=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other build is under way in this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".mlflow.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
