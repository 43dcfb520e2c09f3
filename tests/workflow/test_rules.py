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


HOMES = {"parts": "experiments", "pages": "experiments"}  # these serve the experiments
TESTS = {"experiments": "experiments", "parts": "experiments", "pages": "test_pages.py"}


def test_one_word_per_stage():
    """The word is the rule, the script, the module, the test and the results folder."""
    names = [name for name, _ in rules()]
    assert sorted(names) == [path.stem for path in SCRIPTS]
    for name, text in rules():
        home = HOMES.get(name, name)
        assert any((ROOT / "scoup" / path).exists() for path in (home, f"{home}.py")), name
        assert (ROOT / "tests" / TESTS.get(name, f"test_{name}.py")).exists(), name
        outputs = re.search(r"output:\n(.*?)\n    log:", text, re.S)[1]
        constants = re.findall(r"=(?:directory\()?([A-Z]+)\b", outputs)
        folders = re.findall(r'"results/(\w+)', outputs) + [CONSTANTS[name] for name in constants]
        assert set(folders) == {name}, f"rule {name} writes to {folders}"
        assert f'"results/logs/{name}' in text


CONSTANTS = dict(
    re.findall(
        r'^([A-Z_]+) = "results/(\w+)/',
        (ROOT / "workflow/rules/files.smk").read_text(),
        re.M,
    )
)


def test_every_experiment_has_a_section():
    import yaml

    from scoup import experiments

    section = set(yaml.safe_load((ROOT / "config.yaml").read_text())["experiments"])
    assert section == set(experiments.names())


SIZES = {"Snakefile": 45, "workflow/rules/common.smk": 160}


@pytest.mark.parametrize("path", [ROOT / "Snakefile", *RULES], ids=lambda path: path.name)
def test_files_of_rules_stay_short(path):
    limit = SIZES.get(str(path.relative_to(ROOT)), 140)
    assert len(path.read_text().splitlines()) <= limit


def test_sample_fit_and_merge_follow_one_another_in_one_place_only():
    """The corridor is the rules; in one process it is `scoup.pipeline`, and nothing else."""
    calls = [
        re.compile(rf"(?<!\w)(?<!def ){name}\(") for name in ("draw", "fit_repetition", "merge")
    ]
    places = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "scoup").rglob("*.py")
        if all(call.search(path.read_text()) for call in calls)
    }
    assert places == {"scoup/pipeline.py"}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_adapters_are_short_and_run_inside_the_frame(path):
    text = path.read_text()
    assert "with job(snakemake)" in text
    assert len(text.splitlines()) <= 30
    assert "snakemake.config" not in text  # it would bypass params, and with them the rerun


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
