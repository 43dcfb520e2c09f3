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
from scoup.streamed import StreamedTensor
from scoup.tensor import SparseTensor, as_real

RULES = ("least_squares", "nonnegative", "paper")
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
    _check_mode(factors, mode)
    if block == "matrix":
        return side_of(factors, mode, position)
    if check("position", position, Whole):
        raise ScoupError.expected("position", "0 for slices of the tensor", position)
    others = [other for n, other in enumerate(factors.modes) if n != mode]
    return khatri_rao(others) * factors.weights


def _check_mode(factors: Factors, mode: int) -> None:
    if check("mode", mode, Whole) >= len(factors.modes):
        raise ScoupError.expected("mode", f"a tensor mode from 0 to {len(factors.modes) - 1}", mode)


def project(dictionary: Array, rows: Any, ridge: float = 0.0, rule: str = "least_squares") -> Array:
    """Project ``rows`` (n, columns) onto the latent space: (n, F).

    ``least_squares``: ``a = argmin |q - S a|^2 + ridge * tr(S'S)/F * |a|^2`` over the columns that
    are not NaN; ``nonnegative``: the same over ``a >= 0``; ``paper``: ``a = S' q``, as the paper
    prints it (NaN counts as zero). Sparse rows are not made dense.

    >>> project(np.diag([1.0, 2.0]), np.array([[1.0, 2.0]])).tolist()
    [[1.0, 1.0]]
    """
    check("ridge", ridge, Positive)
    check("rule", rule, Literal[RULES])
    if isinstance(rows, SparseTensor) and rows.ndim == 2:
        rows = sparse.coo_array((rows.values, tuple(rows.coords)), rows.shape)
    rows = check_sparse_rows(rows) if sparse.issparse(rows) else check_rows(rows)
    if rows.shape[1] != len(dictionary):
        raise ScoupError.expected(
            "rows", f"{len(dictionary)} columns, as in the fitted block", rows.shape[1]
        )
    if sparse.issparse(rows):
        return _solve_shrunk(dictionary.T @ dictionary, rows @ dictionary, ridge, rule)
    known = ~np.isnan(rows)
    filled = np.where(known, rows, 0.0)
    if rule == "paper":
        return filled @ dictionary
    rank = dictionary.shape[1]
    shrink = ridge * np.sum(dictionary**2) / rank * np.eye(rank)
    if known.all() or not len(rows):
        return _solve(dictionary.T @ dictionary + shrink, dictionary.T @ filled.T, rule)
    right_sides = filled @ dictionary
    grams = [dictionary[columns].T @ dictionary[columns] + shrink for columns in known]
    return np.stack(
        [_solve(gram, right, rule) for gram, right in zip(grams, right_sides, strict=True)]
    )


def project_cells(
    factors: Factors,
    slices: SparseTensor | StreamedTensor,
    mode: int,
    ridge: float = 0.0,
    rule: str = "least_squares",
) -> Array:
    """Project sparse slices of ``mode``, (n, other modes), as :func:`project`; none is made dense.

    >>> factors = Factors(np.array([2.0]), tuple(np.ones((2, 1)) for _ in range(3)))
    >>> slices = SparseTensor([[0, 0], [0, 1], [0, 1]], [4.0, 4.0], (1, 2, 2))
    >>> project_cells(factors, slices, mode=0).tolist()
    [[1.0]]
    """
    # Imported here: tables and pictures need this module, and no compiler.
    from scoup.kernels import arrange
    from scoup.kernels.sparse import mttkrp

    check("ridge", ridge, Positive)
    check("rule", rule, Literal[RULES])
    _check_mode(factors, mode)
    others = [m.astype(np.float64, copy=False) for n, m in enumerate(factors.modes) if n != mode]
    sizes = tuple(map(len, others))
    if slices.shape[1:] != sizes:
        expected = f"slices of {' x '.join(map(str, sizes))}, as fitted"
        raise ScoupError.expected("rows", expected, f"shape {slices.shape}")
    unread = np.zeros((slices.shape[0], factors.rank))
    if isinstance(slices, StreamedTensor):
        right_sides = slices.mttkrp([unread, *others], 0)
    else:
        values = slices.values.astype(np.float64, copy=False)
        cells = arrange(slices.coords, values, slices.shape)
        right_sides = mttkrp(cells, [unread, *others], 0)
    gram = np.outer(factors.weights, factors.weights)
    for factor in others:
        gram = gram * (factor.T @ factor)
    return _solve_shrunk(gram, right_sides * factors.weights, ridge, rule)


def _solve_shrunk(gram: Array, right_sides: Array, ridge: float, rule: str) -> Array:
    """Return the rows (n, F) with ``(gram + shrink) a = right side``; the paper's need no Gram."""
    if rule == "paper":
        return right_sides
    rank = len(gram)
    return _solve(gram + ridge * np.trace(gram) / rank * np.eye(rank), right_sides.T, rule)


def _solve(gram: Array, columns: Array, rule: str) -> Array:
    """Return the rows (n, F), or the one, for right sides in columns."""
    if rule == "nonnegative":
        from scoup.kernels import solve_nonnegative

        rows = np.ascontiguousarray(np.atleast_2d(columns.T), dtype=np.float64)
        return solve_nonnegative(gram, rows, np.zeros_like(rows)).reshape(columns.T.shape)
    return np.linalg.lstsq(gram, columns, rcond=RELATIVE_CUTOFF)[0].T


def check_sparse_rows(rows: Any) -> Any:
    """Return scipy's sparse rows as CSR in float64; cells that are not stored are zeros.

    >>> check_sparse_rows(sparse.coo_array([[0, 2]])).toarray().tolist()
    [[0.0, 2.0]]
    """
    rows = rows.tocsr()
    if not np.isfinite(as_real("rows", rows.data)).all():
        raise ScoupError.expected("sparse rows", "finite numbers", "NaN or an infinity")
    return rows.astype(np.float64)


def check_rows(rows: Any) -> Array:
    """Return rows, or slices, as an array (n, columns) in float64 with NaN for missing cells.

    >>> check_rows(np.ma.array([1.0, 2.0], mask=[False, True])).tolist()
    [[1.0, nan]]
    """
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
