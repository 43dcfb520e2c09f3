"""Restrict data to some rows of each factor, in memory if they fit there, else on disk."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from scoup.batches import Cells
from scoup.coupled import CoupledData
from scoup.records import Array
from scoup.shard import Modes, write_shards
from scoup.sharded import ShardedTensor
from scoup.tensor import SparseTensor

# A cell of a restricted tensor in memory: coordinates, value, and what kernels sort.
BYTES_PER_CELL = 64


def restrict(data: CoupledData, rows: Sequence[Array]) -> CoupledData:
    """Return the data at sorted ``rows``, one array for each of ``[*modes, *sides]``.

    What is in memory is selected there. Shards are read once; if the cells of ``rows`` exceed the
    memory limit of the tensor, they become shards of a temporary folder, which is deleted with the
    data.

    >>> import numpy as np
    >>> data = CoupledData(np.ones((4, 3, 2)))
    >>> restrict(data, [np.array([1, 3]), np.arange(3), np.arange(2)]).shape
    (2, 3, 2)
    """
    tensor = data.blocks[0]
    if not isinstance(tensor.values, ShardedTensor):
        return data.select(rows)
    part = replace(tensor, values=restrict_tensor(tensor.values, rows[: data.ndim]))
    matrices = [data.select_block(number, rows) for number in range(1, len(data.blocks))]
    blocks, weights = zip((part, data.block_weights[0]), *matrices, strict=True)
    return CoupledData.from_blocks(blocks, weights)


def restrict_tensor(
    tensor: ShardedTensor, indices: Sequence[Array]
) -> SparseTensor | ShardedTensor:
    """Return the sub-tensor of sorted ``indices``, in one pass at most; see :func:`restrict`."""
    pieces, shape, cells = list[Cells](), tuple(len(index) for index in indices), 0
    stream = tensor.cells_at(indices)
    for piece in stream:
        pieces.append(piece)
        cells += piece[1].size
        if cells * BYTES_PER_CELL > tensor.memory_limit:
            return _spill(tensor, chain(_drained(pieces), stream), shape)
    return tensor.joined(pieces, shape)


def _spill(tensor: ShardedTensor, cells: Iterator[Cells], shape: Sequence[int]) -> ShardedTensor:
    """Write cells in the order of the tensor to a temporary folder."""
    scratch = tempfile.TemporaryDirectory(prefix="scoup-shards-")
    modes = Modes(tensor.manifest.names, (None,) * tensor.ndim, leading=tensor.leading)
    largest = max(shard.cells for shard in tensor.manifest.shards)
    part = write_shards(cells, shape, scratch.name, largest, modes)
    part.memory_limit, part.reads = tensor.memory_limit, tensor.reads
    part.keep(scratch)
    return part


def _drained(pieces: list[Cells]) -> Iterator[Cells]:
    """Yield pieces, each of which is released when the next one is requested."""
    while pieces:
        yield pieces.pop(0)
