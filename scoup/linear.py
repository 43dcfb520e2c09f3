"""The small linear systems of alternating least squares."""

import numpy as np
from scipy.linalg import lapack

from scoup import kernels
from scoup.records import Array

# Below this ratio of pivots the Gram matrix is treated as singular: its condition number is
# that of the factors squared, so half of the digits are gone by then.
_WORST_PIVOT = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-5}
# Called as they are: scipy's checks around them take longer than a system of rank 5.
_CHOLESKY = {np.dtype(np.float64): lapack.dpotrf, np.dtype(np.float32): lapack.spotrf}
_BACK = {np.dtype(np.float64): lapack.dpotrs, np.dtype(np.float32): lapack.spotrs}


def solve_normal(gram: Array, rhs: Array) -> Array:
    """Solve ``M G = R`` for M (I, F), with one G (F, F) for all rows or one per row (I, F, F).

    Where G is singular the minimum-norm solution is returned, as by the pseudoinverse of the lemma.

    >>> solve_normal(np.diag([2.0, 0.0]), np.array([[4.0, 0.0]])).tolist()
    [[2.0, 0.0]]
    """
    if gram.ndim == 3:
        return kernels.solve_rows(gram, rhs)
    scale = np.sqrt(np.maximum(gram.diagonal(), 0.0))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0).astype(gram.dtype)
    scaled = gram * inverse * inverse[:, None]
    factor, failed = _CHOLESKY[gram.dtype](scaled, lower=True)
    if not failed and (factor.diagonal() ** 2).min() > _WORST_PIVOT[gram.dtype]:
        whole = _BACK[gram.dtype](factor, np.diag(inverse), lower=True)[0] * inverse[:, None]
        return kernels.product(rhs, np.ascontiguousarray(whole))
    return rhs @ pseudoinverse(gram)


def pseudoinverse(gram: Array) -> Array:
    """Pseudoinverse of a symmetric positive semidefinite (F, F) matrix by its eigenvalues.

    >>> pseudoinverse(np.diag([4.0, 0.0])).tolist()
    [[0.25, 0.0], [0.0, 0.0]]
    """
    values, vectors = np.linalg.eigh(gram.astype(np.float64))
    keep = values > max(values[-1], 0.0) * 1e-14
    inverse = (vectors[:, keep] / values[keep]) @ vectors[:, keep].T
    return inverse.astype(gram.dtype)
