"""NumPy archives: one dense array, the parts of a sparse tensor, or a sparse matrix as scipy saves
it.
"""

import zipfile
from math import prod
from typing import Any

import numpy as np
from scipy import sparse

from scoup.errors import ScoupError
from scoup.formats import Cells, Content, Head, Source
from scoup.formats._arrays import choose_array, npy_head, real_array, real_cells, refusing
from scoup.records import Array
from scoup.text import check_expansion

ENDINGS = (".npz",)
DESCRIPTION = (
    "a dense array, NaN meaning missing; or `coords` (modes x cells, from 0), `values` and `shape` "
    "of a sparse one; or a matrix saved by scipy"
)
PARTS = ("coords", "values", "shape")
_WHOLE_FILE = "a whole .npz file of numbers"


def read(source: Source) -> Content:
    """Read the array called ``variable``, or whatever the archive holds."""
    path = source.file
    with refusing(path, _WHOLE_FILE), np.load(path, allow_pickle=False) as archive:
        names = list(_shapes(path))
        if source.variable is None and "format" in names:
            return Content(_scipy_cells(path, archive))
        if source.variable is None and set(PARTS) <= set(names):
            return Content(real_cells(path, *(archive[part] for part in PARTS)))
        return Content(real_array(path, archive[choose_array(path, names, source.variable)]))


def _scipy_cells(path: str, archive: Any) -> Cells:
    parts = {name: archive[name] for name in archive.files}
    form, shape = bytes(parts["format"].item()).decode(), parts["shape"]
    if form == "coo":
        coords = parts["coords"] if "coords" in parts else np.vstack([parts["row"], parts["col"]])
        return real_cells(path, coords, parts["data"], shape)
    if form not in ("csr", "csc"):
        raise ScoupError.expected(path, "a matrix in the form coo, csr or csc", form)
    make = sparse.csr_array if form == "csr" else sparse.csc_array
    matrix = make((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(map(int, shape)))
    matrix.check_format(full_check=True)  # or a wrong pointer would lead scipy outside its arrays
    coo = matrix.tocoo()
    return real_cells(path, np.vstack(coo.coords), coo.data, shape)


def peek(source: Source) -> Head:
    """Return the shape that the heads of the arrays state; that of a sparse one stays unknown."""
    with refusing(source.file, _WHOLE_FILE):
        shapes = _shapes(source.file)
        if source.variable is None and "format" in shapes:
            return Head(2, True)
        if source.variable is None and set(PARTS) <= set(shapes):
            return Head(shapes["shape"][0], True)
        shape = shapes[choose_array(source.file, list(shapes), source.variable)]
        return Head(len(shape), False, shape)


def _shapes(path: str) -> dict[str, tuple[int, ...]]:
    """Return the shape of every array; none may state more numbers than its member holds."""
    shapes = {}
    with zipfile.ZipFile(path) as archive:
        check_expansion(path, sum(info.file_size for info in archive.infolist()))
        for info in archive.infolist():
            with archive.open(info) as file:
                shape, dtype = npy_head(file)
            if prod(shape) * dtype.itemsize > info.file_size:
                raise ValueError(f"{info.filename} states more numbers than it holds")
            shapes[info.filename.removesuffix(".npy")] = shape
    return shapes


def write(path: str, array: Array) -> None:
    """Write the parts of a sparse tensor."""
    coords = np.nonzero(array)
    np.savez(path, coords=np.array(coords), values=array[coords], shape=array.shape)
