"""Matching the components of two models: how congruent they are, and which belong together."""

from collections.abc import Sequence

import numpy as np

from scoup.factors import column_norms, scale_columns
from scoup.records import Array


def directions(factor: Array) -> Array:
    """Scale columns to norm 1, in double precision; a zero column stays zero.

    >>> directions(np.array([[3, 0], [4, 0]])).tolist()
    [[0.6, 0.0], [0.8, 0.0]]
    """
    double = factor.astype(np.float64, copy=False)
    return scale_columns(double, column_norms(double))


def cosines(one: Array, other: Array) -> Array:
    """Return abs(cosine) between the columns of two factors, given their directions: (F, G).

    >>> cosines(np.eye(2), -np.eye(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return np.minimum(np.abs(one.T @ other), 1.0)


def congruence(one: Sequence[Array], other: Sequence[Array]) -> Array:
    """Product over factors of abs(cosine) between the columns of two models: (F, G).

    ``C[f, g] = prod_n |<a_nf, b_ng>| / (|a_nf| |b_ng|)``; a zero column matches nothing.

    >>> A = np.eye(3)
    >>> congruence([A, A], [A[:, ::-1], -A[:, ::-1]]).argmax(axis=1).tolist()
    [2, 1, 0]
    """
    product = np.ones((one[0].shape[1], other[0].shape[1]))
    for left, right in zip(one, other, strict=True):
        product *= cosines(directions(left), directions(right))
    return product


def match(similarity: Array) -> tuple[Array, Array]:
    """Assign columns to rows of ``similarity`` by the Hungarian algorithm.

    Return the column of each row and the similarity of each pair.

    >>> columns, similarity = match(np.array([[0.1, 0.9], [0.8, 0.2]]))
    >>> columns.tolist(), similarity.tolist()
    ([1, 0], [0.9, 0.8])
    """
    # Imported here: loading it takes longer than most jobs run.
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(-similarity)
    return columns, similarity[rows, columns]


def factor_match_score(one: Sequence[Array], other: Sequence[Array]) -> float:
    """Mean congruence of two models after the best matching, from 0 (unrelated) to 1 (the same).

    ``FMS = max over permutations of 1/F sum_f prod_n |cos(a_nf, b_n,perm(f))|``

    >>> A = np.eye(3)
    >>> factor_match_score([A, A], [A[:, ::-1], A[:, ::-1]])
    1.0
    """
    similarity = congruence(one, other)
    return float(match(similarity)[1].sum() / max(similarity.shape))
