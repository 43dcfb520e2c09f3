"""FROSTT text files: N one-based indices and a value on each line."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from scoup.errors import ScoupError


def parse_tns(path: str | PathLike[str]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return zero-based coords (N, nnz) and values (nnz,) of a ``.tns`` file."""
    table = pd.read_csv(path, sep=r"\s+", header=None, comment="#")
    if table.shape[1] < 2 or table.empty:
        raise ScoupError.expected(str(path), "lines of one-based indices and a value", f"{table.shape}")
    return table.iloc[:, :-1].to_numpy(np.int64).T - 1, table.iloc[:, -1].to_numpy(np.float64)
