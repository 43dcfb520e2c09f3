"""Gram matrices added up in place, without the GIL, which scipy's own call of BLAS holds."""

from ctypes import CFUNCTYPE, byref, c_char, c_double, c_int, c_void_p
from functools import cache
from typing import Any

import numpy as np
from numba.extending import get_cython_function_address

from scoup.records import Array


@cache
def _syrk() -> Any:
    return CFUNCTYPE(None, *[c_void_p] * 10)(
        get_cython_function_address("scipy.linalg.cython_blas", "dsyrk")
    )


def add_gram(rows: Array, total: Array) -> None:
    """Add the upper triangle of ``M' M`` of rows (n, F) to ``total`` (F, F), both C-contiguous.

    >>> total = np.zeros((2, 2))
    >>> add_gram(np.array([[1.0, 2.0]]), total)
    >>> total.tolist()
    [[1.0, 2.0], [0.0, 4.0]]
    """
    # BLAS counts by columns: to it the rows are columns, and the upper triangle is the lower one.
    count, width, one = c_int(rows.shape[0]), c_int(rows.shape[1]), c_double(1.0)
    _syrk()(
        byref(c_char(b"L")), byref(c_char(b"N")), byref(width), byref(count), byref(one),
        rows.ctypes.data, byref(width), byref(one), total.ctypes.data, byref(width),
    )  # fmt: skip


def both_triangles(upper: Array) -> Array:
    """Return a symmetric matrix from its upper triangle, with zeros below.

    >>> both_triangles(np.array([[1.0, 2.0], [0.0, 4.0]])).tolist()
    [[1.0, 2.0], [2.0, 4.0]]
    """
    whole = upper + upper.T
    whole[np.diag_indices(len(whole))] *= 0.5
    return whole
