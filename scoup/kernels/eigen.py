"""Leading eigenvectors without the GIL, which scipy's own call of LAPACK holds."""

from ctypes import CFUNCTYPE, byref, c_char, c_double, c_int, c_void_p
from functools import cache
from typing import Any

import numpy as np
from numba.extending import get_cython_function_address

from scoup.records import Array

# Numbers of workspace per row that LAPACK asks for, with blocks of 32 rows.
WORK_NUMBERS, WORK_INTEGERS = 40, 10


@cache
def _syevr() -> Any:
    return CFUNCTYPE(None, *[c_void_p] * 21)(
        get_cython_function_address("scipy.linalg.cython_lapack", "dsyevr")
    )


def leading_eigenvectors(matrix: Array, count: int) -> Array:
    """Return the eigenvectors (n, count) of the largest eigenvalues of a symmetric matrix (n, n).

    In ascending order of eigenvalues, as ``scipy.linalg.eigh`` with ``subset_by_index`` does.

    >>> leading_eigenvectors(np.diag([1.0, 3.0, 2.0]), 1).round(9).tolist()
    [[0.0], [1.0], [0.0]]
    """
    n = len(matrix)
    copy = np.array(matrix, np.float64, order="C")  # destroyed
    values, vectors = np.empty(n), np.empty((count, n))
    work, integers = np.empty(WORK_NUMBERS * n), np.empty(WORK_INTEGERS * n, np.int32)
    support, info = np.empty(2 * n, np.int32), c_int()
    size, zero = byref(c_int(n)), byref(c_double())
    _syevr()(
        byref(c_char(b"V")), byref(c_char(b"I")), byref(c_char(b"L")), size, copy.ctypes.data, size,
        zero, zero, byref(c_int(n - count + 1)), size, zero, byref(c_int()),
        values.ctypes.data, vectors.ctypes.data, size, support.ctypes.data,
        work.ctypes.data, byref(c_int(work.size)), integers.ctypes.data,
        byref(c_int(integers.size)), byref(info),
    )  # fmt: skip
    if info.value:
        raise np.linalg.LinAlgError("the eigenvectors did not converge")
    return vectors.T
