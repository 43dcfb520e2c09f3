"""Coupled sparse matrix-tensor factorization by sampling and merging.

Names are loaded on first use: a job that only reads a file need not wait for a compiler.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scoup import plot
    from scoup.block import HeldOut, Observed
    from scoup.cells import Cells
    from scoup.coupled import CoupledData
    from scoup.errors import ScoupError, ScoupWarning
    from scoup.estimators import CMTF, SCOUP
    from scoup.noise import NoiseNormalizer
    from scoup.reading import read
    from scoup.records import Factors
    from scoup.tensor import SparseTensor

__all__ = [
    "CMTF",
    "SCOUP",
    "Cells",
    "CoupledData",
    "Factors",
    "HeldOut",
    "NoiseNormalizer",
    "Observed",
    "ScoupError",
    "ScoupWarning",
    "SparseTensor",
    "plot",
    "read",
]
__version__ = "0.1.0"

_HOME = {
    "CMTF": "estimators",
    "SCOUP": "estimators",
    "Cells": "cells",
    "CoupledData": "coupled",
    "Factors": "records",
    "HeldOut": "block",
    "NoiseNormalizer": "noise",
    "Observed": "block",
    "ScoupError": "errors",
    "ScoupWarning": "errors",
    "SparseTensor": "tensor",
    "read": "reading",
}


def __getattr__(name: str) -> Any:
    """Load a public name from the module that defines it."""
    if name == "plot":
        return import_module(f"{__name__}.plot")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
