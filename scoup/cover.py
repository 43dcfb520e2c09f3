"""Extract the cells of the rows that samples cover from a tensor on disk, which a merge refits.

On one machine a merge reads these cells from the shards itself. Where jobs share a pass, each takes
them from one part of the shards, and the merge gets them from the parts, one after the other.
"""

from collections.abc import Sequence

from scoup.batches import Cells
from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.listing import load
from scoup.merges._shared import sampled_rows
from scoup.records import Array, Sample
from scoup.sharded import ShardedTensor
from scoup.specs import MergeSpec
from scoup.tensor import SparseTensor


def row_sets(
    samples: Sequence[Sample], data: CoupledData, spec: MergeSpec
) -> list[tuple[Array, ...]]:
    """Return the sets of rows of the tensor's modes whose cells a merge reads; not all rows.

    These are the rows of all samples. A merge that judges finished candidates also needs those of
    each sample and of the first 2, 3, ... of them.

    >>> import numpy as np
    >>> samples = [Sample(n, (np.array([n]),) * 3, (np.array([], int),) * 3) for n in range(2)]
    >>> data = CoupledData(np.ones((3, 3, 3)))
    >>> [[len(rows) for rows in rows_of] for rows_of in row_sets(samples, data, MergeSpec())]
    [[2, 2, 2]]
    >>> len(row_sets(samples, data, MergeSpec(finish="refit")))
    3
    """
    chosen = [samples]
    if load("scoup.finishes", spec.finish).JUDGED == "finished":
        first = [samples[:count] for count in range(1, len(samples))]
        chosen = [*first, *([sample] for sample in samples[1:]), samples]
    sets = [sampled_rows(some)[: data.ndim] for some in chosen]
    return [rows for rows in sets if tuple(map(len, rows)) != data.sizes[: data.ndim]]


def cover(
    data: CoupledData, samples: Sequence[Sample], spec: MergeSpec, number: int, parts: int
) -> list[SparseTensor]:
    """Return of each of the :func:`row_sets` the cells that are in one part of the shards."""
    return _tensor(data).part(number, parts).select_all(row_sets(samples, data, spec))


def provide(
    data: CoupledData, samples: Sequence[Sample], spec: MergeSpec, pieces: Sequence[list[Cells]]
) -> None:
    """Let the tensor of ``data`` take the cells of each set from ``pieces``, without a pass."""
    sets = row_sets(samples, data, spec)
    _tensor(data).extracted = list(zip(sets, pieces, strict=True))


def _tensor(data: CoupledData) -> ShardedTensor:
    tensor = data.blocks[0].values
    if not isinstance(tensor, ShardedTensor):
        raise ScoupError.expected("data", "a tensor on disk", "one in memory")
    return tensor
