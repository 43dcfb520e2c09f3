"""The naming law, the linter, and what every rule must carry."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workflow.conftest import ROOT, snakemake, succeeded

RULES = sorted((ROOT / "workflow" / "rules").glob("*.smk"))
SCRIPTS = sorted((ROOT / "workflow" / "scripts").glob("*.py"))


def rules():
    """Yield the name and the text of every rule."""
    for path in RULES:
        for text in re.split(r"^rule ", path.read_text(), flags=re.M)[1:]:
            yield text.split(":")[0], text


@pytest.mark.parametrize(("name", "text"), list(rules()), ids=[name for name, _ in rules()])
def test_every_rule_carries_what_a_cluster_and_a_reader_need(name, text):
    for directive in (
        "log:",
        "benchmark:",
        "threads:",
        "mem_mb=",
        "runtime=",
        "conda:",
        '    """',
        "code=",
    ):
        assert directive in text, f"rule {name} has no {directive}"
    assert "run:" not in text.replace("rerun:", "")
    assert "lambda" not in text
    assert f'"../scripts/{name}.py"' in text


def test_one_word_a_stage():
    names = [name for name, _ in rules()]
    assert sorted(names) == [path.stem for path in SCRIPTS]
    for path in RULES:
        if path.stem not in ("common", "experiments"):
            assert f"rule {path.stem}:" in path.read_text()
    for name in names:
        rooms = [ROOT / "scoup", ROOT / "scoup" / "experiments", ROOT / "scoup" / "plot"]
        homes = [room / place for room in rooms for place in (name, f"{name}.py")]
        assert any(home.exists() for home in homes), f"no module of scoup is called {name}"


def test_every_experiment_has_module_rule_and_section():
    import yaml

    section = set(yaml.safe_load((ROOT / "config.yaml").read_text())["experiments"])
    modules = {path.stem for path in (ROOT / "scoup" / "experiments").glob("*.py")}
    assert section <= modules
    assert section == set(
        re.findall(
            r"^rule (\w+):", (ROOT / "workflow/rules/experiments.smk").read_text(), flags=re.M
        )
    )


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_adapters_are_short_and_run_inside_the_frame(path):
    text = path.read_text()
    assert "with job(snakemake):" in text
    assert len(text.splitlines()) <= 30
    assert "snakemake.config" not in text  # it would bypass params, and with them the rerun


def test_the_snakefile_is_a_contents_page():
    assert len((ROOT / "Snakefile").read_text().splitlines()) <= 50


def test_snakemake_lints_clean(tmp_path):
    assert "good condition" in succeeded(snakemake(tmp_path / "run", "--lint"))


def test_snakefmt_is_clean():
    files = ["Snakefile", "workflow"]
    done = subprocess.run(
        [sys.executable, "-m", "snakefmt", "--check", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_library_never_imports_snakemake():
    for path in Path(ROOT, "scoup").rglob("*.py"):
        assert not re.search(r"^\s*(import|from) snakemake", path.read_text(), flags=re.M), path
