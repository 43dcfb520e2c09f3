"""Packages that only some uses need: if one is missing, the error says how to install it."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from scoup.errors import ScoupError


class MissingPackageError(ScoupError, ModuleNotFoundError):
    """A package is not installed; ``name`` is what it is imported as."""

    def __init__(self, package: str, name: str) -> None:
        super().__init__(f'{package} is not installed: pip install "scoup[{name}]" brings it.')
        self.name = package


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Import packages of an extra; one that is missing is named, with what to install.

    >>> with extra("workflow"):
    ...     import no_such_package
    Traceback (most recent call last):
    ...
    scoup.extras.MissingPackageError: no_such_package is not installed: pip install ...
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if isinstance(error, MissingPackageError) or not error.name:
            raise
        raise MissingPackageError(error.name, name) from None


def require(package: str, name: str) -> None:
    """Refuse to go on without a package of an extra that is imported later, or elsewhere."""
    if find_spec(package) is None:
        raise MissingPackageError(package, name)
