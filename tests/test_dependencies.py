"""Every package that is imported is declared; one that is missing is named with its extra."""

import ast
import json
import re
import subprocess
import sys
import tomllib

import pytest

from tests.workflow.conftest import ROOT

# Names to import that differ from the names of packages.
PACKAGES = {"yaml": "pyyaml", "sklearn": "scikit-learn"}
OURS = {"scoup", "snakemake_logger_plugin_scoup", "tests", "docs", "benchmarks", "digest"}
SHIPPED = ("scoup", "snakemake_logger_plugin_scoup", "workflow")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def declared(*lists):
    """Return the names of packages in lists of requirements."""
    return {re.match(r"[\w-]+", text)[0].lower() for group in lists for text in group}


def locked(name):
    """Return the packages that an environment asks for."""
    lines = (ROOT / "envs" / f"{name}.in").read_text().splitlines()
    return declared([line for line in lines if line and not line.startswith("#")])


def imported(*folders):
    """Return ``{package: paths}`` of all imports from outside the standard library."""
    packages = {}
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            else:
                continue
            for name in {name.partition(".")[0] for name in names} - OURS:
                if name not in sys.stdlib_module_names:
                    package = PACKAGES.get(name, name).replace("_", "-").lower()
                    packages.setdefault(package, set()).add(str(path.relative_to(ROOT)))
    return packages


def test_every_import_is_declared():
    known = declared(PROJECT["dependencies"], *EXTRAS.values())
    assert not {name: paths for name, paths in imported(*SHIPPED).items() if name not in known}


def test_every_declared_dependency_of_the_library_is_imported():
    assert declared(PROJECT["dependencies"]) <= set(imported("scoup"))


@pytest.mark.parametrize(
    ("folder", "locks"), [("tests", ["requirements"]), ("benchmarks", ["requirements", "bench"])]
)
def test_what_tests_and_benchmarks_import_is_locked(folder, locks):
    known = set().union(*map(locked, locks))
    assert not {name: paths for name, paths in imported(folder).items() if name not in known}


def test_the_locks_have_all_that_is_declared():
    # The executor of Kubernetes slows every start of Snakemake, so it has a lock of its own.
    rest = [packages for name, packages in EXTRAS.items() if name != "kubernetes"]
    assert declared(PROJECT["dependencies"], *rest) <= locked("requirements")
    assert declared(EXTRAS["kubernetes"]) <= locked("kubernetes")


# Import every module where no package of an extra can be imported.
WITHOUT_EXTRAS = """
import importlib, json, pkgutil, sys
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder

class Installed(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        hidden = name.partition(".")[0] in sys.argv[1:]
        return None if hidden else super().find_spec(name, path, target)

sys.meta_path[:] = [BuiltinImporter, FrozenImporter, Installed]
import scoup

said = {}
for module in pkgutil.walk_packages(scoup.__path__, "scoup.", onerror=lambda name: None):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            said[module.name] = str(error)
print(json.dumps(said))
"""


def test_without_extras_every_module_can_be_imported_or_names_the_extra():
    brought = declared(*EXTRAS.values()) - declared(PROJECT["dependencies"])
    names = {package: name for name, package in PACKAGES.items()}
    missing = [names.get(package, package.replace("-", "_")) for package in sorted(brought)]
    call = [sys.executable, "-c", WITHOUT_EXTRAS, *missing]
    said = json.loads(subprocess.check_output(call, cwd=ROOT, text=True))
    assert {"scoup.plot", "scoup.experiments.accuracy.figure", "scoup.track"} <= set(said)
    unclear = {
        module: sentence
        for module, sentence in said.items()
        if not re.search(r'is not installed: pip install "scoup\[\w+\]"', sentence)
    }
    assert not unclear
    # The library and the command need no extra.
    assert not {"scoup.estimators", "scoup.command", "scoup.run", "scoup.interop"} & set(said)
