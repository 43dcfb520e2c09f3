"""Couple events, which stay on disk, with what users like."""

from pathlib import Path

import numpy as np

from scoup.coupled import CoupledData, Dataset
from scoup.datasets.events import LIKES_FILE, Options
from scoup.formats import Source, read
from scoup.records import Labels, Provenance
from scoup.sharded import ShardedTensor


def couple(folder: Path, options: Options, provenance: Provenance) -> Dataset:
    """Open the shards and read the likes; indices have no labels but their numbers."""
    del options
    events = ShardedTensor.open(folder)
    likes = read(Source(file=str(folder / LIKES_FILE))).values
    names = zip(
        (*events.manifest.names, "liked page"), (*events.shape, likes.shape[1]), strict=True
    )
    labels = tuple(Labels(name, np.arange(size)) for name, size in names)
    return Dataset(CoupledData(events, {0: likes}), labels, provenance)
