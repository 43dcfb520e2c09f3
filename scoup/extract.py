"""Extract the cells of all repetitions' samples from a tensor on disk, in one pass.

The pass may be shared by several jobs: each reads one *part*, some of the shards in their order.
The cells of a sample are those of the parts, one after the other, so the number of parts changes no
byte of what is fitted.
"""

from collections.abc import Sequence

from scoup.batches import Cells
from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.records import Sample
from scoup.sharded import ShardedTensor
from scoup.tensor import SparseTensor


def extract(
    data: CoupledData, samples: Sequence[Sample], number: int, parts: int
) -> list[SparseTensor]:
    """Return of each sample the cells that are in one part of the shards."""
    tensor = data.blocks[0].values
    if not isinstance(tensor, ShardedTensor):
        raise ScoupError.expected("data", "a tensor on disk", "one in memory")
    indices = [sample.indices[: data.ndim] for sample in samples]
    return tensor.part(number, parts).select_all(indices)


def gather(data: CoupledData, sample: Sample, pieces: list[Cells]) -> CoupledData:
    """Return the data of a sample whose cells were extracted, given those of each part in order.

    Without pieces, it is selected from the data; the list is emptied.

    >>> import numpy as np
    >>> everything = tuple(np.arange(2) for _ in range(3))
    >>> gather(CoupledData(np.ones((2, 2, 2))), Sample(0, everything, everything), []).shape
    (2, 2, 2)
    """
    tensor = data.blocks[0].values
    if not pieces or not isinstance(tensor, ShardedTensor):
        return data.select(sample.indices)
    return data.select_around(tensor.joined(pieces, sample.sizes[: data.ndim]), sample.indices)
