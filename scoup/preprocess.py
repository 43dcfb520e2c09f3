"""Preprocess: raw files become one coupled data set, with labels and provenance."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from scoup import datasets, store
from scoup.coupled import Dataset
from scoup.errors import ScoupError
from scoup.listing import load
from scoup.records import Provenance


def preprocess(
    kind: str, folder: str | PathLike[str], options: Mapping[str, Any] | None = None
) -> Dataset:
    """Read the raw files of a kind of data set in ``folder`` and couple them."""
    checked = datasets.check_options(kind, dict(options or {}))
    couple = load(f"scoup.datasets.{kind}", "couple").couple
    return couple(Path(folder), checked, read_provenance(kind, folder))


def read_provenance(kind: str, folder: str | PathLike[str]) -> Provenance:
    """Return where the raw files in ``folder`` came from; files without a record are local."""
    path = Path(folder) / datasets.PROVENANCE_FILE
    if not path.exists():
        source = datasets.kind(kind).SOURCE
        reason = "no record next to the files"
        return Provenance(kind, "local", reason, licence=source.licence, citation=source.citation)
    try:
        return Provenance(**store.read_json(path))
    except TypeError as error:
        got = f"a different one ({error})"
        raise ScoupError.expected(str(path), "a provenance record", got, "download again") from None
