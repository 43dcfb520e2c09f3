"""BLAS and LAPACK in compiled code, without the GIL: scipy's own copies, called by their addresses.

An address belongs to one process, and compiled code is kept for all of them, so kernels take the
addresses as an argument (:class:`Lapack`). Fortran counts by columns: to it a C-contiguous matrix
is its transpose, and an upper triangle is a lower one.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import get_cython_function_address

from scoup.kernels.lanes import intrinsic
from scoup.kernels.rows import jit
from scoup.records import Array

# Numbers of workspace per row that dsyevr asks for, with blocks of 32 rows.
WORK_NUMBERS, WORK_INTEGERS = 40, 10


class Lapack(NamedTuple):
    """Addresses of routines: a Gram matrix, a Cholesky factor, eigenvectors, a solution."""

    dsyrk: int
    dpotrf: int
    dsyevr: int
    dgeev: int
    dgesv: int


@cache
def lapack() -> Lapack:
    """Return the addresses in this process.

    >>> all(lapack())
    True
    """
    package = {"dsyrk": "scipy.linalg.cython_blas"}
    return Lapack(
        *(
            get_cython_function_address(package.get(name, "scipy.linalg.cython_lapack"), name)
            for name in Lapack._fields
        )
    )


@intrinsic
def call(typing_context, address, arguments):
    """Call the routine at an address with the data of a tuple of arrays."""

    def build(context, builder, signature, args):
        arrays = zip(arguments, cgutils.unpack_tuple(builder, args[1]), strict=True)
        byte = ir.IntType(8).as_pointer()
        pointers = [
            builder.bitcast(context.make_array(kind)(context, builder, array).data, byte)
            for kind, array in arrays
        ]
        routine = ir.FunctionType(ir.VoidType(), [byte] * len(pointers)).as_pointer()
        builder.call(builder.inttoptr(args[0], routine), pointers)
        return context.get_dummy_value()

    return types.void(address, arguments), build


@jit
def number(value):
    """Return an argument of a routine: an integer."""
    return np.array([value], np.int32)


@jit
def letter(code):
    """Return an argument of a routine: the letter with this code."""
    return np.array([code], np.uint8)


@jit
def add_gram(lapack, rows, total):
    """Add the upper triangle of ``M' M`` of rows (n, F) to ``total`` (F, F), both C-contiguous.

    >>> total = np.zeros((2, 2))
    >>> add_gram(lapack(), np.array([[1.0, 2.0]]), total)
    >>> total.tolist()
    [[1.0, 2.0], [0.0, 4.0]]
    """
    _add_products(lapack, rows, total, letter(78), rows.shape[0])  # N


@jit
def add_row_products(lapack, rows, total):
    """Add the upper triangle of ``M M'`` of rows (n, m) to ``total`` (n, n), both C-contiguous.

    >>> total = np.zeros((2, 2))
    >>> add_row_products(lapack(), np.array([[1.0], [2.0]]), total)
    >>> total.tolist()
    [[1.0, 2.0], [0.0, 4.0]]
    """
    _add_products(lapack, rows, total, letter(84), rows.shape[1])  # T


@jit
def _add_products(lapack, rows, total, side, depth):
    """Add products of rows or of columns, each of ``depth`` numbers."""
    size, inner, width, one = number(len(total)), number(depth), number(rows.shape[1]), np.ones(1)
    call(lapack.dsyrk, (letter(76), side, size, inner, one, rows, width, one, total, size))


@jit
def cholesky(lapack, gram):
    """Replace the upper triangle of ``G`` by R with ``R' R = G``; return whether that is possible.

    >>> gram = np.array([[4.0, 2.0], [0.0, 2.0]])
    >>> cholesky(lapack(), gram), gram.tolist()
    (True, [[2.0, 1.0], [0.0, 1.0]])
    """
    size, info = number(len(gram)), number(0)
    call(lapack.dpotrf, (letter(76), size, gram, size, info))
    return info[0] == 0


@jit
def leading_eigenvectors(lapack, matrix, count):
    """Return the eigenvectors (n, count) of the largest eigenvalues of a symmetric matrix (n, n).

    In ascending order of eigenvalues, as ``scipy.linalg.eigh`` with ``subset_by_index`` does. Only
    the upper triangle is read. A failure gives NaN.

    >>> leading_eigenvectors(lapack(), np.diag([1.0, 3.0, 2.0]), 1).round(9).tolist()
    [[0.0], [1.0], [0.0]]
    """
    n = len(matrix)
    scratch = matrix.copy()  # destroyed
    values, vectors = np.empty(n), np.empty((count, n))
    work, integers = np.empty(WORK_NUMBERS * n), np.empty(WORK_INTEGERS * n, np.int32)
    support, zero, found, info = np.empty(2 * n, np.int32), np.zeros(1), number(0), number(0)
    size, first = number(n), number(n - count + 1)
    lengths = number(work.size), number(integers.size)
    call(
        lapack.dsyevr,
        (
            letter(86), letter(73), letter(76), size, scratch, size, zero, zero, first, size, zero,
            found, values, vectors, size, support, work, lengths[0], integers, lengths[1], info,
        ),
    )  # fmt: skip
    if info[0]:
        vectors[:] = np.nan
    return vectors.T.copy()


@jit
def eigenvectors(lapack, matrix):
    """Return the real parts of the eigenvectors of a matrix, (n, n); a failure gives NaN.

    Those of a conjugate pair are the same.

    >>> eigenvectors(lapack(), np.array([[2.0, 1.0], [0.0, 1.0]])).round(3).tolist()
    [[1.0, -0.707], [0.0, 0.707]]
    """
    n, columns = len(matrix), matrix.T.copy()
    values, imaginary, rows = np.empty(n), np.empty(n), np.empty((n, n))
    left, one, work = np.empty(1), number(1), np.empty(WORK_NUMBERS * n)
    size, length, info = number(n), number(work.size), number(0)
    call(
        lapack.dgeev,
        (
            letter(78), letter(86), size, columns, size, values, imaginary, left, one, rows, size,
            work, length, info,
        ),
    )  # fmt: skip
    for k in range(1, n):
        if imaginary[k] < 0:  # the row holds the imaginary parts of the pair
            rows[k] = rows[k - 1]
    if info[0]:
        rows[:] = np.nan
    return rows.T.copy()


@jit
def divide(lapack, left, right):
    """Replace a matrix A by ``A B^-1``, and B by what LAPACK leaves; return whether B is regular.

    >>> left = np.array([[2.0, 0.0], [0.0, 6.0]])
    >>> divide(lapack(), left, np.array([[2.0, 0.0], [0.0, 3.0]])), left.tolist()
    (True, [[1.0, 0.0], [0.0, 2.0]])
    """
    size, pivots, info = number(len(right)), np.empty(len(right), np.int32), number(0)
    call(lapack.dgesv, (size, size, right, size, pivots, left, size, info))
    return info[0] == 0


def both_triangles(upper: Array) -> Array:
    """Return a symmetric matrix from its upper triangle, with zeros below.

    >>> both_triangles(np.array([[1.0, 2.0], [0.0, 4.0]])).tolist()
    [[1.0, 2.0], [2.0, 4.0]]
    """
    whole: Any = upper + upper.T
    whole[np.diag_indices(len(whole))] *= 0.5
    return whole
