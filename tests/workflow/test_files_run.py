"""User-supplied files: what makes sense runs, what does not says why, a change is noticed."""

import os
from pathlib import Path

import pytest
import yaml

from scoup import results
from scoup.experiments import names
from scoup.seeds import generator
from tests.workflow.conftest import planned, snakemake, succeeded

TARGETS = ["results/scorecard.json", "results/report.html"]


@pytest.fixture
def asked(tmp_path):
    """A folder with a four-way table, a matrix and a configuration that asks for too much."""
    folder = tmp_path / "run"
    folder.mkdir()
    rows = generator(0, "test", "files run").integers(0, (20, 15, 12, 3), (600, 4))
    lines = [f"u{a},i{b},{c},{'abc'[d]}" for a, b, c, d in rows]
    (folder / "sales.csv").write_text("\n".join(["user,item,week,shop", *lines]) + "\n")
    (folder / "ages.csv").write_text(
        "user,age,income\n" + "".join(f"u{n},{20 + n},{n % 7}\n" for n in range(20))
    )
    options = {
        "tensor": {"file": "sales.csv"},
        "matrices": [{"file": "ages.csv", "mode": "user", "layout": "wide"}],
    }
    mine = {"kind": "files", "source": "local", "size": "full", "seed": 0, "options": options}
    small = {"rank": 2, "max_iter": 5, "init": "random"}
    config = {
        "datasets": {"mine": mine},
        "plans": {"full": small, "sparse2": small},
        "experiments": {
            **dict.fromkeys(names()),
            "sparsity": {
                "datasets": ["mine"],
                "plans": ["sparse2"],
                "finishes": ["none"],
                "seeds": 1,
            },
            "leave_two_out": {"datasets": ["mine"]},
            "anomaly": {"datasets": ["mine"]},
        },
    }
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(config))
    return folder, tmp_path / "mine.yaml"


def test_files_run_and_a_changed_file_is_run_again(asked):
    folder, config = asked
    said = succeeded(snakemake(folder, *TARGETS, config=config))
    why = (
        "leave_two_out is skipped for mine: "
        "it tells dense images of things apart, and the tensor is sparse."
    )
    assert said.count(f"scoup: {why}") == 1
    assert why in (folder / "results/report.html").read_text()
    found = results.read_dataset(folder / "results/preprocess/mine.npz")
    assert found.data.shape == (20, 15, 12, 3)
    assert [label.name for label in found.labels] == ["user", "item", "week", "shop", "ages"]
    assert [file.name for file in found.provenance.files] == ["sales.csv", "ages.csv"]
    assert not planned(succeeded(snakemake(folder, *TARGETS, "--dry-run", config=config)))

    with Path(folder / "sales.csv").open("a") as file:
        file.write("u1,i1,1,a\n")
    later = (folder / "results/scorecard.json").stat().st_mtime + 10
    os.utime(folder / "sales.csv", (later, later))
    again = planned(succeeded(snakemake(folder, *TARGETS, "--dry-run", config=config)))
    assert {"download", "preprocess", "holdout", "sample", "fit", "merge", "experiments"} <= set(
        again
    )


def test_a_file_that_is_not_there_stops_before_any_job(asked):
    folder, config = asked
    (folder / "ages.csv").unlink()
    done = snakemake(folder, config=config)
    assert done.returncode != 0
    assert (
        "datasets.mine: ages.csv: expected a file, got no such file; relative paths start at "
        in done.stderr
    )
    assert not (folder / "results").exists()
