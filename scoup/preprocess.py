"""Preprocess: raw files become one coupled data set, with labels and provenance."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from pooch import file_hash

from scoup import datasets, store
from scoup.coupled import Dataset
from scoup.errors import DamagedFileError, ScoupError
from scoup.listing import load
from scoup.records import Provenance, SourceFile


def preprocess(
    kind: str, folder: str | PathLike[str], options: Mapping[str, Any] | None = None
) -> Dataset:
    """Read the raw files of a kind of data set in ``folder`` and couple them.

    Their checksums must be those that ``provenance.json`` in the folder records, if it is there.
    """
    checked = datasets.check_options(kind, dict(options or {}))
    couple = load(f"scoup.datasets.{kind}", "couple").couple
    provenance = read_provenance(kind, folder)
    in_place = hasattr(datasets.kind(kind), "paths")
    for record in provenance.files:
        path = Path(record.address if in_place else Path(folder, record.name))
        _check_raw(path, record, in_place)
    return couple(Path(folder), checked, provenance)


def _check_raw(path: Path, record: SourceFile, in_place: bool) -> None:
    """Refuse a raw file that is not as recorded; one that is the user's own is never removed."""
    found = file_hash(path) if path.is_file() else "no such file"
    if found == record.sha256:
        return
    if not in_place:
        raise DamagedFileError(str(path), "raw", f"sha256 {found}, recorded {record.sha256}")
    raise ScoupError.expected(
        str(path),
        f"sha256 {record.sha256}, as recorded at download",
        found,
        "restore it, or touch it to use it as it is now",
    )


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
        raise DamagedFileError(str(path), "provenance", error) from None
