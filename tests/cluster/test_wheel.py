"""The wheel alone runs on a real Slurm, from a folder that is no clone."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
import yaml

from scoup.seeds import generator
from tests.test_dist import build
from tests.workflow.test_runs import digests

pytestmark = pytest.mark.cluster
TARGET = "results/plot/accuracy.svg"


@pytest.fixture
def python(tmp_path):
    """An interpreter with the wheel, next to the packages of this one but not to this clone."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    site = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
    zipfile.ZipFile(build(tmp_path / "dist")).extractall(site)
    # A line of a .pth file adds a folder, but not the .pth files in it, one of which is our own.
    (site / "packages.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    python = tmp_path / "venv" / "bin" / "python"
    where = "import scoup; print(scoup.__file__)"
    said = subprocess.check_output([python, "-c", where], cwd=tmp_path, text=True, env=no_clone())
    assert Path(said).is_relative_to(tmp_path)
    return python


@pytest.fixture
def folder(tmp_path):
    """A folder with a table of posts."""
    folder = tmp_path / "here"
    folder.mkdir()
    cells = generator(0, "test", "wheel").integers(0, (12, 10, 8), (300, 3))
    rows = "".join(f"w{a},p{b},{c}\n" for a, b, c in cells)
    (folder / "posts.csv").write_text("wall,poster,day\n" + rows)
    return folder


def no_clone():
    """Return the environment without the paths of a clone."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


def run(python, folder, *words):
    """Run the command in the folder; return its output."""
    environment = {**no_clone(), "XDG_CACHE_HOME": str(folder.parent / "cache")}
    call = [str(python), "-m", "scoup", *words]
    done = subprocess.run(
        call, cwd=folder, capture_output=True, text=True, env=environment, timeout=900, check=False
    )
    log = folder / "results" / "logs" / "run.log"
    assert done.returncode == 0, done.stderr[-3000:] + (log.read_text() if log.exists() else "")
    return done.stdout + done.stderr


def shorten(config):
    """Leave one experiment of two repetitions: every stage, in few jobs."""
    settings = yaml.safe_load(config.read_text())
    accuracy = {**settings["experiments"]["accuracy"], "seeds": 1}
    settings["experiments"] = {**dict.fromkeys(settings["experiments"]), "accuracy": accuracy}
    settings["plans"]["scoup"]["repetitions"] = 2
    config.write_text(yaml.safe_dump(settings))


def test_the_wheel_runs_on_slurm_from_a_folder_that_is_no_clone(cluster, python, folder, tmp_path):
    assert "scoup run walls.yaml" in run(python, folder, "new", "walls", "posts.csv").replace(
        f"{python} -m scoup", "scoup"
    )
    shorten(folder / "walls.yaml")
    said = run(
        python, folder, "run", "walls.yaml", TARGET, "--workflow-profile", "slurm",
        "--slurm-init-seconds-before-status-checks", "2", "--max-status-checks-per-second", "1",
    )  # fmt: skip
    assert "results/plot" in said
    assert {job["state"] for job in cluster.jobs()} == {"COMPLETED"}
    local = tmp_path / "local"
    local.mkdir()
    for name in ("posts.csv", "walls.yaml"):
        shutil.copy2(folder / name, local / name)  # with its time, which is part of the provenance
    run(python, local, "run", "walls.yaml", TARGET, "--cores", "1")
    assert digests(folder) == digests(local)
