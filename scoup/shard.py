"""Shard: write a sparse tensor as a folder of sorted Parquet files (:mod:`scoup.sharded`)."""

import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from scoup import kernels, store
from scoup.errors import ScoupError
from scoup.records import Array
from scoup.sharded import (
    DENSITIES_FILE,
    DENSITIES_KIND,
    MANIFEST_FILE,
    Manifest,
    Shard,
    ShardedTensor,
    index_column,
)
from scoup.tensor import SparseTensor, check_shape

# A shard of this size takes about 100 MB while it is worked on.
SHARD_CELLS = 1 << 21
ROW_GROUP_CELLS = 1 << 20
# Fast to read, and a quarter of the plain size for sorted counts.
COMPRESSION, COMPRESSION_LEVEL = "zstd", 1

# Coordinates (N, n) and values (n,).
Cells = tuple[Array, Array]


def shard_tensor(
    tensor: SparseTensor, folder: store.PathLike, shard_cells: int = SHARD_CELLS
) -> ShardedTensor:
    """Write a tensor that is in memory.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shard_tensor(SparseTensor.from_dense(np.eye(3)[None]), folder).shape
    (1, 3, 3)
    """
    leading = leading_mode(tensor.shape)
    coords, values = tensor.coords, tensor.values
    if leading:
        order = np.argsort(coords[leading], kind="stable")
        coords, values = coords[:, order], values[order]
    return write_shards([(coords, values)], tensor.shape, folder, shard_cells)


def leading_mode(shape: Sequence[int]) -> int:
    """Return the mode by which shards are sorted: the longest, the first of several.

    >>> leading_mode((3, 5, 5))
    1
    """
    return int(np.argmax(shape))


def write_shards(
    batches: Iterable[Cells],
    shape: Sequence[int],
    folder: store.PathLike,
    shard_cells: int = SHARD_CELLS,
) -> ShardedTensor:
    """Write batches of cells, unique and sorted by the leading mode, as shards of a tensor.

    Shards have about ``shard_cells`` cells. The manifest is written last.
    """
    shape, dtype = check_shape(shape), None
    leading, target = leading_mode(shape), Path(folder)
    density, squares, shards = [np.zeros(size) for size in shape], 0.0, list[Shard]()
    for coords, values in _regrouped(batches, leading, shard_cells):
        dtype = dtype or values.dtype
        kernels.add_densities(coords, values, density)
        squares += float(np.dot(values.astype(np.float64), values.astype(np.float64)))
        shards.append(_write_shard(target, len(shards), coords, values, leading))
    if dtype is None:
        raise ScoupError.expected("tensor", "at least one non-zero", "none")
    arrays = {f"mode{mode}": total for mode, total in enumerate(density)}
    store.write_archive(target / DENSITIES_FILE, DENSITIES_KIND, {}, arrays)
    manifest = Manifest(shape, str(dtype), leading, squares, tuple(shards))
    store.write_json(target / MANIFEST_FILE, vars(manifest) | {"shards": [vars(s) for s in shards]})
    return ShardedTensor(target, manifest)


def _write_shard(folder: Path, number: int, coords: Array, values: Array, leading: int) -> Shard:
    names = [index_column(mode) for mode in range(len(coords))]
    columns = dict(zip(names, coords, strict=True)) | {"value": values}
    encoding = dict.fromkeys(names, "BYTE_STREAM_SPLIT") | {names[leading]: "DELTA_BINARY_PACKED"}
    buffer = io.BytesIO()
    parquet.write_table(
        pa.table(columns), buffer, row_group_size=ROW_GROUP_CELLS, compression=COMPRESSION,
        compression_level=COMPRESSION_LEVEL, use_dictionary=["value"], column_encoding=encoding,
    )  # fmt: skip
    content, file = buffer.getvalue(), f"cells-{number:05d}.parquet"
    store.write_bytes(folder / file, content)
    first, last = int(coords[leading, 0]), int(coords[leading, -1])
    return Shard(file, values.size, first, last, hashlib.sha256(content).hexdigest())


def _regrouped(batches: Iterable[Cells], leading: int, shard_cells: int) -> Iterator[Cells]:
    """Cut a stream of sorted cells into shards that never divide a leading index."""
    waiting: list[Cells] = []
    for batch in batches:
        waiting.append(batch)
        while sum(values.size for _, values in waiting) > shard_cells:
            coords, values = _joined(waiting)
            # Cells of the last index may go on in the next batch: they always wait.
            end = _cut(coords[leading], shard_cells)
            if end == 0:
                waiting = [(coords, values)]
                break
            yield np.ascontiguousarray(coords[:, :end]), values[:end]
            waiting = [(coords[:, end:], values[end:])]
    if waiting:
        coords, values = _joined(waiting)
        if values.size:
            yield np.ascontiguousarray(coords), values


def _cut(index: Array, shard_cells: int) -> int:
    """Return where to end a shard of sorted indices: before an index, 0 if only one is there."""
    before = int(np.searchsorted(index, index[shard_cells], side="left"))
    if before:
        return before
    after = int(np.searchsorted(index, index[shard_cells], side="right"))
    return after if after < index.size else 0


def _joined(waiting: Sequence[Cells]) -> Cells:
    if len(waiting) == 1:
        return waiting[0]
    coords, values = zip(*waiting, strict=True)
    return np.concatenate(coords, axis=1), np.concatenate(values)
