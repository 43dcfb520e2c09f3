"""Digest of the code that a job runs: the modules of scoup that its script imports.

Snakemake watches a rule's script but not what the script imports, so each rule carries this digest
in its params, as a function: the process of one job on a cluster computes that of its own rule
alone. It is taken from the parsed code without docstrings: a comment changes nothing. Members that
are found by listing (a solver, a kind of data set) are named by the rule.

Parsing all modules takes a second of every start, so what is known of a file is kept next to the
bytecode of this one, under a checksum of its content.
"""

import ast
import contextlib
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

from scoup import store
from scoup.errors import ScoupError

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "scoup"
# The nearest folder that holds the package: this project's, or the one it is installed in.
HOME = next(
    folder for folder in (ROOT, *ROOT.parents) if (folder / PACKAGE / "__init__.py").exists()
)
KNOWN_FILE = Path(cache_from_source(__file__)).with_suffix(".json")
MAX_KNOWN_FILES = 2000


@cache
def digest(script: str, *members: str) -> str:
    """Return a digest of what ``workflow/scripts/<script>.py`` imports, and of ``members``."""
    known_before = len(_known())
    lines = [f"{name} {_code(name)}" for name in modules_of(script, *members)]
    lines += [f"{path.name} {_content(path)}" for member in members for path in _data_of(member)]
    if len(_known()) > known_before:
        _remember()
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def modules_of(script: str, *members: str) -> list[str]:
    """List the modules of scoup that a script uses; a package counts as a whole."""
    seen: set[str] = set()
    todo = list(_imports(ROOT / "workflow" / "scripts" / f"{script}.py", ""))
    todo += [name for member in members for name in _all_of(member)]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += _imports(_path(name), name)
    return sorted(seen)


def _all_of(member: str) -> list[str]:
    folder = HOME.joinpath(*member.split("."))
    names = (path.relative_to(HOME).with_suffix("").parts for path in folder.rglob("*.py"))
    return [member, *(".".join(part for part in parts if part != "__init__") for parts in names)]


def _data_of(member: str) -> list[Path]:
    """List the files of a package that are no code, such as templates."""
    files = HOME.joinpath(*member.split(".")).rglob("*.*")
    return sorted(path for path in files if path.suffix not in (".py", ".pyc", ".nbi", ".nbc"))


@cache
def _content(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _path(name: str) -> Path | None:
    base = HOME.joinpath(*name.split("."))
    return next(
        (path for path in (base.with_suffix(".py"), base / "__init__.py") if path.exists()), None
    )


@cache
def _imports(path: Path, importer: str) -> tuple[str, ...]:
    # The root package only re-exports; following it would make every stage depend on every module.
    named = _facts(path, importer)["imports"]
    return tuple(name for name in named if name.startswith(f"{PACKAGE}.") and _path(name))


@cache
def _facts(path: Path, importer: str) -> dict[str, Any]:
    """Return the names that a file imports and the checksum of its code, if need be by parsing."""
    content = path.read_bytes()
    key = hashlib.sha256(f"{importer} {path.name}\n".encode() + content).hexdigest()
    known = _known()
    if key not in known:
        tree = _parsed(content)
        code = hashlib.sha256(ast.dump(tree).encode()).hexdigest()
        known[key] = {"imports": list(_named(tree, path, importer)), "code": code}
    return known[key]


@cache
def _known() -> dict[str, dict[str, Any]]:
    """Return what earlier starts found out; a file that is missing or damaged says nothing."""
    try:
        return dict(json.loads(KNOWN_FILE.read_text()))
    except (OSError, ValueError):
        return {}


def _remember() -> None:
    """Write what is known, where that is possible: an installation may be read-only."""
    newest = list(_known().items())[-MAX_KNOWN_FILES:]
    with contextlib.suppress(OSError, ScoupError):
        store.write_json(KNOWN_FILE, dict(newest))


def _named(tree: ast.Module, path: Path, importer: str) -> Iterator[str]:
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, path, importer)
            yield from (base, *(f"{base}.{alias.name}" for alias in node.names))


def _absolute(node: ast.ImportFrom, path: Path, importer: str) -> str:
    if not node.level:
        return node.module or ""
    parts = importer.split(".")
    package = parts if path.name == "__init__.py" else parts[:-1]
    return ".".join(
        [*package[: len(package) - node.level + 1], *([node.module] if node.module else [])]
    )


def _code(name: str) -> str:
    return str(_facts(_path(name), name)["code"])


def _parsed(content: bytes) -> ast.Module:
    """Return the code without its docstrings."""
    tree = ast.parse(content)
    for node in (tree, *_statements(tree)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node, clean=False
        ):
            node.body[0] = ast.Pass()
    return tree


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements in a block; expressions, most of a tree, hold none."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        block = getattr(node, field, ())
        for statement in block if isinstance(block, list) else ():
            yield statement
            yield from _statements(statement)
