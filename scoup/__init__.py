"""Coupled sparse matrix-tensor factorization by sampling and merging."""

from scoup.block import HeldOut, Observed
from scoup.cells import Cells
from scoup.coupled import CoupledData
from scoup.errors import ScoupError, ScoupWarning
from scoup.estimators import CMTF, SCOUP
from scoup.records import Factors
from scoup.tensor import SparseTensor

__all__ = [
    "CMTF",
    "SCOUP",
    "Cells",
    "CoupledData",
    "Factors",
    "HeldOut",
    "Observed",
    "ScoupError",
    "ScoupWarning",
    "SparseTensor",
]
__version__ = "0.1.0"
