"""``scoup run``: the workflow that comes with the package, by the Snakemake of this interpreter."""

import argparse
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from scoup.extras import require
from scoup.layout import command_name, project_folder
from scoup.lock import require_free

LOG = Path("results/logs/run.log")
# With these, Snakemake answers a question: its output is what the user wants to see.
QUESTIONS = frozenset({
    "-n", "--dry-run", "--dryrun", "-v", "--version", "-l", "--list-rules", "--list", "--lt",
    "--list-target-rules", "--dag", "--rulegraph", "--filegraph", "--d3dag", "-S", "--summary",
    "-D", "--detailed-summary", "--lint", "--report", "--unlock", "--lc", "--list-changes",
    "--cm", "--cleanup-metadata", "--archive", "--print-compilation",
})  # fmt: skip
# Whoever says one of these has said how many jobs run at once, or a profile does.
CORES = ("-c", "--cores", "-j", "--jobs", "--workflow-profile", "--profile")
INTERRUPTED = 130
SHOWN_LINES = 20


def run(words: Sequence[str]) -> int:
    """Run the workflow and return the exit code; ``words`` are configurations, then options."""
    require("snakemake", "workflow")
    if "kubernetes" in words:  # the one profile whose executor is an extra of its own
        require("snakemake_executor_plugin_kubernetes", "kubernetes")
    verbose = "--verbose" in words or any(_is_option(word, ("--logger",)) for word in words)
    words = [word for word in words if word != "--verbose"]
    call, folder = snakemake_call(words), results_folder(words).parent
    if is_question(words):
        return _wait(subprocess.Popen(call))
    require_free(folder)  # before the log of the run that is at work is overwritten
    code = _wait(subprocess.Popen(call)) if verbose else _run_quietly(call, folder / LOG)
    if code == 0:
        sys.stdout.write(summary(folder / "results"))
    return code


def is_question(words: Sequence[str]) -> bool:
    """Whether Snakemake only answers a question, so that no job is started.

    >>> is_question(["--cores", "4", "-n"]), is_question(["--report=page.html"]), is_question([])
    (True, True, False)
    """
    return not QUESTIONS.isdisjoint(word.partition("=")[0] for word in words)


def snakemake_call(words: Sequence[str]) -> list[str]:
    """Return the call of Snakemake: the first words that end in .yaml are configurations.

    >>> snakemake_call(["walls.yaml", "--cores", "4", "results/plot/rank.svg"])[3:]
    ['--configfile', 'walls.yaml', '--snakefile', '...', '--cores', '4', 'results/plot/rank.svg']
    """
    is_config = [word.endswith((".yaml", ".yml")) for word in words]
    count = is_config.index(False) if False in is_config else len(words)
    configs, rest = list(words[:count]), list(words[count:])
    call = [sys.executable, "-m", "snakemake"]
    if configs:
        call += ["--configfile", *configs]
    if not any(_is_option(word, CORES) for word in rest):
        call += ["--cores", "all"]
    # An option with one value comes last: a word that follows it is a target.
    return [*call, "--snakefile", str(project_folder() / "Snakefile"), *rest]


def _is_option(word: str, names: Sequence[str]) -> bool:
    """Whether a word is one of the options: ``--cores``, ``--cores=4``, ``-c`` or ``-c4``."""
    name = word.partition("=")[0] if word.startswith("--") else word[:2]
    return name in names


def results_folder(words: Sequence[str]) -> Path:
    """Return where the results go: ``--directory`` says in which folder Snakemake works."""
    known = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    known.add_argument("-d", "--directory", default=".")
    return Path(known.parse_known_args(words)[0].directory, "results")


def _run_quietly(call: Sequence[str], log: Path) -> int:
    """Run with one line of progress on the terminal and everything else in the log."""
    log.parent.mkdir(parents=True, exist_ok=True)
    terminal = os.dup(sys.stderr.fileno())
    show = ["--logger", "scoup", "--logger-scoup-terminal", str(terminal)]
    started = time.monotonic()
    try:
        with log.open("w") as output:
            process = subprocess.Popen([*call, *show], stderr=output, pass_fds=(terminal,))
            code = _wait(process)
    finally:
        os.close(terminal)
    minutes, seconds = divmod(round(time.monotonic() - started), 60)
    end = "done" if code == 0 else "stopped" if code == INTERRUPTED else "failed"
    if code not in (0, INTERRUPTED):
        sys.stderr.write(early_failure(log.read_text(errors="replace")))
    sys.stderr.write(f"scoup: {end} after {minutes} min {seconds} s; all output is in {log}\n")
    if code:
        sys.stderr.write("scoup: the same command continues where it stopped\n")
    return code


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for Snakemake; Ctrl-C reaches it too, and it ends its jobs first."""
    interrupted = False
    while True:
        try:
            code = process.wait()
            return INTERRUPTED if interrupted else code
        except KeyboardInterrupt:
            interrupted = True


def early_failure(log: str) -> str:
    """Return the error of a run that failed before any job did; failed jobs are shown at once.

    >>> early_failure("Using profile.\\nWorkflowError in file Snakefile:\\nconfig: bad\\n")
    'WorkflowError in file Snakefile:\\nconfig: bad\\n'
    """
    if "Error in rule" in log or "Error in group" in log:
        return ""
    lines = log.splitlines()
    first = next((number for number, line in enumerate(lines) if "rror" in line), 0)
    return "\n".join(lines[first:][-SHOWN_LINES:]) + "\n"


def summary(results: Path) -> str:
    """Say what a run has made and what to open next."""
    figures = len(list((results / "plot").glob("*.svg")))
    lines = [
        (
            results / "report.html",
            "open this first: findings, figures and tables in one page",
        ),
        (results / "plot", f"figures: {figures}, each as SVG, PDF and PNG"),
        (results / "experiments", "the metrics of every run, as JSON"),
        (results / "merge", "the models"),
        (
            results / "mlflow.db",
            f"every run, for MLflow: {command_name()} ui --results {shlex.quote(str(results))}",
        ),
    ]
    made = [f"    {path!s:<22}  {text}\n" for path, text in lines if path.exists()]
    return "".join(["made:\n", *made]) if made else ""


def printable(words: str) -> str:
    """Return text without control characters: a label might steer the terminal.

    >>> printable("\\x1b[2Jbear")
    '\\\\x1b[2Jbear'
    """
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in words)
