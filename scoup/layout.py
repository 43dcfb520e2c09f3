"""Where the package is installed: its files that are no code, and its command."""

import shlex
import shutil
import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def project_folder() -> Path:
    """Return the folder of the Snakefile: the top of a clone, or its copy in an installed package.

    >>> (project_folder() / "Snakefile").exists()
    True
    """
    installed = _PACKAGE / "_project"
    return installed if installed.exists() else _PACKAGE.parent


def command_name() -> str:
    """Return how to call ``scoup`` so that a printed command runs as it stands."""
    script = Path(sys.executable).parent / "scoup"
    found = shutil.which("scoup")
    if found and Path(found).resolve() == script.resolve():
        return "scoup"
    if not script.exists():
        return f"{shlex.quote(sys.executable)} -m scoup"
    near = script.is_relative_to(Path.cwd())
    return shlex.quote(str(script.relative_to(Path.cwd()) if near else script))
