"""Recipes of CONTRIBUTING.md, followed to the letter in a copy of the project."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workflow.conftest import ROOT, snakemake, succeeded

BLOCK = re.compile(r"^```(?:python|yaml)\n# (\S+)\n(.*?)^```", re.M | re.S)
PARTS = ("scoup", "workflow", "tests", "envs", "docs")
FILES = ("Snakefile", "config.yaml", "pyproject.toml", "README.md")


@pytest.fixture(scope="module")
def recipes():
    """Return ``{path: content}`` of every block in CONTRIBUTING.md that names a file."""
    return dict(BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text()))


@pytest.fixture
def project(tmp_path):
    """A copy of the project, compiled kernels included."""
    root = tmp_path / "project"
    for name in PARTS:
        shutil.copytree(ROOT / name, root / name)
    for name in FILES:
        shutil.copy2(ROOT / name, root / name)
    return root


def follow(root, recipes, *folders):
    """Write the files of the recipes whose path begins with one of ``folders``."""
    chosen = {path: text for path, text in recipes.items() if path.startswith(folders)}
    for path, text in chosen.items():
        target = root / path
        if target.exists():  # a section for a file that is there goes to its end
            target.write_text(target.read_text() + text)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
    return chosen


def python(root, *words):
    """Run Python in the copy and return what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, *words], cwd=root, env=environment, capture_output=True, text=True,
        timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


def run_tests(root, *words):
    """Run tests in the copy."""
    return python(root, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", *words)


def test_an_experiment_is_a_folder_a_section_and_a_test(
    finished, project, recipes, tmp_path, monkeypatch
):
    name = "agreement"
    files = follow(project, recipes, f"scoup/experiments/{name}/", "config.yaml", "tests/exp")
    folders = {str(Path(path).parent) for path in files if path.startswith("scoup/")}
    assert len(folders) + sum(not path.startswith("scoup/") for path in files) <= 4
    python(project, "-m", "scoup.config")
    contract = ["tests/experiments/test_agreement.py", "tests/experiments/test_contract.py"]
    shown = run_tests(project, *contract, "-k", f"{name} or no_two or nothing_heavy")
    assert int(re.search(r"(\d+) passed", shown)[1]) > 5

    run = tmp_path / "run"
    shutil.copytree(finished, run, symlinks=True)
    monkeypatch.setenv("PYTHONPATH", str(project))
    succeeded(snakemake(run, root=project))
    results = run / "results"
    metrics = json.loads((results / f"experiments/{name}/brainq/seed0.json").read_text())
    assert {metric["experiment"] for metric in metrics["metrics"]} == {name}
    assert (results / f"plot/{name}.svg").stat().st_size > 1000
    claims = json.loads((results / "scorecard.json").read_text())["claims"]
    assert name in {claim["experiment"] for claim in claims}
    with sqlite3.connect(f"file:{results}/mlflow.db?mode=ro", uri=True) as base:
        query = "SELECT count(*) FROM runs JOIN experiments USING (experiment_id)"
        query += " WHERE experiments.name = ?"
        assert base.execute(query, (f"scoup/{name}",)).fetchone()[0] >= 2
    assert f'<section id="{name}">' in (results / "report.html").read_text()


def test_a_solver_is_one_file(project, recipes):
    files = follow(project, recipes, "scoup/solvers/")
    assert len(files) == 1
    name = Path(next(iter(files))).stem
    shown = run_tests(project, "tests/test_solvers.py", "-k", name)
    assert "passed" in shown
    script = (
        "from scoup import CMTF, CoupledData; import numpy as np; "
        "data = CoupledData(np.random.default_rng(0).random((5, 6, 7))); "
        f"print(CMTF(2, solver={name!r}).fit(data).report_.solver)"
    )
    assert python(project, "-c", script).strip() == name


def test_a_file_format_is_one_file(project, recipes, tmp_path):
    files = follow(project, recipes, "scoup/formats/")
    assert len(files) == 1
    name = Path(next(iter(files))).stem
    assert "passed" in run_tests(project, "tests/test_formats.py", "-k", name)
    (tmp_path / f"tensor.{name}").write_text(json.dumps([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]))
    assert "2 x 2 x 2" in python(
        project, "-m", "scoup", "inspect", str(tmp_path / f"tensor.{name}")
    )
    assert f".{name}" in python(project, "-m", "scoup", "inspect", "--help")
