"""1 / the number of last-mode indices (days) on which the first two modes (users) meet.

Long conversations, which otherwise drown everything, count for next to nothing, while a poster who
writes on many walls on one day, and never otherwise, keeps his full weight.
"""

import numpy as np

from scoup.coupled import CoupledData
from scoup.records import Array
from scoup.tensor import SparseTensor
from scoup.values._cells import revalued


def apply(data: CoupledData) -> CoupledData:
    """Return the data with each cell (i, j, k) at 1 / (number of k at which i and j meet).

    >>> posts = SparseTensor(np.array([[0, 0], [1, 1], [0, 3]]), np.array([4.0, 1.0]), (2, 2, 4))
    >>> apply(CoupledData(posts)).blocks[0].values.values.tolist()
    [0.5, 0.5]
    """
    return revalued(data, "rare", _inverse_meetings)


def _inverse_meetings(tensor: SparseTensor) -> Array:
    pair = tensor.coords[0].astype(np.int64) * tensor.shape[1] + tensor.coords[1]
    _, position, count = np.unique(pair, return_inverse=True, return_counts=True)
    return 1.0 / count[position]
