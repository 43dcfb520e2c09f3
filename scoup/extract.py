"""Extract the cells of all repetitions' samples from a tensor on disk, in one pass.

The pass may be shared by several jobs: each reads one *part*, some of the shards in their order.
The cells of a sample are those of the parts, one after the other, so the number of parts changes no
byte of what is fitted.
"""

from collections.abc import Sequence
from dataclasses import replace

from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.records import Sample
from scoup.sharded import Cells, ShardedTensor
from scoup.tensor import SparseTensor


def part_of(tensor: ShardedTensor, number: int, parts: int) -> ShardedTensor:
    """Return the shards of part ``number``, from 1 to ``parts``, to be read and no more.

    Parts have about as many shards each; where there are more parts than shards, some have none.

    >>> import tempfile
    >>> import numpy as np
    >>> from scoup.shard import shard_tensor
    >>> from scoup.tensor import SparseTensor
    >>> folder = tempfile.TemporaryDirectory()
    >>> tensor = shard_tensor(SparseTensor.from_dense(np.ones((5, 2, 2))), folder.name, 4)
    >>> [len(part_of(tensor, number, 3).manifest.shards) for number in (1, 2, 3)]
    [1, 2, 2]
    >>> folder.cleanup()
    """
    shards = tensor.manifest.shards
    first, last = (len(shards) * before // parts for before in (number - 1, number))
    part = replace(tensor.manifest, shards=shards[first:last])
    return ShardedTensor(tensor.folder, part, tensor.memory_limit)


def extract(
    data: CoupledData, samples: Sequence[Sample], number: int, parts: int
) -> list[SparseTensor]:
    """Return of each sample the cells that are in one part of the shards."""
    tensor = data.blocks[0].values
    if not isinstance(tensor, ShardedTensor):
        raise ScoupError.expected("data", "a tensor on disk", "one in memory")
    indices = [sample.indices[: data.ndim] for sample in samples]
    return part_of(tensor, number, parts).select_all(indices)


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
