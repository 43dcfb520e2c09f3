"""NumPy files of one array, mapped into memory."""

import numpy as np

from scoup.formats import Content, Head, Source
from scoup.formats._arrays import npy_head, real_array, refusing
from scoup.records import Array

ENDINGS = (".npy",)
DESCRIPTION = "a dense array; NaN means missing"
_WHOLE_FILE = "a whole .npy file of numbers"


def read(source: Source) -> Content:
    """Map the array into memory."""
    with refusing(source.file, _WHOLE_FILE):
        array = np.load(source.file, mmap_mode="r", allow_pickle=False)
        return Content(real_array(source.file, array))


def peek(source: Source) -> Head:
    """Return the shape that the head states."""
    with refusing(source.file, _WHOLE_FILE), open(source.file, "rb") as file:
        shape, _ = npy_head(file)
        return Head(len(shape), False, shape)


def write(path: str, array: Array) -> None:
    """Write an array."""
    np.save(path, array)
