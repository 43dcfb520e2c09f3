"""Singular systems of compiled sweeps, as in :func:`scoup.normal.solve_singular`."""

import numpy as np

from scoup.kernels.rows import jit

# Eigenvalues of a scaled Gram matrix below this multiple of F eps are rounding errors.
CUTOFF_EPS = 10
# Largest ratio of column sizes up to which singular systems get their minimum-norm solution.
MAX_SCALE_RATIO = 1e3


@jit
def solve_singular(gram, rhs, cutoff, max_scale_ratio, factor):
    """Solve ``M G = R`` in place of the old factor, no row worse than before; False if not finite.

    Columns beyond those of the Gram matrix are padding and stay as they are.
    """
    rank = len(gram)
    for f in range(rank):
        for g in range(rank):
            if not np.isfinite(gram[f, g]):
                return False
    inverse = pseudoinverse(gram, cutoff, max_scale_ratio)
    right, old, row, moved = np.empty(rank), np.empty(rank), np.empty(rank), np.empty(rank)
    for i in range(len(factor)):
        for f in range(rank):
            right[f], old[f] = rhs[i, f], factor[i, f]
        _times(right, inverse, row)
        if _objective(gram, right, row) > _objective(gram, right, old):
            # A direction that is cut off may hold more than rounding errors: keep its old part.
            _times(old, gram, moved)
            for f in range(rank):
                moved[f] = right[f] - moved[f]
            _times(moved, inverse, row)
            for f in range(rank):
                row[f] += old[f]
        for f in range(rank):
            factor[i, f] = row[f]
    return True


@jit
def pseudoinverse(gram, cutoff, max_scale_ratio):
    """Pseudoinverse of a positive semidefinite matrix; see :func:`scoup.normal.pseudoinverse`.

    >>> pseudoinverse(np.diag(np.array([4.0, 0.0])), 1e-14, 1e3).tolist()
    [[0.25, 0.0], [0.0, 0.0]]
    """
    rank = len(gram)
    scale, widest, narrowest = _scales(gram, cutoff)
    scaled = np.empty((rank, rank))
    for f in range(rank):
        for g in range(rank):
            scaled[f, g] = gram[f, g] * scale[f] * scale[g]
    values, vectors = np.linalg.eigh(scaled)
    smallest = cutoff * max(values[rank - 1], 0.0)
    inverse, null = np.zeros((rank, rank)), np.zeros((rank, rank))
    for k in range(rank):
        for f in range(rank):
            vectors[f, k] *= scale[f]
            if not values[k] > smallest:
                null[f, k] = vectors[f, k]
        if values[k] > smallest:
            for f in range(rank):
                for g in range(rank):
                    inverse[f, g] += vectors[f, k] * vectors[g, k] / values[k]
    # With columns of very different size the projection would lose all digits of the small ones.
    if widest <= max_scale_ratio * narrowest:
        _remove_directions(inverse, null)
    return inverse


@jit
def _scales(gram, cutoff):
    """Powers of two that bring the diagonal close to 1, 0 for columns that are rounding errors."""
    rank, top = len(gram), 0.0
    scale, widest, narrowest = np.zeros(rank), 0.0, np.inf
    for f in range(rank):
        top = max(top, gram[f, f])
    for f in range(rank):
        if gram[f, f] > cutoff**2 * top:
            scale[f] = 2.0 ** np.rint(np.log2(gram[f, f]) / -2)
            widest, narrowest = max(widest, scale[f]), min(narrowest, scale[f])
    return scale, widest, narrowest


@jit
def _remove_directions(inverse, directions):
    """Project both sides of a symmetric matrix away from the span of some columns, in place."""
    rank = len(inverse)
    basis, sizes, _ = np.linalg.svd(directions)
    inner = np.empty(rank)
    for k in range(rank):
        if not sizes[k] > np.finfo(np.float64).eps * rank * sizes[0]:
            continue
        for side in range(2):
            for g in range(rank):
                inner[g] = 0.0
                for f in range(rank):
                    inner[g] += basis[f, k] * (inverse[f, g] if side == 0 else inverse[g, f])
            for f in range(rank):
                for g in range(rank):
                    step = basis[f, k] * inner[g]
                    if side == 0:
                        inverse[f, g] -= step
                    else:
                        inverse[g, f] -= step


@jit
def _times(row, matrix, out):
    for g in range(row.size):
        out[g] = 0.0
    for f in range(row.size):
        for g in range(row.size):
            out[g] += row[f] * matrix[f, g]


@jit
def _objective(gram, right, row):
    """``m G m' - 2 r m'``: the squared error of a row but for a constant."""
    total = 0.0
    for f in range(row.size):
        for g in range(row.size):
            total += row[f] * gram[f, g] * row[g]
        total -= 2.0 * right[f] * row[f]
    return total
