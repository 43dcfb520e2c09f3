"""Digest of the code that a stage runs: its script's modules of scoup, followed through their imports.

Snakemake watches a rule's script but not what the script imports, so each rule carries this digest
in its params, as a function: the process of one job on a cluster takes that of its own rule alone. It is taken from the
parsed code without docstrings: a comment changes nothing.
"""

import ast
import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "scoup"


@cache
def digest(script: str, *extra: str) -> str:
    """Return a digest of everything of scoup that ``workflow/scripts/<script>.py`` imports, and of ``extra``."""
    found = modules_of(script, *extra)
    return hashlib.sha256(
        "\n".join(f"{name} {_code(name)}" for name in found).encode()
    ).hexdigest()[:16]


def code_of(script: str) -> Callable[[Any], str]:
    """Return the digest of a script as a function of wildcards: Snakemake calls it for the jobs of a process alone."""
    return lambda wildcards: digest(script)


def modules_of(script: str, *extra: str) -> list[str]:
    """List the modules of scoup that a script uses, directly or not."""
    seen: set[str] = set()
    todo = [*_imports(ROOT / "workflow" / "scripts" / f"{script}.py", ""), *extra]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += _imports(_path(name), name)
    return sorted(seen)


def _path(name: str) -> Path | None:
    base = ROOT.joinpath(*name.split("."))
    return next(
        (path for path in (base.with_suffix(".py"), base / "__init__.py") if path.exists()), None
    )


@cache
def _imports(path: Path, importer: str) -> tuple[str, ...]:
    named: list[str] = []
    for node in ast.walk(_parsed(path)):
        if isinstance(node, ast.Import):
            named += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, path, importer)
            named += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    # The root package only re-exports; following it would make every stage hang on every module.
    return tuple(name for name in named if name.startswith(f"{PACKAGE}.") and _path(name))


def _absolute(node: ast.ImportFrom, path: Path, importer: str) -> str:
    if not node.level:
        return node.module or ""
    parts = importer.split(".")
    package = parts if path.name == "__init__.py" else parts[:-1]
    return ".".join(
        [*package[: len(package) - node.level + 1], *([node.module] if node.module else [])]
    )


@cache
def _code(name: str) -> str:
    return hashlib.sha256(ast.dump(_parsed(_path(name))).encode()).hexdigest()


@cache
def _parsed(path: Path) -> ast.Module:
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node, clean=False
        ):
            node.body[0] = ast.Pass()
    return tree
