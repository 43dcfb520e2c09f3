"""The digest of a stage follows its imports, and nothing else."""

import shutil
import sys

import pytest

from tests.workflow.conftest import ROOT

sys.path.insert(0, str(ROOT / "workflow"))

import digest


def forget():
    """Drop what was kept of files that a test has edited since."""
    for cached in (digest.digest, digest._imports, digest._facts, digest._known):
        cached.cache_clear()


@pytest.fixture
def code(tmp_path, monkeypatch):
    """A copy of the code that a test may edit; returns a function that takes digests afresh."""
    for name in ("scoup", "workflow"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(digest, "ROOT", tmp_path)
    monkeypatch.setattr(digest, "HOME", tmp_path)

    def take(*arguments):
        forget()
        return digest.digest(*arguments)

    yield tmp_path, take
    forget()


def test_a_stage_knows_the_modules_behind_its_script():
    modules = set(digest.modules_of("fit"))
    assert {"scoup.fit", "scoup.solvers.als", "scoup.kernels.sparse", "scoup.store"} <= modules
    assert not {"scoup.merge", "scoup.plot", "scoup.solvers.cd"} & modules
    assert "scoup.solvers.cd" in digest.modules_of("fit", "scoup.solvers.cd")


def test_a_fit_needs_few_rooms_of_the_house():
    """A room is a module or a package: data on disk, starts, units and compiled kernels count.

    Of the lines, 600 are those of a small fit in one compiled call.
    """
    names = digest.modules_of("fit")
    assert len({name.split(".")[1] for name in names}) <= 30
    assert sum(len(digest._path(name).read_text().splitlines()) for name in names) <= 11_000


def test_a_package_counts_as_a_whole():
    modules = set(digest.modules_of("preprocess", "scoup.datasets.brainq"))
    assert {"scoup.datasets.brainq", "scoup.datasets.brainq.couple"} <= modules


def test_a_changed_module_changes_its_stages_only(code):
    folder, take = code
    stages = {
        "sample": ("sample",),
        "fit": ("fit", "scoup.solvers.als"),
        "merge": ("merge", "scoup.merges.joint"),
        "merge as printed": ("merge", "scoup.merges.paper"),
    }
    before = {stage: take(*names) for stage, names in stages.items()}
    with (folder / "scoup" / "merges" / "joint.py").open("a") as file:
        file.write("\nADDED = 1\n")
    changed = {stage for stage, names in stages.items() if take(*names) != before[stage]}
    assert changed == {"merge"}


def test_comments_and_docstrings_change_nothing(code):
    folder, take = code
    before = take("merge", "scoup.merges.joint")
    path = folder / "scoup" / "merges" / "joint.py"
    path.write_text("# a comment\n" + path.read_text().replace('"""The joint', '"""The other'))
    assert take("merge", "scoup.merges.joint") == before


def test_a_figure_depends_on_its_module_only(code):
    folder, take = code
    names = ("scoup.experiments.accuracy.figure", "scoup.experiments.missing.figure")
    before = [take("plot", name) for name in names]
    with (folder / "scoup/experiments/missing/figure.py").open("a") as file:
        file.write("\nADDED = 1\n")
    after = [take("plot", name) for name in names]
    assert after[0] == before[0]
    assert after[1] != before[1]


def test_what_an_earlier_start_parsed_is_not_parsed_again(code, monkeypatch):
    folder, take = code
    monkeypatch.setattr(digest, "KNOWN_FILE", folder / "known.json")
    first = take("fit")
    monkeypatch.setattr(digest, "_parsed", None)  # parsing would now fail
    assert take("fit") == first
    with (folder / "scoup" / "fit.py").open("a") as file:
        file.write("\nADDED = 1\n")
    with pytest.raises(TypeError):
        take("fit")


@pytest.mark.parametrize("state", ["damaged", "no folder"])
def test_a_digest_needs_no_earlier_start(code, monkeypatch, state):
    folder, take = code
    before = take("fit")
    path = folder / "known.json"
    path.write_text("{half")
    monkeypatch.setattr(digest, "KNOWN_FILE", path if state == "damaged" else path / "below")
    assert take("fit") == before
