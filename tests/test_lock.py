"""One run at a time in a folder; a killed run leaves nothing to remove."""

import os
import signal
import subprocess
import sys

import pytest

from scoup.errors import ScoupError
from scoup.lock import claim, require_free
from scoup.run import run
from tests.workflow.conftest import snakemake

# It forks a child that outlives it, as the jobs of a killed run do.
HOLDER = """
import os, sys
from pathlib import Path
from scoup.lock import claim
claim(Path(sys.argv[1]))
if os.fork():
    print("claimed", flush=True)
sys.stdin.read()
"""
SENTENCE = r"results: expected one run at a time in a folder, got another one \(process {} on "


@pytest.fixture
def holder(tmp_path):
    """Another process that has claimed the folder."""
    words = [sys.executable, "-c", HOLDER, str(tmp_path)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"claimed\n"
    yield process
    process.kill()
    process.communicate()


def test_a_claimed_folder_is_refused_until_its_process_is_killed(holder, tmp_path):
    for refuse in (claim, require_free):
        with pytest.raises(ScoupError, match=SENTENCE.format(holder.pid)):
            refuse(tmp_path)
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    require_free(tmp_path)
    claim(tmp_path)
    claim(tmp_path)


def test_a_second_run_says_so_and_touches_nothing(holder, tmp_path, monkeypatch):
    log = tmp_path / "results" / "logs" / "run.log"
    log.parent.mkdir(parents=True)
    log.write_text("of the first run")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScoupError, match=SENTENCE.format(holder.pid)):
        run(["--cores", "1"])
    assert log.read_text() == "of the first run"


def test_snakemake_starts_no_job_in_a_claimed_folder_but_answers_questions(holder, tmp_path):
    done = snakemake(tmp_path, "results/download/random", cores=1)
    assert done.returncode == 1
    assert f"got another one (process {holder.pid} on " in done.stderr
    assert "No job was started." in done.stderr
    assert not (tmp_path / "results").exists()
    assert snakemake(tmp_path, "--list-rules").returncode == 0
