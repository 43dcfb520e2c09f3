"""Every command that the project prints runs as printed: in pages, help, messages and files."""

import contextlib
import gzip
import importlib.util
import io
import os
import re
import runpy
import shlex
import shutil
import socket
import subprocess
import sys
import tomllib
import warnings
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from snakemake.cli import parse_args

from scoup.command import main
from scoup.errors import ScoupError
from scoup.run import snakemake_call, summary
from scoup.seeds import generator
from scoup.track import ui
from scoup.track.__main__ import main as browse
from scoup.verbs import profiles
from tests.workflow.conftest import ROOT

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
OURS = ("scoup", "snakemake", "mlflow", "make", "python", "pip", "docker", ".ci/run")
# Programs of others, that are not there everywhere.
OTHERS = ("squeue", "snakedeploy", "pre-commit", "head")
BIKES = ("trips.csv", "surroundings.csv", "--value", "trips")
REFUSALS = (AssertionError, SystemExit, LookupError, OSError, subprocess.SubprocessError)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
ASSIGNMENT = re.compile(r"[A-Z_]+=\S*")
# A word in capitals stands for something, and so do dots and brackets.
PLACEHOLDER = re.compile(r"\.\.\.|[<{(\[*]|\b[A-Z]{3,}\b(?!=)")
COMMENT = re.compile(r"(?:\.venv/bin/)?\b(?:scoup (?:run|ui --)|snakemake --)[^`(\n]*")
QUOTED = re.compile(r"`([^`\n]+ [^`\n]+)`")
SAID_BY_MAKE = re.compile(r"\b(?:say|by|with) (make [^;,.\"\n]+)")
# Files in which commands are quoted: code, its messages, rules, texts of reports.
QUOTING = (".py", ".smk", ".rst", ".html")
QUOTING_FOLDERS = ("scoup", "workflow", "snakemake_logger_plugin_scoup", "benchmarks")


def commands_of(page):
    """Yield the commands of a Markdown page: in console and indented blocks, and in the text."""
    for kind, body in FENCE.findall(page):
        if kind == "console":
            yield from (line.removeprefix("$ ") for line in body.splitlines())
    text = FENCE.sub("", page)
    yield from (line.strip() for line in text.splitlines() if line.startswith("    "))
    yield from (span for span in re.findall(r"`([^`\n]+)`", text) if " " in span)


def words_of(command):
    """Return the words of a command, without assignments and comments; none if it is no command."""
    try:
        words = shlex.split(re.split(r"\s{3,}", command)[0], comments=True)
    except ValueError:  # a quotation mark in a text
        return ()
    while words and ASSIGNMENT.fullmatch(words[0]):
        words = words[1:]
    program = words[0].removeprefix(".venv/bin/") if words else ""
    if program not in (*OURS, *OTHERS) or PLACEHOLDER.search(
        re.sub(r"\.\[\S+", "", " ".join(words))
    ):
        return ()
    return tuple(words)


def quoting_files():
    """Return the files of the project, other than pages, in which commands are quoted."""
    files = (path for folder in QUOTING_FOLDERS for path in (ROOT / folder).rglob("*"))
    return [ROOT / "Snakefile", *(path for path in files if path.suffix in QUOTING)]


