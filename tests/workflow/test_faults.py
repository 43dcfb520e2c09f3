"""Killed jobs and full disks leave nothing half-written; the next run ends in the same bytes."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.workflow.conftest import command, snakemake, succeeded
from tests.workflow.test_runs import digests

# A model that takes every stage up to the merge, and no more: each fault runs twice.
TARGETS = ["results/merge/brainq/whole/scoup/seed0.npz"]


def until(condition, process, seconds=120):
    """Poll until ``condition`` gives something, the process ends, or time is up."""
    limit = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < limit:
        found = condition()
        if found:
            return found
        time.sleep(0.015)  # a fit takes some ten times as long
    return None


def children(pid):
    """Return the ids of all processes below ``pid``, nearest first."""
    found = []
    with suppress(OSError):  # a process may end at any moment, between being listed and being read
        for task in os.listdir(
            f"/proc/{pid}/task"
        ):  # jobs are started by threads, each with its own list
            found += [
                int(word) for word in Path(f"/proc/{pid}/task/{task}/children").read_text().split()
            ]
    return found + [grandchild for child in found for grandchild in children(child)]


def fit_script(pid):
    """Return the id of a running job of the rule ``fit`` below ``pid``, if there is one."""
    for child in children(pid):
        try:
            with open(f"/proc/{child}/cmdline") as file:
                words = file.read()
        except OSError:
            continue
        if "fit.py" in words and "python" in words.split("\0")[0]:
            return child
    return None


def start(folder):
    folder.mkdir()
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder.parent / "cache")}
    return subprocess.Popen(
        command(folder, *TARGETS), env=environment, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def same(folder, finished):
    mine, theirs = digests(folder), digests(finished)
    assert mine
    assert mine == {name: theirs[name] for name in mine}


@pytest.mark.skipif(
    not os.path.exists("/proc/self/task"), reason="needs /proc to find the running job"
)
def test_a_killed_job_and_a_killed_run_end_in_the_same_bytes(finished, tmp_path):
    process = start(tmp_path / "run")
    job = until(lambda: fit_script(process.pid), process)
    assert job, "no fit was ever seen running"
    os.kill(job, signal.SIGKILL)
    process.wait(timeout=300)
    assert process.returncode != 0
    again = subprocess.Popen(
        command(tmp_path / "run", *TARGETS),
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
        start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until(lambda: fit_script(again.pid), again)
    os.killpg(again.pid, signal.SIGKILL)
    again.wait(timeout=60)
    succeeded(snakemake(tmp_path / "run", *TARGETS))
    same(tmp_path / "run", finished)


@pytest.fixture
def disk(tmp_path):
    """A function that mounts a disk of so many bytes and returns its folder."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(size):
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder],
            capture_output=True,
            check=False,
        )
        if made.returncode:
            pytest.skip("needs root to mount a small tmpfs")
        return folder

    yield mount
    subprocess.run(["umount", "-l", folder], capture_output=True, check=False)


def bytes_of(*folders):
    return sum(
        path.stat().st_size for folder in folders for path in folder.rglob("*") if path.is_file()
    )


def test_a_full_disk_is_a_clear_error_and_leaves_no_truncated_result(finished, disk):
    """It is too small for the raw data first, then for the fits, then large enough."""
    results, theirs = finished / "results", digests(finished)
    raw = bytes_of(results / "download" / "brainq")
    data = (results / "preprocess" / "brainq.npz").stat().st_size
    folder = disk(raw // 2)
    for size in (raw + data + 400_000, 500_000_000):
        done = snakemake(folder / "run", *TARGETS)
        assert done.returncode != 0
        assert "make room" in done.stderr or "no space left" in done.stderr.lower()
        mine = digests(folder / "run")
        assert mine == {name: theirs[name] for name in mine}
        subprocess.run(["mount", "-o", f"remount,size={size}", folder], check=True)
    assert any(name.startswith("preprocess/") for name in mine)
    succeeded(snakemake(folder / "run", *TARGETS))
    same(folder / "run", finished)
