"""Simulate: write stand-ins in the published raw formats, and what they were made of."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from scoup import datasets, store
from scoup.datasets import TRUTH_FILE, SizeName
from scoup.errors import ScoupError
from scoup.listing import load
from scoup.machine import one_thread
from scoup.records import Array
from scoup.seeds import check_seed
from scoup.specs import check

# Relative numbers of posts from Monday to Sunday, as in the real wall posts.
WEEKDAY_WEIGHTS = np.array([1.05, 1.12, 1.09, 1.06, 0.97, 0.68, 0.69])


def simulate(kind: str, folder: str | PathLike[str], size: str = "full", seed: int = 0) -> None:
    """Write the raw files of a simulated data set and its ``truth.json`` into ``folder``."""
    kinds = datasets.simulated_kinds()
    if kind not in kinds:
        raise ScoupError.expected(
            "kind",
            f"one that can be simulated ({', '.join(kinds)})",
            repr(kind),
            "use the real files (source: local)",
        )
    check("size", size, SizeName)
    Path(folder).mkdir(parents=True, exist_ok=True)
    with one_thread():  # the last bits of a product depend on how many threads share it
        load(f"scoup.datasets.{kind}", "simulate").simulate(Path(folder), size, check_seed(seed))


def write_planted(folder: Path, planted: Mapping[str, Any]) -> None:
    """Write what simulated files were made of; only tests and judges may read it."""
    store.write_json(folder / TRUTH_FILE, {"what": "simulated", **planted})


def read_planted(folder: str | PathLike[str]) -> dict[str, Any]:
    """Return what the raw files in ``folder`` were made of; {} for real data.

    >>> read_planted("no such folder")
    {}
    """
    path = Path(folder) / TRUTH_FILE
    return store.read_json(path) if path.exists() else {}


def write_table(path: Path, columns: Sequence[Array], separator: str) -> None:
    """Write columns of equal length as gzipped text; equal columns give equal bytes."""
    import pandas as pd  # here, since the workflow imports this module for read_planted only

    table = pd.DataFrame(dict(enumerate(columns)))
    text = table.to_csv(sep=separator, header=False, index=False, lineterminator="\n").encode()
    store.write_bytes(path, store.packed(text, level=4))
