"""Before a run, every result that differs from its record is removed, and nothing else."""

import os
import random
from pathlib import Path
from types import SimpleNamespace

import pytest

from scoup import store
from scoup.job import job
from scoup.verify import remove_damaged
from tests.faults import MANNERS, damage

OUTPUTS = {
    "fit/data/whole/full/seed0/rep0": ["results/fit/data/whole/full/seed0/rep0.npz"],
    "holdout/data/whole/seed0": [
        "results/holdout/data/whole/seed0.npz",
        "results/holdout/data/whole/seed0.truth.npz",
    ],
    "plot/a": ["results/plot/a.svg", "results/plot/a.png"],
    "plot/ab": ["results/plot/ab.svg"],
    "pages/rank/data/seed0": ["results/pages/rank/data/seed0"],
    "scorecard": ["results/scorecard.json", "results/scorecard.md"],
    "track": ["results/track.json", "results/mlflow.db"],
}


KEPT = {"results/mlflow.db.replaced"}


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A folder of results as jobs leave it: files, a page, and a link."""
    monkeypatch.chdir(tmp_path)
    for record, outputs in OUTPUTS.items():
        log = [f"results/logs/{record}.log"]
        snakemake = SimpleNamespace(rule="r", log=log, threads=1, wildcards={}, output=outputs)
        with job(snakemake):
            for output in outputs:
                _write(output)
    return tmp_path / "results"


def _write(output):
    if "pages" in output:
        for name in ("index.html", "table.csv"):
            store.write_text(f"{output}/{name}", f"{output} {name}\n" * 9)
    elif output.endswith("whole/seed0.npz"):
        store.link("results/preprocess/data.npz", output)
    else:
        store.write_text(output, f"{output}\n" * 9)


def files():
    """All results but the records."""
    found = (path for path in Path("results").rglob("*") if path.is_symlink() or path.is_file())
    return {str(path) for path in found if path.parts[1] != "logs"}


def test_whole_results_stay(results):
    before = files()
    assert remove_damaged() == []
    assert files() == before


@pytest.mark.parametrize("manner", [*MANNERS, "gone"])
def test_a_damaged_file_goes_with_the_outputs_of_its_job_and_is_named(results, manner):
    for path in sorted(files()):
        if os.path.islink(path):
            continue
        (outputs,) = [
            paths
            for paths in OUTPUTS.values()
            if any(path == output or path.startswith(f"{output}/") for output in paths)
        ]
        before = files() - KEPT
        if manner == "gone":
            os.unlink(path)
        else:
            damage(Path(path), manner, random.Random(path))
        is_alone = manner == "gone" and outputs == [path]
        said = remove_damaged()
        assert is_alone or (len(said) == 1 and path in said[0])
        gone = {name for name in before if any(name.startswith(output) for output in outputs)}
        assert files() - KEPT == before - gone
        for output in outputs:
            _write(output)
        assert remove_damaged() == []


def test_a_link_that_points_elsewhere_is_damaged(results):
    path = "results/holdout/data/whole/seed0.npz"
    store.link("results/preprocess/other.npz", path)
    assert path in remove_damaged()[0]


def test_a_file_that_no_job_wrote_makes_a_page_damaged(results):
    (results / "pages/rank/data/seed0/more.html").write_text("PWNED")
    assert "more.html" in remove_damaged()[0]
    assert not (results / "pages/rank/data/seed0").exists()


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("record", OUTPUTS)
def test_a_damaged_record_goes_with_what_it_vouches_for(results, record, manner):
    before, path = files(), Path(f"results/logs/{record}.json")
    damage(path, manner, random.Random(record))
    (said,) = remove_damaged()
    assert str(path) in said
    assert not path.exists()
    gone = {name for name in before if any(name.startswith(p) for p in OUTPUTS[record])}
    kept = {"results/mlflow.db"}  # its receipt is gone, so the next run compares and rebuilds it
    assert before - files() == gone - kept


def test_running_jobs_and_results_without_a_record_are_left_alone(results):
    store.write_json("results/logs/plot/a.json", {"rule": "plot", "started": 1.0})
    Path("results/plot/a.svg").write_text("half")
    Path("results/notes.txt").write_text("mine")
    assert remove_damaged() == []
    assert Path("results/notes.txt").exists()
