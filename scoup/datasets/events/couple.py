"""Couple events, which stay on disk, with what users like."""

from pathlib import Path

import numpy as np

from scoup.coupled import CoupledData, Dataset
from scoup.datasets.events import LIKES_FILE, ROLES, Options
from scoup.formats import Source, read
from scoup.records import Labels, Provenance
from scoup.sharded import ShardedTensor


def couple(folder: Path, options: Options, provenance: Provenance) -> Dataset:
    """Open the shards and read the likes; indices have no labels but their numbers."""
    del options
    events = ShardedTensor.open(folder)
    likes = read(Source(file=str(folder / LIKES_FILE))).values
    labels = (
        *(
            Labels(name, np.arange(size), role=role)
            for name, size, role in zip(events.manifest.names, events.shape, ROLES, strict=True)
        ),
        Labels("liked page", np.arange(likes.shape[1])),
    )
    return Dataset(CoupledData(events, {0: likes}), labels, provenance)
