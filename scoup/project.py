"""Project new rows of one block to the latent space, and expand them to another block."""

from collections.abc import Mapping
from math import prod
from typing import Any, Literal

import numpy as np
from scipy import sparse

from scoup.errors import ScoupError
from scoup.factors import khatri_rao, side_of
from scoup.records import Array, Factors
from scoup.specs import Positive, Whole, check
from scoup.tensor import SparseTensor, as_real

RULES = ("least_squares", "paper")
# Singular values below this share of the largest one count as zero.
RELATIVE_CUTOFF = 1e-14


def dictionary(factors: Factors, mode: int, block: str = "matrix", position: int = 0) -> Array:
    """Return the (columns, F) matrix S with ``row = S a`` for a latent row ``a`` of ``mode``.

    For a matrix S is the side factor. For the tensor it is the Khatri-Rao product of the other
    modes times the weights; its rows are the cells of a slice in row-major order.

    >>> ones = np.ones((2, 1))
    >>> factors = Factors(np.array([5.0]), (ones, ones, ones), {0: 3 * ones})
    >>> dictionary(factors, mode=0, block="tensor").ravel().tolist()
    [5.0, 5.0, 5.0, 5.0]
    """
    check("block", block, Literal["matrix", "tensor"])
    if check("mode", mode, Whole) >= len(factors.modes):
        raise ScoupError.expected("mode", f"a tensor mode from 0 to {len(factors.modes) - 1}", mode)
    if block == "matrix":
        return side_of(factors, mode, position)
    if check("position", position, Whole):
        raise ScoupError.expected("position", "0 for slices of the tensor", position)
    others = [other for n, other in enumerate(factors.modes) if n != mode]
    return khatri_rao(others) * factors.weights


def project(
    dictionary: Array, rows: Array, ridge: float = 0.0, rule: str = "least_squares"
) -> Array:
    """Project ``rows`` (n, columns) onto the latent space: (n, F).

    ``least_squares``: ``a = argmin |q - S a|^2 + ridge * tr(S'S)/F * |a|^2`` over the columns that
    are not NaN; ``paper``: ``a = S' q``, as the paper prints it (NaN counts as zero).

    >>> project(np.diag([1.0, 2.0]), np.array([[1.0, 2.0]])).tolist()
    [[1.0, 1.0]]
    """
    check("ridge", ridge, Positive)
    check("rule", rule, Literal[RULES])
    rows = check_rows(rows)
    if rows.shape[1] != len(dictionary):
        raise ScoupError.expected(
            "rows", f"{len(dictionary)} columns, as in the fitted block", rows.shape[1]
        )
    known = ~np.isnan(rows)
    filled = np.where(known, rows, 0.0)
    if rule == "paper":
        return filled @ dictionary
    rank = dictionary.shape[1]
    shrink = ridge * np.sum(dictionary**2) / rank * np.eye(rank)
    if known.all() or not len(rows):
        gram = dictionary.T @ dictionary + shrink
        return np.linalg.lstsq(gram, dictionary.T @ filled.T, rcond=RELATIVE_CUTOFF)[0].T
    right_sides = filled @ dictionary
    grams = [dictionary[columns].T @ dictionary[columns] + shrink for columns in known]
    return np.stack(
        [
            np.linalg.lstsq(gram, right_side, rcond=RELATIVE_CUTOFF)[0]
            for gram, right_side in zip(grams, right_sides, strict=True)
        ]
    )


def check_rows(rows: Any) -> Array:
    """Return rows, or slices, as an array (n, columns) in float64 with NaN for missing cells.

    >>> check_rows(np.ma.array([1.0, 2.0], mask=[False, True])).tolist()
    [[1.0, nan]]
    """
    if sparse.issparse(rows):
        rows = rows.toarray()
    if isinstance(rows, SparseTensor):
        rows = rows.to_dense()
    if isinstance(rows, np.ma.MaskedArray):
        rows = np.ma.filled(rows.astype(np.float64), np.nan)
    array = np.atleast_2d(as_real("rows", rows)).astype(np.float64, copy=False)
    if np.isinf(array).any():
        raise ScoupError.expected("rows", "finite numbers or NaN for missing", "an infinity")
    return array.reshape(len(array), prod(array.shape[1:]))


def expand(
    factors: Factors, latent: Array, mode: int, at: Mapping[int, int] | None = None
) -> Array:
    """Expand latent rows (n, F) of ``mode`` to slices of the tensor; ``at`` fixes other modes.

    With ``at={2: k}`` on a 3-way tensor and mode 0 this is ``v = B diag(weights * c_k) a``: (n, J).

    >>> ones = np.ones((2, 1))
    >>> factors = Factors(np.array([5.0]), (ones, ones, 2 * ones))
    >>> expand(factors, np.array([[1.0]]), mode=0, at={2: 1}).tolist()
    [[10.0, 10.0]]
    """
    fixed = check("at", {} if at is None else at, dict[Whole, Whole])
    for other, index in fixed.items():
        if other == mode or other >= len(factors.modes) or index >= len(factors.modes[other]):
            raise ScoupError.expected(
                "at", "an index of a mode other than the projected one", {other: index}
            )
    scale = factors.weights * np.prod([factors.modes[n][k] for n, k in fixed.items()], axis=0)
    rest = [m for n, m in enumerate(factors.modes) if n != mode and n not in fixed]
    if not rest:
        return latent @ scale
    return (latent * scale @ khatri_rao(rest).T).reshape(len(latent), *(len(m) for m in rest))
