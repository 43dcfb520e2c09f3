"""Project new rows of one block to the latent space, and expand them to another block."""

from collections.abc import Mapping
from typing import Literal

import numpy as np

from scoup.errors import ScoupError
from scoup.factors import khatri_rao
from scoup.records import Array, Factors
from scoup.specs import Positive, check

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
    if not 0 <= mode < len(factors.modes):
        raise ScoupError.expected("mode", f"a tensor mode from 0 to {len(factors.modes) - 1}", mode)
    if block == "tensor":
        others = [other for n, other in enumerate(factors.modes) if n != mode]
        return khatri_rao(others) * factors.weights
    if mode not in factors.sides:
        raise ScoupError.expected(
            "mode", f"a mode with a matrix, one of {sorted(factors.sides)}", mode
        )
    group = factors.sides[mode]
    if not 0 <= position < len(group):
        raise ScoupError.expected(
            "position", f"a matrix of mode {mode} from 0 to {len(group) - 1}", position
        )
    return group[position]


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
    rows = np.atleast_2d(np.asarray(rows, dtype=np.float64))
    rows = rows.reshape(len(rows), -1)
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
    if known.all():
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
    fixed = dict(at or {})
    for other, index in fixed.items():
        if (
            other == mode
            or not 0 <= other < len(factors.modes)
            or not 0 <= index < len(factors.modes[other])
        ):
            raise ScoupError.expected(
                "at", "an index of a mode other than the projected one", {other: index}
            )
    scale = factors.weights * np.prod([factors.modes[n][k] for n, k in fixed.items()], axis=0)
    rest = [m for n, m in enumerate(factors.modes) if n != mode and n not in fixed]
    if not rest:
        return latent @ scale
    return (latent * scale @ khatri_rao(rest).T).reshape(len(latent), *(len(m) for m in rest))
