"""PARAFAC of a small dense tensor by eigenvectors, as compiled code."""

import numpy as np

from scoup.kernels.lapack import add_gram, add_row_products, leading_eigenvectors
from scoup.kernels.rows import jit


@jit
def algebraic_factors(lapack, cells, others, rank, mixture, first, second, rest):
    """Factorize ``cells`` (I, J, K) exactly if they truly have rank F; return whether that is done.

    On the leading F-dimensional subspaces U, V of the first two modes every slice is ``G_k = P
    diag(c_k) Q'``, so the eigenvectors of ``G_1 G_2^-1`` for two mixtures (K, 2) of slices are P;
    the other modes follow by least squares. K counts the cells of all further modes, whose sizes
    are ``others`` and whose factors are set one below the other in ``rest``; those of the first two
    modes in ``first`` and ``second``, which carries the scale.
    """
    lines = cells.reshape(len(cells), -1)
    left = leading_subspace(lapack, lines, rank)
    short = np.dot(left.T.copy(), lines).reshape(rank, cells.shape[1], -1)
    short_rows = short.transpose(1, 0, 2).copy()
    # The subspace of a very long mode is that of the projected tensor, which leaves a small Gram
    # matrix; of other modes it is that of the whole tensor, which noise disturbs less.
    whole = short_rows if cells.shape[1] ** 2 >= cells.size else cells.transpose(1, 0, 2).copy()
    right = leading_subspace(lapack, whole.reshape(len(whole), -1), rank)
    core = np.dot(right.T.copy(), short_rows.reshape(len(whole), -1)).reshape(rank, rank, -1)
    mixed = np.zeros((2, rank, rank))
    for g in range(rank):
        for f in range(rank):
            for k in range(core.shape[2]):
                mixed[0, f, g] += core[g, f, k] * mixture[k, 0]
                mixed[1, f, g] += core[g, f, k] * mixture[k, 1]
    vectors = np.zeros((rank, rank))
    if not _set_eigenvectors(mixed[0], mixed[1], vectors):
        return False
    first[:] = np.dot(left, vectors)
    # With the first factor known, each column of the rest is an array of rank one: its best second
    # factor is the leading vector over the slices.
    slices = np.dot(np.linalg.pinv(vectors), short.reshape(rank, -1))
    sizes = np.empty(1 + others.size, np.int64)
    sizes[0], sizes[1:] = cells.shape[1], others
    for f in range(rank):
        column = _rank_one(lapack, slices[f], sizes)
        second[:, f], rest[:, f] = column[: sizes[0]], column[sizes[0] :]
    return True


@jit
def leading_subspace(lapack, unfolded, rank):
    """Orthonormal basis (I, F) of the leading subspace of (I, n), by the smaller Gram matrix."""
    tall = unfolded.shape[0] > unfolded.shape[1]
    size = min(unfolded.shape)
    gram = np.zeros((size, size))
    if tall:
        add_gram(lapack, unfolded, gram)
    else:
        add_row_products(lapack, unfolded, gram)
    vectors = leading_eigenvectors(lapack, gram, rank)
    return np.linalg.qr(np.dot(unfolded, vectors))[0].copy() if tall else vectors


@jit
def _set_eigenvectors(left, right, vectors):
    """Set the real parts of the eigenvectors of ``G_1 G_2^-1``; return False if there are none."""
    try:
        product = np.dot(left, np.linalg.inv(right)).astype(np.complex128)
        vectors[:] = np.linalg.eig(product)[1].real
    except Exception:  # noqa: BLE001 - numba knows no other; a singular matrix, or not finite
        return False
    return True


@jit
def _rank_one(lapack, cells, sizes):
    """Leading vector of each mode of an array, one below the other; the first has the scale."""
    column, at = np.empty(sizes.sum()), 0
    stride = cells.size
    for n in range(sizes.size):
        width, stride = stride, stride // sizes[n]
        unfolded = np.empty((sizes[n], cells.size // sizes[n]))
        for outer in range(cells.size // width):
            for i in range(sizes[n]):
                for inner in range(stride):
                    cell = cells[outer * width + i * stride + inner]
                    unfolded[i, outer * stride + inner] = cell
        column[at : at + sizes[n]] = leading_subspace(lapack, unfolded, 1)[:, 0]
        at += sizes[n]
    total = 0.0
    for cell in range(cells.size):
        product, rest, end = cells[cell], cell, at
        for n in range(sizes.size - 1, -1, -1):
            end -= sizes[n]
            product *= column[end + rest % sizes[n]]
            rest //= sizes[n]
        total += product
    column[: sizes[0]] *= total
    return column
