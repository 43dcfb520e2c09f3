"""1 wherever anything was counted."""

import numpy as np

from scoup.coupled import CoupledData
from scoup.values._cells import revalued


def apply(data: CoupledData) -> CoupledData:
    """Return the data with every non-zero of the sparse tensor at 1."""
    return revalued(data, "binary", lambda tensor: np.ones(tensor.nnz))
