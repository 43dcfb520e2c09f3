"""Couple a tensor on disk with matrices."""

from pathlib import Path

from scoup.coupled import Dataset
from scoup.datasets.files import roles_of
from scoup.datasets.files.couple import Tensor, couple_tensor
from scoup.datasets.shards import Options, paths
from scoup.records import Labels, Provenance
from scoup.sharded import ShardedTensor


def couple(folder: str | Path, options: Options, provenance: Provenance | None) -> Dataset:
    """Open the shards where they are; ``folder`` holds the record of checksums only."""
    del folder
    return couple_shards(ShardedTensor.open(options.tensor), options, provenance)


def couple_shards(
    tensor: ShardedTensor, options: Options, provenance: Provenance | None = None
) -> Dataset:
    """Couple the matrices to a tensor on disk, with the labels that it has."""
    manifest = tensor.manifest
    roles = roles_of(options.roles, manifest.names)
    labels = [
        Labels(name, tensor.labels(mode), role=roles[mode])
        for mode, name in enumerate(manifest.names)
    ]
    block = Tensor(tensor, labels, [bool(checksum) for checksum in manifest.labels])
    return couple_tensor(block, options.matrices, paths(options), provenance)
