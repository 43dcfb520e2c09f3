"""Members that are found by listing a folder: a new solver or format is a new file, no more."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from types import ModuleType

from scoup.errors import ScoupError


@cache
def members(package: str) -> tuple[str, ...]:
    """Return the names of the modules in ``package``, sorted; a leading underscore marks a helper.

    The package itself is not imported, so that a list of names costs nothing.

    >>> members("scoup.solvers")
    ('als', 'cd', 'opt', 'reference')
    """
    spec = find_spec(package)
    folders = spec.submodule_search_locations if spec else None
    names = (module.name for module in iter_modules(folders or []))
    return tuple(sorted(name for name in names if not name.startswith("_")))


def load(package: str, name: str) -> ModuleType:
    """Import the member ``name`` of ``package``.

    >>> load("scoup.solvers", "sgd")
    Traceback (most recent call last):
    ...
    scoup.errors.ScoupError: solvers: expected one of als, cd, opt, reference, got 'sgd'.
    """
    if name not in members(package):
        key = package.rpartition(".")[2]
        expected = f"one of {', '.join(members(package))}"
        raise ScoupError.expected(key, expected, repr(name), near(name, members(package)))
    return import_module(f"{package}.{name}")


def near(name: object, known: Iterable[str]) -> str:
    """Return a hint that names the closest of ``known``, or nothing.

    >>> near("rnk", ["rank", "tol"])
    "perhaps 'rank' was meant"
    """
    close = difflib.get_close_matches(str(name), list(known), n=1, cutoff=0.5)
    return f"perhaps {close[0]!r} was meant" if close else ""
