"""log(1 + count), which tames floods."""

import numpy as np

from scoup.coupled import CoupledData
from scoup.values._cells import revalued


def apply(data: CoupledData) -> CoupledData:
    """Return the data with ``log(1 + x)`` in the cells of the sparse tensor."""
    return revalued(data, "log", lambda tensor: np.log1p(tensor.values))
