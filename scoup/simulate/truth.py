"""What simulated data was made of: for tests and for judging results; no method reads it."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from scoup import store

TRUTH_FILE = "truth.json"


def write_truth(folder: str | PathLike[str], truth: Mapping[str, Any]) -> None:
    """Write what the raw files of ``folder`` were made of beside them."""
    store.write_json(Path(folder) / TRUTH_FILE, truth)


def read_truth(folder: str | PathLike[str]) -> dict[str, Any]:
    """Return what the raw files of ``folder`` were made of; real data has no such file, and gives {}.

    >>> read_truth("no such folder")
    {}
    """
    path = Path(folder) / TRUTH_FILE
    return store.read_json(path) if path.exists() else {}
