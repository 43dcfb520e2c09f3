"""Every package that scoup imports is declared, in the library's list or in an extra."""

import ast
import re
import sys
import tomllib

from tests.workflow.conftest import ROOT

# Names to import that differ from the names of packages.
PACKAGES = {"yaml": "pyyaml", "sklearn": "scikit-learn"}


def declared(*lists):
    """Return the names of packages in lists of requirements."""
    return {re.match(r"[\w-]+", text)[0].lower() for group in lists for text in group}


def imported():
    """Return ``{package: paths}`` of all imports of scoup from outside the standard library."""
    packages = {}
    for path in (ROOT / "scoup").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            else:
                continue
            for name in {name.partition(".")[0] for name in names} - {"scoup"}:
                if name not in sys.stdlib_module_names:
                    packages.setdefault(PACKAGES.get(name, name).lower(), []).append(path.name)
    return packages


def test_every_import_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    known = declared(project["dependencies"], *project["optional-dependencies"].values())
    assert not {name: paths for name, paths in imported().items() if name not in known}


def test_every_declared_dependency_of_the_library_is_imported():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert declared(project["dependencies"]) <= set(imported())
