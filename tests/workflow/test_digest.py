"""The digest of a stage follows its imports, and nothing else."""

import shutil
import sys

import pytest

from tests.workflow.conftest import ROOT

sys.path.insert(0, str(ROOT / "workflow"))

import digest


def forget():
    """Drop what was kept of files that a test has edited since."""
    for kept in (digest.digest, digest._imports, digest._code, digest._parsed):
        kept.cache_clear()


@pytest.fixture
def code(tmp_path, monkeypatch):
    """A copy of the code that a test may edit; returns a function that takes digests afresh."""
    for name in ("scoup", "workflow"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(digest, "ROOT", tmp_path)

    def take(*arguments):
        forget()
        return digest.digest(*arguments)

    yield tmp_path, take
    forget()


def test_a_stage_knows_the_modules_behind_its_script():
    assert {"scoup.fit", "scoup.solvers.als", "scoup.kernels.sparse", "scoup.store"} <= set(
        digest.modules_of("fit")
    )
    assert not {"scoup.merge", "scoup.sample", "scoup.plot"} & set(digest.modules_of("fit"))


def test_a_changed_module_changes_its_stages_only(code):
    folder, take = code
    before = {stage: take(stage) for stage in ("sample", "fit", "merge", "accuracy")}
    with (folder / "scoup" / "merge" / "joint.py").open("a") as file:
        file.write("\nADDED = 1\n")
    after = {stage: take(stage) for stage in before}
    assert {stage for stage in before if before[stage] != after[stage]} == {"merge", "accuracy"}


def test_comments_and_docstrings_change_nothing(code):
    folder, take = code
    before = take("merge")
    path = folder / "scoup" / "merge" / "joint.py"
    path.write_text("# a comment\n" + path.read_text().replace('"""The joint', '"""The other'))
    assert take("merge") == before


def test_a_figure_hangs_on_its_own_module_only(code):
    folder, take = code
    names = ("scoup.experiments.accuracy.figure", "scoup.experiments.missing.figure")
    before = [take("plot", name) for name in names]
    with (folder / "scoup" / "plot" / "missing.py").open("a") as file:
        file.write("\nADDED = 1\n")
    after = [take("plot", name) for name in names]
    assert after[0] == before[0]
    assert after[1] != before[1]
