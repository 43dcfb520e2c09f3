"""Many small symmetric systems at once."""

from __future__ import annotations

import numpy as np
from numba import njit

from scoup.kernels.fibres import Array, frozen
from scoup.kernels.pool import share

ROWS = 64
# Relative to the largest diagonal entry (Cholesky) or eigenvalue (fallback): below it a direction is not determined.
CUTOFF = 1e-12


def solve_rows(grams: Array, rhs: Array) -> Array:
    """Solve ``grams[i] @ out[i] = rhs[i]`` for symmetric positive semidefinite grams (n, F, F), rhs (n, F).

    A singular system gets its solution of least norm; a zero Gram matrix gives a zero row.

    >>> solve_rows(np.array([[[4.0]], [[0.0]]]), np.array([[8.0], [1.0]])).tolist()
    [[2.0], [0.0]]
    """
    count, rank = rhs.shape
    systems, right = frozen(grams), frozen(rhs)
    out = np.empty_like(right)
    singular = np.zeros(count, np.bool_)
    share(
        -(-count // ROWS),
        lambda a, b: _cholesky_rows(a * ROWS, min(b * ROWS, count), systems, right, out, singular),
        count * rank**3 / 6,
    )
    for block in np.array_split(np.flatnonzero(singular), -(-int(singular.sum()) // 4096) or 1):
        out[block] = _least_norm(systems[block], right[block])
    return out


def _least_norm(grams: Array, rhs: Array) -> Array:
    """Solve by eigenvalues, leaving out the directions that the Gram matrices do not determine."""
    values, vectors = np.linalg.eigh(grams.astype(np.float64))
    keep = values > CUTOFF * np.maximum(values[:, -1:], 0)
    inverse = np.where(keep, 1 / np.where(keep, values, 1), 0)
    inner = np.einsum("nfg,nf->ng", vectors, rhs) * inverse
    return np.einsum("nfg,ng->nf", vectors, inner)


@njit(cache=True, nogil=True)
def _cholesky_rows(first, last, grams, rhs, out, singular):
    rank = rhs.shape[1]
    low, y = np.empty((rank, rank)), np.empty(rank)
    for i in range(first, last):
        top = 0.0
        for f in range(rank):
            top = max(top, grams[i, f, f])
        good = bool(top > 0)
        for f in range(rank):
            if not good:
                break
            for g in range(f):
                total = np.float64(grams[i, f, g])
                for h in range(g):
                    total -= low[f, h] * low[g, h]
                low[f, g] = total / low[g, g]
            pivot = np.float64(grams[i, f, f])
            for h in range(f):
                pivot -= low[f, h] * low[f, h]
            good = bool(pivot > CUTOFF * top)
            low[f, f] = np.sqrt(pivot) if good else 1.0
        singular[i] = not good
        if not good:
            continue
        for f in range(rank):
            total = np.float64(rhs[i, f])
            for g in range(f):
                total -= low[f, g] * y[g]
            y[f] = total / low[f, f]
        for f in range(rank - 1, -1, -1):
            total = y[f]
            for g in range(f + 1, rank):
                total -= low[g, f] * y[g]
            y[f] = total / low[f, f]
            out[i, f] = y[f]
