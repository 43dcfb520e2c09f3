"""Digest of the code that a job runs: the modules of scoup that its script imports.

Snakemake watches a rule's script but not what the script imports, so each rule carries this digest
in its params, as a function: the process of one job on a cluster computes that of its own rule
alone. It is taken from the parsed code without docstrings: a comment changes nothing. Members that
are found by listing (a solver, a kind of data set) are named by the rule.
"""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "scoup"
# The nearest folder that holds the package: this project's, or the one it is installed in.
HOME = next(
    folder for folder in (ROOT, *ROOT.parents) if (folder / PACKAGE / "__init__.py").exists()
)


@cache
def digest(script: str, *members: str) -> str:
    """Return a digest of what ``workflow/scripts/<script>.py`` imports, and of ``members``."""
    lines = [f"{name} {_code(name)}" for name in modules_of(script, *members)]
    lines += [f"{path.name} {_content(path)}" for member in members for path in _data_of(member)]
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
    named: list[str] = []
    for node in _statements(_parsed(path)):
        if isinstance(node, ast.Import):
            named += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, path, importer)
            named += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    # The root package only re-exports; following it would make every stage depend on every module.
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
