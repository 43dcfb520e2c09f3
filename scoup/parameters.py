"""Parameters of an estimator by name, in the manner of scikit-learn."""

import inspect
from typing import Any, Self

from scoup.errors import ScoupError


class Parameters:
    """The arguments of ``__init__``, each kept as an attribute of the same name.

    scikit-learn's ``clone`` and searches need nothing else.

    >>> class Estimator(Parameters):
    ...     def __init__(self, rank=2, seed=0):
    ...         self.rank, self.seed = rank, seed
    >>> Estimator(rank=3).set_params(seed=7)
    Estimator(rank=3, seed=7)
    """

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        signature = inspect.signature(cls.__init__)
        return {name: p.default for name, p in signature.parameters.items() if name != "self"}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name (scikit-learn passes ``deep``)."""
        del deep
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name and return the estimator."""
        names = list(self._defaults())
        for name, value in params.items():
            if name not in names:
                raise ScoupError.expected("parameter", "one of " + ", ".join(names), repr(name))
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """Name the parameters that differ from their defaults; arrays have no single truth."""
        defaults = self._defaults()
        changed = {
            name: repr(value)
            for name, value in self.get_params().items()
            if repr(value) != repr(defaults[name])
        }
        arguments = ", ".join(f"{name}={value}" for name, value in changed.items())
        return f"{type(self).__name__}({arguments})"
