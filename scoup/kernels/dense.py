"""Passes over a dense tensor, viewed as (pre, n, post), that make no temporary of its size."""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.linalg import blas

from scoup.kernels.fibres import Array, frozen
from scoup.kernels.pool import share

# Chunks of a density pass: private vectors for each, added up in the order of the chunks.
PASSES = 16
GRAM_ROWS = 1024


def densities(values: Array) -> list[Array]:
    """Sums of absolute values over all cells of each index, one vector a mode, in float64 and one pass.

    ``d_n[i] = sum over cells with index i in mode n of |x|``

    >>> [d.tolist() for d in densities(np.array([[1.0, -2.0], [0.0, 4.0]]))]
    [[3.0, 4.0], [1.0, 6.0]]
    """
    array = frozen(values)
    shape = np.array(array.shape, np.int64)
    lines = frozen(array.reshape(-1, array.shape[-1]))
    chunks = max(1, min(PASSES, lines.shape[0], array.size // 65536))
    cuts = np.linspace(0, lines.shape[0], chunks + 1).astype(np.int64)
    sums = np.zeros((chunks, int(shape.sum())))

    def work(first: int, last: int) -> None:
        for chunk in range(first, last):
            _density_lines(cuts[chunk], cuts[chunk + 1], lines, shape, sums[chunk])

    share(chunks, work, array.size)
    return np.split(sums.sum(axis=0), np.cumsum(shape)[:-1])


def contract(tensor: Array, factor: Array) -> Array:
    """Multiply the middle mode of (pre, n, post) by a factor (n, F), giving (pre, post, F).

    ``P[p, q, f] = sum_j X[p, j, q] M[j, f]``

    >>> contract(np.ones((1, 2, 1)), np.array([[3.0], [4.0]])).tolist()
    [[[7.0]]]
    """
    return np.matmul(tensor.transpose(0, 2, 1), factor)


def spread(tensor: Array, kernel: Array) -> Array:
    """Multiply the outer modes of (pre, n, post) by (pre, post, F), giving (n, F).

    ``R[j, f] = sum_{p, q} X[p, j, q] K[p, q, f]``

    >>> spread(np.ones((1, 2, 1)), np.full((1, 1, 1), 3.0)).tolist()
    [[3.0], [3.0]]
    """
    if tensor.shape[2] == 1:
        return tensor[:, :, 0].T @ kernel[:, 0]
    out = tensor[0] @ kernel[0]
    part = np.empty_like(out)
    for p in range(1, tensor.shape[0]):
        out += np.matmul(tensor[p], kernel[p], out=part)
    return out


def long_gram(tensor: Array) -> Array:
    """Gram matrix of the long middle mode of (pre, n, post), (pre * post, pre * post) in float64.

    ``G[(p, q), (p', q')] = sum_j X[p, j, q] X[p', j, q']``

    >>> long_gram(np.ones((1, 5, 1))).tolist()
    [[5.0]]
    """
    pre, n, post = tensor.shape
    gram = np.zeros((pre * post, pre * post), order="F")
    for start in range(0, n, GRAM_ROWS):
        block = np.array(tensor[:, start : start + GRAM_ROWS].transpose(1, 0, 2), np.float64, order="C")
        flat = block.reshape(block.shape[0], pre * post)
        gram = blas.dsyrk(1.0, flat.T, beta=1.0, c=gram, overwrite_c=1, lower=1)
    return np.tril(gram) + np.tril(gram, -1).T


@njit(cache=True, nogil=True)
def _density_lines(first, last, lines, shape, sums):
    """Add |lines| to the marginal sums, which stand one after another in ``sums``."""
    order, width = shape.size, lines.shape[1]
    base = sums.size - width
    index, offset = np.empty(order, np.int64), np.empty(order, np.int64)
    rest, place = first, base
    for n in range(order - 2, -1, -1):
        place -= shape[n]
        offset[n] = place
        index[n] = rest % shape[n]
        rest //= shape[n]
    tail = sums[base:]
    for line in range(first, last):
        total = 0.0
        for k in range(width):
            x = np.float64(abs(lines[line, k]))
            total += x
            tail[k] += x
        for n in range(order - 1):
            sums[offset[n] + index[n]] += total
        for n in range(order - 2, -1, -1):
            index[n] += 1
            if index[n] < shape[n]:
                break
            index[n] = 0
