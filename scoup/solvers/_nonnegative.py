"""The updates of non-negative factors."""

from scoup.kernels.nonnegative import SWEEP_GAIN, solve_nonnegative
from scoup.records import Array


def improve(gram: Array, rhs: Array, factor: Array) -> Array:
    """Lower the cost over the non-negative rows of one factor, nearly to the minimum.

    What is left is not worth the time as long as sweeps follow.

    >>> import numpy as np
    >>> improve(np.eye(2) * 2, np.array([[2.0, -4.0]]), np.ones((1, 2))).tolist()
    [[1.0, 0.0]]
    """
    return solve_nonnegative(gram, rhs, factor, SWEEP_GAIN)


def minimise(gram: Array, rhs: Array, factor: Array) -> Array:
    """Minimise the cost over the non-negative rows of one factor.

    >>> import numpy as np
    >>> minimise(np.eye(2) * 2, np.array([[2.0, -4.0]]), np.ones((1, 2))).tolist()
    [[1.0, 0.0]]
    """
    return solve_nonnegative(gram, rhs, factor)
