"""PARAFAC of a small dense tensor by eigenvectors, as compiled code."""

import numpy as np

from scoup.kernels.lapack import (
    add_gram,
    add_row_products,
    divide,
    eigenvectors,
    leading_eigenvectors,
)
from scoup.kernels.rows import jit
from scoup.kernels.singular import CUTOFF_EPS, MAX_SCALE_RATIO, pseudoinverse

CUTOFF = CUTOFF_EPS * np.finfo(np.float64).eps


@jit
def algebraic_factors(lapack, cells, others, mixture, factors):
    """Factorize ``cells`` (I, J, K) exactly if they truly have rank F; return whether that is done.

    On the leading F-dimensional subspaces U, V of the first two modes every slice is ``G_k = P
    diag(c_k) Q'``, so the eigenvectors of ``G_1 G_2^-1`` for two mixtures (K, 2) of slices are P;
    the other modes follow by least squares. K counts the cells of all further modes, whose sizes
    are ``others``. What is set are three ``factors``: those of the first two modes, of which the
    second carries the scale, and those of all others, one below the other.
    """
    first, second, rest = factors
    rank = first.shape[1]
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
    if not divide(lapack, mixed[0], mixed[1]) or not _is_finite(mixed[0]):
        return False
    vectors = eigenvectors(lapack, mixed[0])
    first[:] = np.dot(left, vectors)
    # With the first factor known, each column of the rest is an array of rank one: its best second
    # factor is the leading vector over the slices.
    inverse = pseudoinverse(np.dot(vectors.T.copy(), vectors), CUTOFF * rank, MAX_SCALE_RATIO)
    slices = np.dot(np.dot(inverse, vectors.T.copy()), short.reshape(rank, -1))
    sizes = np.empty(1 + others.size, np.int64)
    sizes[0] = cells.shape[1]
    for n in range(others.size):
        sizes[1 + n] = others[n]
    for f in range(rank):
        column = _rank_one(lapack, slices[f], sizes)
        for i in range(sizes[0]):
            second[i, f] = column[i]
        for i in range(len(rest)):
            rest[i, f] = column[sizes[0] + i]
    return _is_finite(second)


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
    if not tall:
        return vectors
    basis = np.dot(unfolded, vectors)
    _orthonormalize(basis)
    return basis


@jit
def _orthonormalize(basis):
    """Make columns orthonormal, in place, twice over: the first time leaves rounding errors."""
    for _ in range(2):
        for f in range(basis.shape[1]):
            for g in range(f):
                inner = 0.0
                for i in range(len(basis)):
                    inner += basis[i, g] * basis[i, f]
                for i in range(len(basis)):
                    basis[i, f] -= inner * basis[i, g]
            norm2 = 0.0
            for i in range(len(basis)):
                norm2 += basis[i, f] ** 2
            scale = 1.0 / np.sqrt(norm2) if norm2 > 0 else 0.0
            for i in range(len(basis)):
                basis[i, f] *= scale


@jit
def _is_finite(matrix):
    for i in range(matrix.shape[0]):
        for f in range(matrix.shape[1]):
            if not np.isfinite(matrix[i, f]):
                return False
    return True


@jit
def _rank_one(lapack, cells, sizes):
    """Leading vector of each mode of an array, one below the other; the first has the scale."""
    column, at = np.empty(np.sum(sizes)), 0
    stride = cells.size
    for n in range(sizes.size):
        width, stride = stride, stride // sizes[n]
        unfolded = np.empty((sizes[n], cells.size // sizes[n]))
        for outer in range(cells.size // width):
            for i in range(sizes[n]):
                for inner in range(stride):
                    cell = cells[outer * width + i * stride + inner]
                    unfolded[i, outer * stride + inner] = cell
        leading = leading_subspace(lapack, unfolded, np.int64(1))
        for i in range(sizes[n]):
            column[at + i] = leading[i, 0]
        at += sizes[n]
    total = 0.0
    for cell in range(cells.size):
        product, rest, end = cells[cell], cell, at
        for n in range(sizes.size - 1, -1, -1):
            end -= sizes[n]
            product *= column[end + rest % sizes[n]]
            rest //= sizes[n]
        total += product
    for i in range(sizes[0]):
        column[i] *= total
    return column
