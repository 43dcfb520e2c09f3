"""1 / the number of last-mode indices (days) on which the first two modes (users) meet.

Long conversations, which otherwise drown everything, count for next to nothing, while a poster who
writes on many walls on one day, and never otherwise, keeps his full weight.
"""

from scoup.coupled import CoupledData
from scoup.values._cells import meetings, revalued


def apply(data: CoupledData) -> CoupledData:
    """Return the data with each cell (i, j, k) at 1 / (number of k at which i and j meet).

    >>> import numpy as np
    >>> from scoup.tensor import SparseTensor
    >>> posts = SparseTensor(np.array([[0, 0], [1, 1], [0, 3]]), np.array([4.0, 1.0]), (2, 2, 4))
    >>> apply(CoupledData(posts)).blocks[0].values.values.tolist()
    [0.5, 0.5]
    """
    return revalued(data, "rare", lambda tensor: 1.0 / meetings(tensor))
