"""scoup run and its kin: what is called, what is shown, and how a run ends."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scoup.command import main
from scoup.errors import ScoupError
from scoup.extras import require
from scoup.layout import command_name, project_folder
from scoup.progress import error_sentence, failure
from scoup.run import early_failure, results_folder, snakemake_call, summary
from scoup.verbs import profiles
from tests.workflow.conftest import ROOT

# Three jobs, of which one fails with a sentence in its log.
SNAKEFILE = """
rule all:
    input: "good", "bad"
rule good:
    output: "good"
    log: "good.log"
    shell: "touch {output}"
rule bad:
    output: "bad"
    log: "bad.log"
    shell: "echo noise >&2; echo 'scoup.errors.ScoupError: rank: got 0.' > {log}; exit 1"
"""


@pytest.mark.parametrize(
    ("words", "tail"),
    [
        ([], ["--cores", "all", "--snakefile", "S"]),
        (["a.yaml"], ["--configfile", "a.yaml", "--cores", "all", "--snakefile", "S"]),
        (
            ["a.yml", "b.yaml", "-c2"],
            ["--configfile", "a.yml", "b.yaml", "--snakefile", "S", "-c2"],
        ),
        (["--jobs=3", "x.svg"], ["--snakefile", "S", "--jobs=3", "x.svg"]),
        (["--workflow-profile", "slurm"], ["--snakefile", "S", "--workflow-profile", "slurm"]),
        (["-n", "t.yaml"], ["--cores", "all", "--snakefile", "S", "-n", "t.yaml"]),
    ],
)
def test_the_call_of_snakemake(words, tail):
    call = snakemake_call(words)
    assert call[:3] == [sys.executable, "-m", "snakemake"]
    snakefile = str(project_folder() / "Snakefile")
    assert ["S" if word == snakefile else word for word in call[3:]] == tail


def test_results_are_in_the_folder_that_snakemake_is_told():
    assert results_folder(["a.yaml", "--directory", "there", "-n"]) == Path("there/results")
    assert results_folder(["-d=there"]) == results_folder(["-dthere"]) == Path("there/results")
    assert results_folder(["a.yaml", "--forcerun", "fit"]) == Path("results")


def _run_on_a_terminal(call, cwd):
    """Run with standard error on a pseudo-terminal; return the exit code and what it shows."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(call, cwd=cwd, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        shown += piece
    process.communicate(timeout=60)
    os.close(ours)
    return process.returncode, shown.decode()


CALL = """
import sys
from pathlib import Path
from scoup import run
call = [sys.executable, "-m", "snakemake", "--cores", "1", "--keep-going"]
sys.exit(run._run_quietly(call, Path("results/logs/run.log")))
"""


def test_a_terminal_shows_progress_and_failures_and_the_log_has_everything(tmp_path):
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    code, shown = _run_on_a_terminal([sys.executable, "-c", CALL], tmp_path)
    assert code == 1
    assert re.search(r"1 of 3 jobs done.* so far, about .* left", shown)
    assert "failed: bad (bad): rank: got 0.\r\n    its log: bad.log" in shown
    assert "scoup: failed after 0 min" in shown
    assert "the same command continues" in shown
    assert "noise" not in shown
    log = (tmp_path / "results/logs/run.log").read_text()
    assert "noise" in log
    assert "Error in rule bad" in log


def test_without_a_terminal_only_failures_and_the_end_are_said(tmp_path):
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    done = subprocess.run(
        [sys.executable, "-c", CALL], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0] == "failed: bad (bad): rank: got 0."
    assert len(lines) == 4


def test_a_mistake_in_the_call_is_shown(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--no-such-option"]) == 2
    assert "unrecognized arguments: --no-such-option" in capfd.readouterr().err


def test_an_executor_that_is_not_installed_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("scoup.extras.find_spec", lambda name: None if "kubernetes" in name else 1)
    assert main(["run", "--workflow-profile", "kubernetes"]) == 2
    assert 'pip install "scoup[kubernetes]"' in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_failed_jobs_are_not_shown_twice():
    assert early_failure("Error in rule fit:\n") == ""
    assert early_failure("a\n" * 50) == "a\n" * 20


def test_a_killed_job_says_so(tmp_path):
    log = tmp_path / "fit.log"
    log.write_text("INFO sweep 3\n")
    assert "may have been killed" in failure("fit", ["a.npz"], [str(log)])
    assert error_sentence("Traceback\nKeyError: 'x'\n") == "'x'"
    assert failure("fit", [], []).startswith("failed: fit: ")


def test_the_end_names_only_what_is_there(tmp_path):
    assert summary(tmp_path) == ""
    (tmp_path / "report.html").touch()
    assert summary(tmp_path).splitlines()[0] == "made:"
    assert "open this first" in summary(tmp_path)
    assert "MLflow" not in summary(tmp_path)


def test_a_profile_is_copied_once_and_found_by_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["profile", "slurm"]) == 0
    assert "run --workflow-profile slurm" in capsys.readouterr().out
    copy, source = Path("profiles/slurm/config.yaml"), ROOT / "workflow/profiles/slurm/config.yaml"
    assert copy.read_bytes() == source.read_bytes()
    assert main(["profile", "slurm"]) == 2
    assert profiles() == ["default", "gridengine", "kubernetes", "slurm", "timing"]


def test_the_demo_draws_a_figure_and_explains_it_in_three_lines(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    said = capsys.readouterr().out
    assert said.count("\n") == 3
    for habit in ("Sun 15:00 near trees", "Fri 23:00 near bars", "Fri 18:00 near desks"):
        assert habit in said
    assert "simulated data" in Path("scoup-demo.svg").read_text()


def test_the_demo_says_that_kernels_are_compiled_the_first_time(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("scoup.demo.demo", lambda: "done\n")
    monkeypatch.setattr("scoup.kernels.__file__", str(tmp_path / "__init__.py"))
    assert main(["demo"]) == 0
    assert "compiling the kernels" in capsys.readouterr().err
    (tmp_path / "__pycache__").mkdir()
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    (tmp_path / "__pycache__" / f"dense.kernel-9.{version}.nbi").touch()
    assert main(["demo"]) == 0
    assert not capsys.readouterr().err


def test_without_matplotlib_the_demo_explains_and_says_what_draws(tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = None; from scoup.command import main; "
        "sys.exit(main(['demo']))"
    )
    said = subprocess.check_output([sys.executable, "-c", code], cwd=tmp_path, text=True)
    assert "Sun 15:00 near trees" in said
    assert 'no figure: matplotlib is not installed: pip install "scoup[workflow]"' in said
    assert said.count("\n") == 3
    assert not list(tmp_path.iterdir())


def test_a_missing_package_is_named_with_its_extra():
    sentence = r'no_such is not installed: pip install "scoup\[workflow\]"'
    with pytest.raises(ScoupError, match=sentence):
        require("no_such", "workflow")


def test_the_printed_name_of_the_command_runs(tmp_path, monkeypatch):
    installed = Path(sys.executable).parent
    for path, folder in ((tmp_path, ROOT), (tmp_path, tmp_path), (installed, tmp_path)):
        monkeypatch.setenv("PATH", str(path))
        monkeypatch.chdir(folder)
        assert (command_name() == "scoup") == (path == installed)
        said = subprocess.check_output(f"{command_name()} --version", shell=True, text=True)
        assert said.startswith("scoup ")
