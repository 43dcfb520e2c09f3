"""Columns of a simulation as gzipped text, a line a row."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from os import PathLike
from typing import Any

from numpy.typing import NDArray

from scoup import store


def write_table(path: str | PathLike[str], columns: Sequence[NDArray[Any]], between: str) -> None:
    """Write equally long columns, set apart by ``between``; the same columns are the same bytes."""
    import pandas as pd  # here, for those who only want to know how large a simulation is

    table = pd.DataFrame(dict(enumerate(columns)))
    text = table.to_csv(sep=between, header=False, index=False, lineterminator="\n").encode()
    store.write_bytes(path, gzip.compress(text, compresslevel=4, mtime=0))
