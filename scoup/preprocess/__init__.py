"""Raw files to one coupled data set: the room that knows what rows and columns mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from scoup import datasets, store
from scoup.coupled import CoupledData, Dataset
from scoup.datasets.files import Options, couple
from scoup.errors import ScoupError
from scoup.formats.tns import read_tns
from scoup.preprocess.brainq import (
    BrainqOptions,
    ExcerptOptions,
    couple_brainq,
    couple_excerpt,
    stability,
)
from scoup.preprocess.facebook import FacebookOptions, couple_facebook
from scoup.raw import brainq, facebook
from scoup.records import Labels, Provenance

__all__ = [
    "BrainqOptions",
    "ExcerptOptions",
    "FacebookOptions",
    "couple_brainq",
    "couple_excerpt",
    "couple_facebook",
    "preprocess",
    "read_provenance",
    "stability",
]

PROVENANCE_FILE = "provenance.json"


def preprocess(
    name: str, folder: str | PathLike[str], options: Mapping[str, Any] | None = None
) -> Dataset:
    """Read the raw files of data set ``name`` in ``folder`` and return coupled data with labels and provenance."""
    datasets.get(name)
    return _READERS[name](Path(folder), dict(options or {}), read_provenance(name, folder))


def read_provenance(name: str, folder: str | PathLike[str]) -> Provenance:
    """Return where the raw files in ``folder`` came from; without a record they are the user's own."""
    path = Path(folder) / PROVENANCE_FILE
    if not path.exists():
        source = datasets.get(name)
        return Provenance(
            name,
            "local",
            "no record beside the files",
            licence=source.licence,
            citation=source.citation,
        )
    try:
        return Provenance(**store.read_json(path))
    except TypeError as error:
        raise ScoupError.expected(
            str(path), "a provenance record", f"another one ({error})", "download again"
        ) from None


def _options(kind: type, given: dict[str, Any]) -> Any:
    known = [field.name for field in fields(kind)]
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ScoupError.expected("options", f"keys among {', '.join(known)}", ", ".join(unknown))
    return kind(**given)


def _brainq(folder: Path, given: dict[str, Any], provenance: Provenance) -> Dataset:
    options = _options(BrainqOptions, given)
    questions = brainq.read_questions(folder / datasets.QUESTIONS_FILE)
    # A generator, so that one subject's 60 MB are in memory at a time.
    subjects = (
        brainq.read_subject(folder / datasets.subject_file(subject)) for subject in options.subjects
    )
    return couple_brainq(subjects, questions, options, provenance)


def _brainq_excerpt(folder: Path, given: dict[str, Any], provenance: Provenance) -> Dataset:
    options = _options(ExcerptOptions, given)
    questions = brainq.read_questions(folder / datasets.QUESTIONS_FILE)
    values = brainq.read_excerpt(folder / datasets.FMRI_EXCERPT_FILE, options.subject)
    return couple_excerpt(values, questions, options, provenance)


def _facebook(folder: Path, given: dict[str, Any], provenance: Provenance) -> Dataset:
    options = _options(FacebookOptions, {"columns": "owner_poster", **given})
    wall = facebook.read_wall(folder / datasets.WALL_FILE, options.columns)
    return couple_facebook(
        wall, facebook.read_links(folder / datasets.LINKS_FILE), options, provenance
    )


def _facebook_excerpt(folder: Path, given: dict[str, Any], provenance: Provenance) -> Dataset:
    options = _options(FacebookOptions, {"columns": "poster_owner", **given})
    wall = facebook.read_wall(folder / datasets.SMALL_WALL_FILE, options.columns)
    return couple_facebook(
        wall, facebook.read_links(folder / datasets.SMALL_LINKS_FILE), options, provenance
    )


def _random(folder: Path, given: dict[str, Any], provenance: Provenance) -> Dataset:
    if given:
        raise ScoupError.expected("options", "none for random data", ", ".join(sorted(given)))
    tensor = read_tns(folder / datasets.TENSOR_FILE)
    matrix = read_tns(folder / datasets.MATRIX_FILE)
    data = CoupledData(tensor, {0: matrix})
    labels = [Labels(f"mode{mode}", np.arange(size)) for mode, size in enumerate(tensor.shape)]
    return Dataset(data, (*labels, Labels("column", np.arange(matrix.shape[1]))), provenance)


def _files(folder: Path, given: dict[str, Any], provenance: Provenance) -> Dataset:
    return couple.couple(folder, Options(**given), provenance)


_READERS = {
    "brainq": _brainq,
    "brainq_excerpt": _brainq_excerpt,
    "facebook": _facebook,
    "facebook_excerpt": _facebook_excerpt,
    "files": _files,
    "random": _random,
}
