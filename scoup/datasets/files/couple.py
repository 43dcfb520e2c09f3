"""Couple user-supplied files."""

from pathlib import Path

from scoup.coupled import Dataset
from scoup.datasets.files import Options, _parsed
from scoup.preprocess.files import couple_files
from scoup.records import Provenance


def couple(folder: Path, options: Options, provenance: Provenance) -> Dataset:
    """Read the files where they are; ``folder`` holds only their provenance."""
    return couple_files(_parsed(options), provenance)
