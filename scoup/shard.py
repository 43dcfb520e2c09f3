"""Shard: write a sparse tensor as a folder of sorted Parquet files (:mod:`scoup.sharded`)."""

import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from scoup import kernels, store
from scoup.errors import ScoupError
from scoup.manifest import (
    DENSITIES_FILE,
    DENSITIES_KIND,
    MANIFEST_FILE,
    Manifest,
    Shard,
    index_column,
    labels_file,
)
from scoup.records import Array
from scoup.sharded import Cells, ShardedTensor
from scoup.tensor import SparseTensor, check_shape

# A shard of this size takes about 100 MB while it is worked on.
SHARD_CELLS = 1 << 21
ROW_GROUP_CELLS = 1 << 20
# A fifth of the plain size for sorted counts, and twice as fast to read as zstd.
COMPRESSION = "lz4"
# Indices below this number are stored as entries of a dictionary, which is read fastest.
MAX_DICTIONARY_INDEX = 1 << 13


@dataclass(frozen=True, eq=False)
class Modes:
    """Names of the modes, and the labels of each.

    A mode without labels (None) has positions, which its users count from ``first_index``. Cells
    are sorted by the ``leading`` mode, by default the longest.

    >>> Modes.numbered(3).names
    ('mode0', 'mode1', 'mode2')
    """

    names: tuple[str, ...]
    labels: tuple[Array | None, ...]
    first_index: int = 0
    leading: int | None = None

    @classmethod
    def numbered(cls, order: int) -> "Modes":
        """Name modes by their numbers."""
        return cls(tuple(f"mode{n}" for n in range(order)), (None,) * order)


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
    modes: Modes | None = None,
) -> ShardedTensor:
    """Write batches of cells, unique and sorted by the leading mode, as shards of a tensor.

    Shards have about ``shard_cells`` cells. The manifest is written last.
    """
    shape, target = check_shape(shape), Path(folder)
    totals, shards, modes = Totals.of(shape), list[Shard](), modes or Modes.numbered(len(shape))
    leading = leading_mode(shape) if modes.leading is None else modes.leading
    for coords, values in _regrouped(batches, leading, shard_cells):
        totals.add(coords, values)
        shards.append(write_shard(target, len(shards), coords, values, leading))
    return write_manifest(target, shards, totals, modes)


@dataclass(eq=False)
class Totals:
    """What is known of all cells so far, added up in their order.

    >>> totals = Totals.of((1, 2, 1))
    >>> totals.add(np.zeros((3, 1), np.int32), np.array([-2.0]))
    >>> totals.norm2, totals.least, totals.densities[1].tolist()
    (4.0, -2.0, [2.0, 0.0])
    """

    densities: list[Array]
    norm2: float = 0.0
    least: float = np.inf
    most: float = -np.inf
    whole: bool = True
    dtypes: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, shape: Sequence[int]) -> "Totals":
        """Begin with no cells."""
        return cls([np.zeros(size) for size in shape])

    def add(self, coords: Array, values: Array) -> None:
        """Add further cells."""
        doubles = values.astype(np.float64)
        kernels.add_densities(coords, doubles, self.densities)
        self.norm2 += float(np.dot(doubles, doubles))
        self.least = min(self.least, float(doubles.min()))
        self.most = max(self.most, float(doubles.max()))
        self.whole = self.whole and bool((doubles == np.rint(doubles)).all())
        self.dtypes.add(str(values.dtype))


def write_manifest(
    folder: Path, shards: Sequence[Shard], totals: Totals, modes: Modes
) -> ShardedTensor:
    """Write labels, densities and, last of all, the manifest."""
    shape = tuple(density.size for density in totals.densities)
    if not shards:
        raise ScoupError.expected("tensor", "at least one non-zero", "none")
    arrays = {f"mode{mode}": total for mode, total in enumerate(totals.densities)}
    store.write_archive(folder / DENSITIES_FILE, DENSITIES_KIND, {}, arrays)
    labels = tuple(_write_labels(folder, mode, ids) for mode, ids in enumerate(modes.labels))
    leading = leading_mode(shape) if modes.leading is None else modes.leading
    manifest = Manifest(
        shape, max(totals.dtypes), leading, totals.norm2, totals.least, totals.most,
        totals.whole, modes.names, labels, tuple(shards), modes.first_index,
    )  # fmt: skip
    document = vars(manifest) | {"shards": [vars(shard) for shard in shards]}
    store.write_json(folder / MANIFEST_FILE, document)
    return ShardedTensor(folder, manifest)


def _write_labels(folder: Path, mode: int, labels: Array | None) -> str:
    """Write the labels of a mode, if it has any; return the checksum of the file."""
    if labels is None:
        return ""
    return _write_table(folder / labels_file(mode), pa.table({"label": labels.tolist()}))


def write_shard(folder: Path, number: int, coords: Array, values: Array, leading: int) -> Shard:
    """Write one shard of sorted cells."""
    names = [index_column(mode) for mode in range(len(coords))]
    columns = dict(zip(names, coords, strict=True)) | {"value": values}
    short = [n for n, row in zip(names, coords, strict=True) if row.max() < MAX_DICTIONARY_INDEX]
    encoding = dict.fromkeys(names, "BYTE_STREAM_SPLIT") | {names[leading]: "DELTA_BINARY_PACKED"}
    encoding = {name: kind for name, kind in encoding.items() if name not in short}
    file = f"cells-{number:05d}.parquet"
    # No cell is missing. Where columns may hold nulls, these take half of the time to read.
    fields = [pa.field(n, pa.from_numpy_dtype(c.dtype), nullable=False) for n, c in columns.items()]
    checksum = _write_table(
        folder / file,
        pa.table(columns, schema=pa.schema(fields)),
        use_dictionary=["value", *short],
        column_encoding=encoding or None,
    )
    return Shard(file, values.size, int(coords[leading, 0]), int(coords[leading, -1]), checksum)


def _write_table(path: Path, table: pa.Table, **options: object) -> str:
    """Write a Parquet file and return its checksum."""
    buffer = io.BytesIO()
    parquet.write_table(
        table, buffer, row_group_size=ROW_GROUP_CELLS, compression=COMPRESSION, **options,
    )  # fmt: skip
    store.write_bytes(path, buffer.getvalue())
    return hashlib.sha256(buffer.getvalue()).hexdigest()


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
