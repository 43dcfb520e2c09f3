"""The frame of a job: log, threads, and one sentence on failure."""

import errno
import logging
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from scoup.errors import DamagedFileError, ScoupError
from scoup.job import check_recorded, job, note_scheduling, read_facts
from scoup.machine import kernel_threads
from scoup.store import read_archive, read_json, write_archive, write_bytes


@pytest.fixture
def snakemake(tmp_path):
    return SimpleNamespace(
        rule="fit", log=[str(tmp_path / "logs" / "fit.log")], threads=1, wildcards={"seed": "3"}
    )


def read(snakemake):
    with open(snakemake.log[0]) as file:
        return file.read()


def test_log_lines_of_the_library_reach_the_log_file(snakemake):
    with job(snakemake):
        logging.getLogger("scoup.sample").info("kept 7 indices")
    assert "kept 7 indices" in read(snakemake)
    assert "fit done in" in read(snakemake)


def test_the_body_runs_on_the_threads_of_the_rule(snakemake):
    before = kernel_threads()
    with job(snakemake):
        assert kernel_threads() == 1
    assert kernel_threads() == before


def test_bad_input_ends_in_one_sentence(snakemake, capsys):
    with pytest.raises(SystemExit) as stopped, job(snakemake):
        raise ScoupError.expected("rank", "an integer", "five")
    assert stopped.value.code == 1
    assert capsys.readouterr().err == "fit seed=3: rank: expected an integer, got five.\n"
    assert "Traceback" in read(snakemake)


def test_a_damaged_input_is_named_and_removed_and_no_other_file_is(snakemake, tmp_path, capsys):
    made, foreign = tmp_path / "fit.npz", tmp_path / "foreign.npz"
    for path in (made, foreign):
        write_archive(path, "fit", {}, {"x": np.arange(9)})
        path.write_bytes(path.read_bytes()[:-40])
    snakemake.input = [str(made)]
    for path in (made, foreign):
        with pytest.raises(SystemExit), job(snakemake):
            read_archive(path, "fit")
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith(f"fit seed=3: {made}: expected a whole fit file, got a damaged one (")
    assert said[0].endswith("It was removed: the next run rebuilds it.")
    assert said[1].endswith("; delete it and run again.")
    assert not made.exists()
    assert foreign.exists()


def test_a_damaged_link_takes_its_target_with_it_and_a_folder_all_that_is_in_it(
    snakemake, tmp_path, capsys
):
    target, link, folder = tmp_path / "data.npz", tmp_path / "link.npz", tmp_path / "raw"
    write_archive(target, "fit", {}, {"x": np.arange(9)})
    target.write_bytes(target.read_bytes()[:-40])
    link.symlink_to(target)
    folder.mkdir()
    (folder / "truth.json").write_text("{}")
    snakemake.input = [str(link), str(folder)]
    with pytest.raises(SystemExit), job(snakemake):
        read_archive(link, "fit")
    with pytest.raises(SystemExit), job(snakemake):
        read_json(folder / "truth.json")
    assert not any(path.is_symlink() or path.exists() for path in (target, link, folder))
    assert capsys.readouterr().err.count("It was removed") == 2


def test_outputs_are_recorded_and_compared(snakemake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    figure, page = Path("results/plot/a.svg"), Path("results/pages/a")
    snakemake.output = [str(figure)]
    snakemake.log = ["results/logs/plot/a.log"]
    with job(snakemake):
        write_bytes(figure, b"<svg/>")
    snakemake.output = [str(page)]
    snakemake.log = ["results/logs/pages/a.log"]
    with job(snakemake):
        write_bytes(page / "index.html", b"page")
    check_recorded([figure, page])
    (page / ".snakemake_timestamp").touch()
    check_recorded([figure, page])
    for path, name in ((figure, "a.svg"), (page / "index.html", "pages/a")):
        path.write_bytes(b"other")
        with pytest.raises(DamagedFileError, match=name):
            check_recorded([figure, page])
        write_bytes(path, b"<svg/>" if path == figure else b"page")


def test_a_full_disk_is_named(snakemake, capsys):
    with pytest.raises(SystemExit), job(snakemake):
        raise OSError(errno.ENOSPC, "No space left on device", "results/fit/rep0.npz")
    assert (
        "no space left on the disk of results/fit/rep0.npz; free some and run again"
        in capsys.readouterr().err
    )


def test_an_unforeseen_error_keeps_its_type_and_its_traceback(snakemake):
    with pytest.raises(ZeroDivisionError), job(snakemake):
        _ = 1 / 0
    assert "ZeroDivisionError" in read(snakemake)


def test_a_second_job_does_not_write_into_the_log_of_the_first(snakemake, tmp_path):
    with job(snakemake):
        pass
    first = read(snakemake)
    snakemake.log = [str(tmp_path / "second.log")]
    with job(snakemake):
        logging.getLogger("scoup").info("second")
    snakemake.log = [str(tmp_path / "logs" / "fit.log")]
    assert read(snakemake) == first


def test_the_facts_say_when_where_and_by_which_code_a_job_ran(snakemake, tmp_path):
    path = tmp_path / "logs" / "fit.json"
    with job(snakemake) as facts:
        assert "ended" not in read_facts(path)
        facts["sweeps"] = 12
    facts = read_facts(path)
    assert facts["started"] <= facts["ended"]
    assert 0 < facts["startup"] <= facts["processor"]
    assert facts["memory_mb"] > 10
    assert (facts["rule"], facts["threads"], facts["sweeps"]) == ("fit", 1, 12)
    assert {"host", "version", "revision", "python"} <= set(facts)


def test_the_seconds_of_a_client_count_as_those_of_its_fork(snakemake, tmp_path, monkeypatch):
    monkeypatch.setenv("SCOUP_CLIENT_SECONDS", "1000.0")
    with job(snakemake):
        pass
    facts = read_facts(tmp_path / "logs" / "fit.json")
    assert 1000 < facts["startup"] <= facts["processor"]


def test_facts_go_where_the_rule_says(snakemake, tmp_path):
    class Log(list):
        facts = str(tmp_path / "facts" / "fit.json")

    snakemake.log = Log(snakemake.log)
    with job(snakemake):
        pass
    assert "ended" in read_facts(Log.facts)
    assert not (tmp_path / "logs" / "fit.json").exists()


def test_a_failed_job_has_no_end(snakemake, tmp_path):
    with pytest.raises(ZeroDivisionError), job(snakemake):
        _ = 1 / 0
    assert "ended" not in read_facts(tmp_path / "logs" / "fit.json")


def test_a_job_that_never_ran_has_no_facts(tmp_path):
    assert read_facts(tmp_path / "none.json") == {}


def test_what_running_the_jobs_took_is_read_like_a_job_that_did_no_work(tmp_path):
    note_scheduling(tmp_path / "logs" / "scheduling.json", started=1.0)
    facts = read_facts(tmp_path / "logs" / "scheduling.json")
    assert facts["startup"] == facts["processor"] > 0
    note_scheduling(tmp_path / "served.json", started=1.0, server_seconds=1000.0)
    assert read_facts(tmp_path / "served.json")["startup"] > 1000
    assert facts["started"] == 1.0 < facts["ended"]


def test_the_frame_of_a_job_its_files_and_the_checks_of_a_configuration_wait_for_no_compiler():
    heavy = "{'numba', 'pandas', 'scipy.linalg'}"
    code = f"import sys, scoup.job, scoup.config, scoup.results; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