def helps():
    """Return what the command line prints about itself."""
    text = io.StringIO()
    for verb in ([], ["inspect"], ["new"], ["run"], ["profile"], ["shard"], ["demo"]):
        with contextlib.redirect_stdout(text), pytest.raises(SystemExit):
            main([*verb, "--help"])
    lines = (line.strip() for line in text.getvalue().splitlines())
    return [line for line in lines if line.startswith("scoup ")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An empty folder with the files that the examples name."""
    folder = tmp_path_factory.mktemp("example")
    rng = generator(0, "test", "commands")
    with contextlib.chdir(folder):
        posts = (
            f"w{a},p{b},{c},{d + 1}\n" for a, b, c, d in rng.integers(0, (9, 8, 7, 5), (200, 4))
        )
        rows = list(posts)
        Path("posts.csv").write_text(
            "wall,poster,day\n" + "".join(row.rsplit(",", 1)[0] + "\n" for row in rows)
        )
        Path("calls.csv").write_text(
            "a,b,t\n" + "".join(row.rsplit(",", 1)[0] + "\n" for row in rows)
        )
        Path("ratings.csv").write_text("user,item,week,stars\n" + "".join(rows))
        Path("links.csv").write_text(
            "user,friend\n" + "".join(f"w{n},u{n % 5}\n" for n in range(9))
        )
        np.save("brain.npy", rng.standard_normal((6, 5, 4)))
        Path("nouns.csv").write_text("noun\n" + "".join(f"n{n}\n" for n in range(6)))
        Path("answers.csv").write_text("noun,big\n" + "".join(f"n{n},{n % 2}\n" for n in range(6)))
        with gzip.open("big.tns.gz", "wt") as stream:
            stream.writelines(f"{n % 5 + 1} {n % 4 + 1} {n % 3 + 1} {n}\n" for n in range(1, 60))
        for name in ("trips", "surroundings"):
            Path(f"{name}.csv").write_bytes((ROOT / f"docs/bikes/{name}.csv").read_bytes())
    return folder


def run_messages(folder):
    """Return what a run, and MLflow on a port that is taken, say about the next step."""
    results = folder / "made" / "results"
    results.mkdir(parents=True)
    (results / ui.DATABASE).touch()
    with socket.socket() as taken:
        taken.bind((ui.HOST, 0))
        taken.listen()
        with pytest.raises(ScoupError) as refused:
            ui.serve(results, taken.getsockname()[1])
    said = summary(results) + str(refused.value)
    shutil.rmtree(results)
    return said


@pytest.fixture(scope="module")
def generated(folder):
    """What ``new``, ``inspect``, ``shard`` and ``profile`` print and write for the next step."""
    text = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(text):
        assert main(["new", "walls", "posts.csv", "links.csv:wall"]) == 0
        assert main(["new", "bikes", *BIKES]) == 0
        assert main(["inspect", "posts.csv", "links.csv:wall"]) == 0
        assert main(["shard", "big.tns.gz", "-o", "big.shards"]) == 0
        assert main(["profile", "slurm"]) == 0
    written = (path.read_text() for path in folder.rglob("*.yaml"))
    texts = [text.getvalue(), run_messages(folder), *written]
    return [command for text in texts for command in COMMENT.findall(text)]


@pytest.fixture(scope="module")
def commands(generated):
    """``{words of a command: where it is printed}``."""
    pages = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
    printed = {path: commands_of(path.read_text()) for path in pages if "_build" not in path.parts}
    for path in (*(ROOT / "workflow").rglob("*.yaml"), *(ROOT / "envs").glob("*.yaml")):
        printed[path] = COMMENT.findall(path.read_text())
    printed[ROOT / "config.yaml"] = COMMENT.findall((ROOT / "config.yaml").read_text())
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        printed[path] = re.findall(r"^(?:      - run:| {9}) (.*)$", path.read_text(), re.M)
    for path in quoting_files():
        printed[path] = QUOTED.findall(path.read_text())
    printed[ROOT / "Makefile"] = SAID_BY_MAKE.findall((ROOT / "Makefile").read_text())
    printed |= {"scoup --help": helps(), "scoup new": generated}
    return {
        words: where
        for where, texts in printed.items()
        for text in texts
        if (words := words_of(text))
    }


def check_scoup(words, folder):
    """Run what is quick; what is long goes through Snakemake's own parser, profile included."""
    verb, *rest = words[1:] or ["--help"]
    with contextlib.chdir(folder):
        if verb == "run":
            with contextlib.chdir(ROOT if any("workflow/" in word for word in rest) else folder):
                parse_args(snakemake_call([word for word in rest if word != "--verbose"])[3:])
                assert all(Path(word).exists() for word in rest if word.endswith(".yaml"))
        elif verb == "ui":  # in this process: MLflow takes seconds to import; nothing is served
            with (
                mock.patch("subprocess.call", lambda call: browse(call[3:])),
                mock.patch.object(ui, "serve", return_value=0),
            ):
                assert main(["ui", *rest]) == 0
        elif rest and verb in ("inspect", "new", "profile", "shard"):
            for written in (f"{rest[0]}.yaml", f"profiles/{rest[0]}/config.yaml"):
                Path(written).unlink(missing_ok=True)  # never overwritten
            if verb == "shard":
                shutil.rmtree(rest[-1], ignore_errors=True)  # nor is the folder of shards
            assert main([verb, *rest]) == 0
        else:  # a verb that is only named, or the demo, which tests/test_run.py runs
            with pytest.raises(SystemExit) as stopped:
                main([verb, "--help"])
            assert stopped.value.code == 0


def check_python(words):
    """Check that the module or file is there, and that the module knows the options."""
    if words[1] != "-m":
        assert (ROOT / words[1]).exists()
        return
    assert importlib.util.find_spec(words[2])
    check_options(words[2:3], words[3:])


def check_options(module, words):
    """Check that a module, or a verb of it, knows the options among the words."""
    options = [word for word in words if word.startswith("--")]
    assert all(re.search(rf"{option}\b", help_of(*module)) for option in options)


@cache
def help_of(module, *verb):
    """Return what a module prints about itself; here, as starting Python takes longer."""
    text = io.StringIO()
    with (
        contextlib.chdir(ROOT),
        contextlib.redirect_stdout(text),
        mock.patch.object(sys, "argv", [module, *verb, "--help"]),
        warnings.catch_warnings(action="ignore"),  # that it has been imported before
        pytest.raises(SystemExit) as stopped,
    ):
        runpy.run_module(module, run_name="__main__")
    assert not stopped.value.code
    return text.getvalue()


def check(words, folder):
    """Check one command; a program that nobody knows how to check is an error."""
    program = words[0].removeprefix(".venv/bin/")
    if "--workflow-profile" in words and words[-1].endswith("kubernetes"):
        # Its executor is not installed here; tests/cluster/test_kubernetes.py runs the profile.
        assert Path(words[-1]).name in profiles()
    elif program == "scoup":
        check_scoup(words, folder)
    elif program == "snakemake":
        with contextlib.chdir(ROOT):
            parse_args(list(words[1:]))
    elif program == "mlflow":
        check_options(words[:2], words[2:])
    elif program == "make":
        subprocess.run(["make", "--dry-run", *words[1:]], cwd=ROOT, check=True, capture_output=True)
    elif program == "python":
        check_python(words)
    elif program == "pip":
        for extra in re.findall(r"\[(.*)\]", words[-1]):
            assert set(extra.split(",")) <= set(EXTRAS)
    elif program == "docker":
        assert (ROOT / words[words.index("-f") + 1]).exists()
    elif program == ".ci/run":
        assert os.access(ROOT / program, os.X_OK)


def test_every_printed_command_is_valid(commands, folder, capsys):
    failed = {}
    for words, where in commands.items():
        try:
            check(words, folder)
        except REFUSALS as error:
            said = capsys.readouterr()
            failed[shlex.join(words)] = f"{where}: {error!r} {said.err[-300:]}"
    assert not failed


def test_the_pages_have_commands_of_every_kind(commands):
    programs = {words[0].removeprefix(".venv/bin/") for words in commands}
    assert programs >= {"scoup", "make", "python", "pip", "snakemake"}
    verbs = {words[1] for words in commands if words[0] == "scoup" and len(words) > 1}
    assert verbs >= {"demo", "inspect", "new", "run", "profile", "shard", "ui"}
    assert len(commands) > 30


@pytest.fixture
def dry_run(folder, monkeypatch, capfd):
    """A function that returns what ``scoup run`` would do in a folder that is no clone."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / ".cache"))

    def dry_run(*words):
        for name, *files in (("walls", "posts.csv", "links.csv:wall"), ("bikes", *BIKES)):
            if f"{name}.yaml" in words and not Path(f"{name}.yaml").exists():
                assert main(["new", name, *files]) == 0
        paths = [str(ROOT / word) if word.startswith("workflow/") else word for word in words]
        code = main(["run", *paths, "--cores", "2", "--dry-run"])
        said = capfd.readouterr()
        assert code == 0, said.err[-3000:]
        assert not (folder / "results").exists()
        return said.out

    return dry_run


def test_every_printed_run_has_jobs_in_a_folder_that_is_no_clone(commands, dry_run):
    runs = {}  # the figures that are asked for, by configurations
    for words in commands:
        if words[:2] in (("scoup", "run"), (".venv/bin/scoup", "run")):
            configs = tuple(word for word in words if word.endswith(".yaml"))
            runs.setdefault(configs, set()).update(w for w in words if w.endswith(".svg"))
    assert {(), ("walls.yaml",), ("bikes.yaml",)} <= set(runs)
    assert "results/plot/rank.svg" in runs["bikes.yaml",]
    runs[()].remove("results/plot/agreement.svg")  # of the recipe in CONTRIBUTING.md
    for configs, figures in runs.items():
        jobs = dry_run(*configs)
        assert "experiments" in jobs
        assert all(figure in jobs for figure in figures)


def test_a_generated_configuration_runs_with_the_profile_of_a_cluster(generated, dry_run):
    assert "experiments" in dry_run("walls.yaml", "--workflow-profile", "slurm")
