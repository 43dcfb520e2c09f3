"""What all tests share: repeatable examples, and one tiny run of the whole workflow."""

import fcntl
import os

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A folder in which the whole tiny workflow has run; not to be changed.

    The workers of pytest-xdist share it: the first one makes the run, the others wait.
    """
    from tests.workflow.conftest import snakemake, succeeded

    base, worker = tmp_path_factory.getbasetemp(), os.environ.get("PYTEST_XDIST_WORKER")
    folder = (base.parent if worker else base) / "finished" / "run"
    folder.parent.mkdir(exist_ok=True)
    with open(folder.parent / "lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "results" / "report.html").exists():
            succeeded(snakemake(folder, cores=2))
    return folder
