"""Replace the values of a sparse tensor, and of nothing else."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.records import Array
from scoup.tensor import SparseTensor


def revalued(data: CoupledData, name: str, change: Callable[[SparseTensor], Array]) -> CoupledData:
    """Return the data with other values in the non-zero cells of its sparse tensor."""
    tensor = data.blocks[0].in_memory
    if not isinstance(tensor, SparseTensor):
        raise ScoupError.expected(f"values: {name}", "a sparse tensor of counts", "a dense one")
    block = replace(data.blocks[0], values=tensor.with_values(change(tensor)))
    return CoupledData.from_blocks([block, *data.blocks[1:]], "paper", data.labels)


def meetings(tensor: SparseTensor) -> Array:
    """Return for each cell (i, j, ...) the number of cells with the same i and j."""
    pair = tensor.coords[0].astype(np.int64) * tensor.shape[1] + tensor.coords[1]
    _, position, count = np.unique(pair, return_inverse=True, return_counts=True)
    return count[position]
