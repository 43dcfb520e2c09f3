"""What all tests share: repeatable examples, their order, and one tiny run of the workflow."""

import fcntl
import os

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")

# The files that take longest, first: whoever started one of them last would end alone. Each file
# runs in one worker (--dist loadfile), so that what its tests share is made once. The first makes
# the tiny run; the next four do without it, so that nobody waits.
LONGEST_FIRST = (
    "tests/workflow/test_runs.py",
    "tests/browser/test_runs.py",
    "tests/test_docs.py",
    "tests/test_kernels.py",
    "tests/test_commands.py",
    "tests/browser/test_charts.py",
    "tests/workflow/test_faults.py",
    "tests/workflow/test_corridor.py",
    "tests/test_recipes.py",
    "tests/workflow/test_files_run.py",
    "tests/workflow/test_damage.py",
    "tests/workflow/test_forks.py",
    "tests/workflow/test_tracked.py",
    "tests/browser/test_report_page.py",
    "tests/test_merge.py",
    "tests/test_track_server.py",
    "tests/test_track.py",
    "tests/cluster/test_kubernetes.py",
)


def pytest_collection_modifyitems(items):
    """Let the longest files begin; --no-loadscope-reorder then keeps the order."""
    order = {name: position for position, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: order.get(item.nodeid.partition("::")[0], len(order)))


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
