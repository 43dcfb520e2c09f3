"""Normal equations of a factor: one F x F system for all rows, or one per row."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike
from scipy.linalg import lapack

from scoup import kernels
from scoup.kernels.singular import CUTOFF_EPS, MAX_SCALE_RATIO
from scoup.records import Array

# An inverse beyond this share of the range of a type is multiplied in float64.
MAX_INVERSE = 1e-10
# Singular systems that are solved at a time, to save memory.
SINGULAR_STEP_SYSTEMS = 4096

# Given Gram matrix, right-hand side and the old factor, return the new factor. Each row depends on
# that row alone, so that some rows may be updated at a time.
Update = Callable[[Array, Array, Array], Array]


def solve_normal(
    gram: Array, rhs: Array, old: Array | None = None, *, in_place: bool = False
) -> Array:
    """Solve ``M G = R`` for M (I, F), with one G (F, F) for all rows or one per row (I, F, F).

    Where G is singular the minimum-norm solution is returned, as by the pseudoinverse of the lemma,
    unless the rows of ``old`` are better: see :func:`solve_singular`. With ``in_place`` M may take
    the place of R.

    >>> solve_normal(np.diag([2.0, 0.0]), np.array([[4.0, 0.0]])).tolist()
    [[2.0, 0.0]]
    """
    if gram.ndim == 2:
        return _solve_shared(gram, rhs, old, in_place)
    rows, singular = kernels.solve_rows(gram, rhs)
    if not singular.any():
        return rows
    steps = -(-int(singular.sum()) // SINGULAR_STEP_SYSTEMS)
    for block in np.array_split(np.flatnonzero(singular), steps):
        before = None if old is None else old[block]
        rows[block] = solve_singular(gram[block], rhs[block], before)
    return rows


def _solve_shared(gram: Array, rhs: Array, old: Array | None, in_place: bool) -> Array:
    """Solve with one Gram matrix, by its inverse if that is safe."""
    inverse = safe_inverse(gram, rhs.dtype)
    if inverse is None:
        return solve_singular(gram, rhs, old)
    if not fits_type(inverse, rhs.dtype):
        return _times(rhs, inverse).astype(rhs.dtype)
    return kernels.product(rhs, np.ascontiguousarray(inverse, dtype=rhs.dtype), in_place)


def safe_inverse(gram: Array, dtype: np.dtype) -> Array | None:
    """Inverse of ``G`` by Cholesky after scaling to a unit diagonal; None if it is near singular.

    >>> safe_inverse(np.eye(1) * 4, np.dtype(float)), safe_inverse(np.ones((2, 2)), np.dtype(float))
    (array([[0.25]]), None)
    """
    gram = gram.astype(np.float64, copy=False)
    scale = np.sqrt(np.maximum(gram.diagonal(), 0.0))
    smallest = kernels.MIN_PIVOT[dtype] * scale.max()
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > smallest)
    # LAPACK as it is: scipy's checks around it take longer than a system of rank 5.
    factor, failed = lapack.dpotrf(gram * inverse * inverse[:, None], lower=True)
    if failed or not (factor.diagonal() ** 2).min() > kernels.MIN_PIVOT[dtype]:
        return None
    return lapack.dpotrs(factor, np.diag(inverse), lower=True)[0] * inverse[:, None]


def fits_type(inverse: Array, dtype: np.dtype) -> bool:
    """Whether rows of a type can be multiplied by an inverse in that type.

    >>> fits_type(np.eye(1) * 1e30, np.dtype(np.float32))
    False
    """
    return bool(np.abs(inverse).max() <= MAX_INVERSE * np.finfo(dtype).max)


@dataclass(frozen=True, eq=False)
class RowSolver:
    """The update for a range of rows, given what a term adds to their right-hand sides.

    ``rest`` is the right-hand side of the other terms, if there are any, ``old`` the factor before
    the update, ``weight`` that of the term.

    >>> divide = lambda gram, rhs, old: rhs / gram
    >>> solver = RowSolver(np.eye(1) * 2, np.ones((3, 1)), np.zeros((3, 1)), 1.0, divide)
    >>> solver(slice(1, 2), np.array([[3.0]])).tolist()
    [[2.0]]
    """

    gram: Array
    rest: Array
    old: Array
    weight: float
    update: Update

    def __call__(self, rows: slice | Array, part: Array) -> Array:
        """Return the new rows."""
        rhs = (self.weight * part).astype(self.old.dtype, copy=False)
        if self.rest.size:
            rhs += self.rest[rows]
        gram = self.gram if self.gram.ndim == 2 else self.gram[rows]
        return self.update(gram, rhs, self.old[rows])

    def system(self) -> Array | None:
        """Return what :func:`scoup.kernels.solve_and_contract` solves with, if that is the update.

        >>> zeros = np.zeros((70_000, 1))
        >>> RowSolver(np.eye(1) * 2, np.empty(0), zeros, 1.0, solve_normal).system()
        array([[0.5]])
        """
        if self.update is not solve_normal:
            return None
        if self.gram.ndim > 2:
            return self.gram
        if self.old.size < kernels.MIN_PASS_NUMBERS:
            return None  # BLAS multiplies by the inverse, which may give other last digits
        inverse = safe_inverse(self.gram, self.old.dtype)
        return inverse if inverse is not None and fits_type(inverse, self.old.dtype) else None


def solve_singular(gram: Array, rhs: Array, old: Array | None = None) -> Array:
    """Solve ``M G = R`` by pseudoinverses; no row is worse than that of ``old``.

    A direction that is cut off may hold more than rounding errors. A row that loses by that keeps
    its old part of it: ``m = m_old + (r - m_old G) G^+``.

    >>> solve_singular(np.diag([1.0, 0.0]), np.array([[2.0, 0.0]]), np.array([[0.0, 3.0]])).tolist()
    [[2.0, 0.0]]
    """
    inverse = pseudoinverse(gram, rhs.dtype)
    rows = _times(rhs, inverse)
    if old is not None:
        worse = _objective(gram, rhs, rows) > _objective(gram, rhs, old)
        moved = old + _times(rhs - _times(old, gram), inverse)
        rows = np.where(worse[:, None], moved, rows)
    return np.ascontiguousarray(rows, dtype=rhs.dtype)


def _times(rows: Array, matrices: Array) -> Array:
    """Multiply rows (I, F) by one matrix (F, F), or each by its own (I, F, F), in float64."""
    double = rows.astype(np.float64, copy=False)
    if matrices.ndim == 2:
        return double @ matrices
    return np.einsum("if,ifg->ig", double, matrices)


def _objective(gram: Array, rhs: Array, rows: Array) -> Array:
    """``m G m' - 2 r m'`` of each row: its squared error but for a constant."""
    return np.einsum("if,if->i", _times(rows, gram) - 2.0 * rhs, rows, dtype=np.float64)


def pseudoinverse(gram: Array, precision: DTypeLike = np.float64) -> Array:
    """Pseudoinverse of positive semidefinite matrices (..., F, F) made of data in ``precision``.

    Rounding errors are recognised after scaling to a unit diagonal, so that components with small
    columns are not mistaken for them.

    >>> pseudoinverse(np.diag([4.0, 0.0, 2.0**-60])).diagonal().tolist() == [0.25, 0.0, 2.0**60]
    True
    """
    gram = gram.astype(np.float64, copy=False)
    diagonal = np.maximum(np.diagonal(gram, axis1=-2, axis2=-1), 0.0)
    cutoff = CUTOFF_EPS * gram.shape[-1] * np.finfo(precision).eps
    # Columns that are rounding errors of others count as zero.
    nonzero = diagonal > cutoff**2 * diagonal.max(axis=-1, keepdims=True)
    # Powers of two, which change no digit.
    exponents = np.rint(np.log2(np.where(nonzero, diagonal, 1.0)) / -2).astype(int)
    scale = np.where(nonzero, np.ldexp(1.0, exponents), 0.0)
    values, vectors = np.linalg.eigh(gram * scale[..., None, :] * scale[..., None])
    vectors *= scale[..., None]
    keep = values > cutoff * np.maximum(values[..., -1:], 0.0)
    kept = np.where(keep[..., None, :], vectors, 0.0)
    inverse = (kept / np.where(keep, values, 1.0)[..., None, :]) @ np.swapaxes(kept, -1, -2)
    if keep.all():
        return inverse
    # Without the null space, in the original scale: solutions of minimum norm.
    null_space, sizes = np.linalg.svd(np.where(keep[..., None, :], 0.0, vectors))[:2]
    is_null = sizes > np.finfo(float).eps * gram.shape[-1] * sizes[..., :1]
    # With columns of very different size the projection would lose all digits of the small ones.
    smallest = np.where(nonzero, scale, np.inf).min(axis=-1, keepdims=True)
    is_null &= scale.max(axis=-1, keepdims=True) <= MAX_SCALE_RATIO * smallest
    null_space *= is_null[..., None, :]
    inverse -= null_space @ (np.swapaxes(null_space, -1, -2) @ inverse)
    inverse -= (inverse @ null_space) @ np.swapaxes(null_space, -1, -2)
    return inverse
