"""MATLAB 5 files: one array, or ``subs``, ``vals`` and ``size`` of a sparse one (as of an
``sptensor``).
"""

import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy import io as scipy_io
from scipy import sparse

from scoup.errors import ScoupError
from scoup.formats import Cells, Content, Head, Source, _mat5
from scoup.formats._arrays import choose_array, real_array, real_cells, refusing
from scoup.records import Array
from scoup.text import expansion_limit

ENDINGS = (".mat",)
DESCRIPTION = (
    "MATLAB 5 (`-v7`): a dense array, NaN meaning missing, a sparse matrix, or `subs` (cells x "
    "modes, from 1), `vals` and perhaps `size` of a sparse tensor"
)
FIRST_INDEX = 1
PARTS = ("subs", "vals")
_WHOLE_FILE = "a whole MATLAB 5 file"


def read(source: Source) -> Content:
    """Read the array called ``variable``, or whatever the file holds."""
    path = source.file
    with refusing(path, _WHOLE_FILE):
        content = Path(path).read_bytes()
        if content[:10] == b"MATLAB 7.3" or content[:4] == b"\x89HDF":
            raise ScoupError.expected(
                path, "a MATLAB 5 file", "one of version 7.3", "save it with the option -v7"
            )
        _mat5.check(content, expansion_limit(path))
        variables = scipy_io.loadmat(io.BytesIO(content))
        arrays = {name: value for name, value in variables.items() if not name.startswith("__")}
        if source.variable is None and set(PARTS) <= set(arrays):
            return Content(_subs_cells(path, arrays))
        array = arrays[choose_array(path, list(arrays), source.variable)]
        if not sparse.issparse(array):
            return Content(real_array(path, array))
        coo = sparse.coo_array(array)
        return Content(real_cells(path, np.vstack(coo.coords), coo.data, coo.shape))


def _subs_cells(path: str, arrays: Mapping[str, Array]) -> Cells:
    coords = np.asarray(arrays["subs"])
    is_matrix = coords.ndim == 2 and coords.size > 0
    if not is_matrix or not ((coords == np.floor(coords)) & (np.abs(coords) < 2**31)).all():
        raise ScoupError.expected(
            f"{path}: subs", "whole numbers from 1, one row per cell", f"shape {coords.shape}"
        )
    coords = coords.T.astype(np.int64) - 1
    return real_cells(
        path, coords, np.ravel(arrays["vals"]), arrays.get("size", coords.max(axis=1) + 1)
    )


def peek(source: Source) -> Head:
    """Return the shape that the heads of the arrays state; that of a sparse one stays unknown."""
    with refusing(source.file, _WHOLE_FILE):
        heads = {name: (shape, kind) for name, shape, kind in scipy_io.whosmat(source.file)}
        if source.variable is None and set(PARTS) <= set(heads):
            return Head(heads["subs"][0][1], True)
        shape, kind = heads[choose_array(source.file, list(heads), source.variable)]
        is_sparse = kind == "sparse"
        return Head(len(shape), is_sparse, None if is_sparse else tuple(shape))


def write(path: str, array: Array) -> None:
    """Write an array."""
    scipy_io.savemat(path, {"array": array}, appendmat=False)
