"""1 / the square root of the number of last-mode indices (days) on which two users meet.

Every pair of users counts the same, however often they meet, so that many pairs who meet on the
same days outweigh one long conversation.
"""

import numpy as np

from scoup.coupled import CoupledData
from scoup.values._cells import meetings, revalued


def apply(data: CoupledData) -> CoupledData:
    """Return the data with each cell (i, j, k) at (number of k at which i and j meet)^(-1/2).

    >>> from scoup.tensor import SparseTensor
    >>> posts = SparseTensor(np.array([[0] * 4, [1] * 4, range(4)]), np.ones(4), (2, 2, 4))
    >>> apply(CoupledData(posts)).blocks[0].values.values.tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    return revalued(data, "even", lambda tensor: 1.0 / np.sqrt(meetings(tensor)))
