"""What is published: the wheel holds the whole workflow, and the same files give the same bytes."""

import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version

import pytest

import scoup
from tests.workflow.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
BUILD = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"


def build(folder):
    """Build the wheel and return its path."""
    folder.mkdir()
    subprocess.run([sys.executable, "-c", BUILD, str(folder)], cwd=ROOT, check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from this folder."""
    return build(tmp_path_factory.mktemp("dist") / "first")


def files(*folders):
    """List files as git would: without what Python and numba leave behind."""
    return {
        str(path.relative_to(ROOT))
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_holds_every_file_of_package_and_workflow_once(wheel):
    held = [name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name]
    assert len(held) == len(set(held))
    inside = {"Snakefile", "config.yaml", "envs/scoup.yaml", *files("workflow", "docs/bikes")}
    mapped = {f"scoup/_project/{path}".replace("workflow/profiles", "profiles") for path in inside}
    assert set(held) == mapped | files("scoup", "snakemake_logger_plugin_scoup")


def test_the_same_files_give_the_same_wheel(wheel, tmp_path):
    assert build(tmp_path / "second").read_bytes() == wheel.read_bytes()


def test_the_version_is_said_in_one_place(wheel):
    assert "version" in PROJECT["project"]["dynamic"]
    assert version("scoup") == scoup.__version__ == wheel.name.split("-")[1]
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert cited[1] == scoup.__version__
    assert f"## {scoup.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_supported_python_is_known_to_make_and_to_ci():
    endings = [text.rpartition(" ")[2] for text in PROJECT["project"]["classifiers"]]
    names = sorted(ending for ending in endings if re.fullmatch(r"3\.\d\d", ending))
    assert PROJECT["project"]["requires-python"] == f">={names[0]}"
    makefile, ci = ((ROOT / path).read_text() for path in ("Makefile", ".github/workflows/ci.yml"))
    for name in names:
        assert f"python{name}" in makefile
        assert f'"{name}"' in ci


def test_make_takes_the_newest_python_that_starts(tmp_path):
    broken = "#!/bin/sh\nexit 127\n"  # as the names of a version manager may be
    working = f'#!/bin/sh\nexec {sys.executable} "$@"\n'
    scripts = {"3.14": broken, "3.13": broken, "3.12": working, "3.11": working}
    for name, text in scripts.items():
        (tmp_path / f"python{name}").write_text(text)
        (tmp_path / f"python{name}").chmod(0o755)
    probe = tmp_path / "probe.mk"
    probe.write_text(f"include {ROOT / 'Makefile'}\nchosen:\n\t@echo $(PYTHON3)\n")
    said = subprocess.check_output(
        ["make", "-s", "-f", str(probe), "chosen"],
        cwd=ROOT,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        text=True,
    )
    assert said.strip() == "python3.12"


def test_every_variable_that_make_reads_is_set_or_asked_for():
    text = (ROOT / "Makefile").read_text()
    read = set(re.findall(r"\$\(([A-Z][A-Z0-9_]*)\)", text)) - {"MAKE", "MAKEFILE_LIST"}
    known = set(re.findall(r"^([A-Z][A-Z0-9_]*) *[?:]?=", text, re.M))
    known |= set(re.findall(r"\$\(if \$\(([A-Z]+)\)", text))
    assert read - known == {"DATA", "FLAGS"}  # from the command line


@pytest.mark.parametrize("lock", sorted((ROOT / "envs").glob("*.txt")), ids=lambda path: path.stem)
def test_a_lock_has_hashes_and_names_no_host(lock):
    text = lock.read_text()
    assert "://" not in text
    packages = re.findall(r"^[a-zA-Z0-9].*==.*$", text, re.M)
    assert packages
    assert all(line.endswith("\\") for line in packages)
