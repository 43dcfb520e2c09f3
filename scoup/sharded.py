"""A sparse tensor that stays on disk: a folder of Parquet files, read one shard at a time.

The folder holds ``cells-00000.parquet``, ``cells-00001.parquet``, ... with one int32 column per
mode (``index0``, ``index1``, ...) and a column ``value`` of float32 or float64, the densities of
all modes (``densities.npz``), perhaps labels (``labels-0.parquet``, ...) and ``manifest.json``,
which is written last: a folder without it is incomplete. Cells are unique and sorted by the
*leading* mode, the longest one, whose indices are never divided between shards. So a row of its
factor depends on the cells of one shard.

Every pass adds up float64 sums of whole shards in the order of the shards: threads and the memory
limit change no byte of the result.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from scoup import store
from scoup.errors import DamagedFileError, ScoupError
from scoup.kernels import rows
from scoup.kernels.fibres import read_only
from scoup.kernels.membership import MASK_BITS, members_of, sample_masks
from scoup.machine import available_bytes, kernel_threads
from scoup.records import Array
from scoup.tensor import SparseTensor, StreamedTensor, check_shape

MANIFEST_FILE, DENSITIES_FILE = "manifest.json", "densities.npz"
DENSITIES_KIND = "densities of shards"
LAYOUT_VERSION = 1
# A cell of a shard at work: its file, the decoded columns, and float64 values.
WORK_BYTES_PER_INDEX, WORK_BYTES_PER_VALUE = 10, 24


def index_column(mode: int) -> str:
    """Return the name of the column with the indices of a mode.

    >>> index_column(2)
    'index2'
    """
    return f"index{mode}"


def labels_file(mode: int) -> str:
    """Return the name of the file with the labels of a mode.

    >>> labels_file(2)
    'labels-2.parquet'
    """
    return f"labels-{mode}.parquet"


@dataclass(frozen=True)
class Shard:
    """One Parquet file: ``cells`` cells, whose leading indices lie in ``first`` to ``last``."""

    file: str
    cells: int
    first: int
    last: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What a folder of shards holds.

    ``least``, ``most`` and ``whole`` describe the values: their range, and whether all are whole
    numbers. ``names`` are those of the modes; ``labels`` are the checksums of their files of
    labels, empty for a mode whose indices are positions, counted from ``first_index``.

    >>> texts, none = ("user", "item", "day"), ("", "", "")
    >>> Manifest((4, 3, 2), "float64", 0, 14.0, 1.0, 3.0, True, texts, none, ()).cells
    0
    """

    shape: tuple[int, ...]
    dtype: str
    leading: int
    norm2: float
    least: float
    most: float
    whole: bool
    names: tuple[str, ...]
    labels: tuple[str, ...]
    shards: tuple[Shard, ...]
    first_index: int = 0
    version: int = LAYOUT_VERSION

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", check_shape(self.shape))
        for name in ("names", "labels"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        shards = (s if isinstance(s, Shard) else Shard(**s) for s in self.shards)
        object.__setattr__(self, "shards", tuple(shards))
        if self.version != LAYOUT_VERSION or self.dtype not in ("float32", "float64"):
            got = f"layout {self.version} of {self.dtype}"
            expected = f"layout {LAYOUT_VERSION} of float32 or float64"
            raise ScoupError.expected("shards", expected, got, "write them again: scoup shard")

    @property
    def cells(self) -> int:
        """Number of stored cells."""
        return sum(shard.cells for shard in self.shards)


class ShardedTensor(StreamedTensor):
    """A sparse tensor on disk, used like a :class:`~scoup.tensor.SparseTensor` in ``CoupledData``.

    ``memory_limit`` bounds the bytes that shards take while they are worked on; factors and
    samples come on top. By default it is a quarter of the free memory.

    >>> import tempfile
    >>> from scoup.shard import shard_tensor
    >>> tensor = SparseTensor.from_dense(np.arange(24.0).reshape(4, 3, 2))
    >>> folder = tempfile.TemporaryDirectory()
    >>> sharded = shard_tensor(tensor, folder.name, shard_cells=8)
    >>> sharded.shape, sharded.nnz, len(sharded.manifest.shards)
    ((4, 3, 2), 23, 4)
    >>> factors = [np.ones((size, 1)) for size in sharded.shape]
    >>> sharded.mttkrp(factors, 2).ravel().tolist()
    [132.0, 144.0]
    >>> folder.cleanup()
    """

    def __init__(
        self, folder: store.PathLike, manifest: Manifest, memory_limit: int | None = None
    ) -> None:
        self.folder, self.manifest = Path(folder), manifest
        self.shape, self.dtype = manifest.shape, np.dtype(manifest.dtype)
        self.nnz, self.norm2 = manifest.cells, manifest.norm2
        self.least, self.most, self.whole = manifest.least, manifest.most, manifest.whole
        self.memory_limit = available_bytes() // 4 if memory_limit is None else int(memory_limit)
        self._verified: set[str] = set()
        self.passes = 0  # how often all shards were read
        largest = max((shard.cells for shard in manifest.shards), default=0)
        if self.work_bytes(largest) > self.memory_limit:
            need = f"{self.work_bytes(largest) / 1e6:.0f} MB for a shard of {largest:,} cells"
            raise ScoupError.expected(
                "memory_limit", need, f"{self.memory_limit / 1e6:.0f} MB", "write smaller shards"
            )

    @classmethod
    def open(cls, folder: store.PathLike, memory_limit: int | None = None) -> Self:
        """Open a folder that ``scoup shard`` or :func:`scoup.shard.shard_tensor` wrote."""
        path = Path(folder, MANIFEST_FILE)
        if not path.exists():
            hint = "write it with: scoup shard FILE -o FOLDER"
            raise ScoupError.expected(str(folder), "a folder of shards", f"no {path.name}", hint)
        try:
            manifest = Manifest(**store.read_json(path))
        except TypeError:
            raise DamagedFileError(str(path), "manifest", "unknown keys") from None
        return cls(folder, manifest, memory_limit)

    def work_bytes(self, cells: int) -> int:
        """Return the bytes that a shard of so many cells takes while it is worked on."""
        return cells * (WORK_BYTES_PER_INDEX * self.ndim + WORK_BYTES_PER_VALUE)

    def densities(self) -> list[Array]:
        """Return the sums of absolute values over each index, one float64 vector per mode."""
        arrays = store.read_archive(self.folder / DENSITIES_FILE, DENSITIES_KIND)[1]
        return [arrays[f"mode{mode}"] for mode in range(self.ndim)]

    def labels(self, mode: int) -> Array:
        """Return the labels of a mode, or the positions of its indices."""
        if not self.manifest.labels[mode]:
            return np.arange(self.shape[mode]) + self.manifest.first_index
        table = self._table(labels_file(mode), self.manifest.labels[mode])
        return np.asarray(table.column("label").to_pylist())

    def batches(self) -> Iterator[tuple[Array, Array]]:
        """Yield coordinates (N, n) and float64 values (n,) of each shard."""
        return self._pass(self.read)

    def read(self, shard: Shard) -> tuple[Array, Array]:
        """Return coordinates (N, n) and float64 values (n,) of one shard."""
        table = self._table(shard.file, shard.sha256)
        coords = np.empty((self.ndim, table.num_rows), np.int32)
        for mode in range(self.ndim):
            coords[mode] = table.column(index_column(mode)).to_numpy()
        return coords, table.column("value").to_numpy().astype(np.float64)

    def _table(self, file: str, sha256: str) -> pa.Table:
        """Read a Parquet file, in one gulp; its checksum is verified the first time."""
        path = self.folder / file
        content = path.read_bytes() if path.exists() else b""
        if file not in self._verified:
            if hashlib.sha256(content).hexdigest() != sha256:
                raise DamagedFileError(str(path), "shard", "another checksum")
            self._verified.add(file)
        return parquet.read_table(pa.BufferReader(content), use_threads=False)

    def select_all(self, samples: Sequence[Sequence[Array]]) -> list[SparseTensor]:
        """Return the sub-tensor of each sample, in one pass for every 64 of them.

        A mask of 64 bits per index says which samples hold it; a cell belongs to the samples in
        the AND of the masks of its indices.
        """
        selected = []
        for first in range(0, len(samples), MASK_BITS):
            selected += self._select_some(samples[first : first + MASK_BITS])
        return selected

    def count_all(self, samples: Sequence[Sequence[Array]]) -> list[int]:
        """Return the number of cells of each sample (at most 64 of them), in one pass."""
        masks = tuple(sample_masks(size, mode, samples) for mode, size in enumerate(self.shape))
        bits = np.arange(len(samples), dtype=np.uint64)

        def work(shard: Shard) -> Array:
            member = members_of(self.read(shard)[0], masks)
            member, counts = np.unique(member, return_counts=True)
            return counts @ ((member[:, None] >> bits) & np.uint64(1)).astype(np.int64)

        return [int(count) for count in sum(self._pass(work))]

    def _select_some(self, samples: Sequence[Sequence[Array]]) -> list[SparseTensor]:
        masks = tuple(sample_masks(size, mode, samples) for mode, size in enumerate(self.shape))
        finders = [[_Finder(index) for index in indices] for indices in samples]
        pieces: list[list[tuple[Array, Array]]] = [[] for _ in samples]

        def work(shard: Shard) -> list[tuple[Array, Array]]:
            coords, values = self.read(shard)
            member = members_of(coords, masks)
            hits = np.flatnonzero(member)
            return [_pick(coords, values, hits, member, n, f) for n, f in enumerate(finders)]

        for parts in self._pass(work):
            for piece, part in zip(pieces, parts, strict=True):
                piece.append(part)
        return [
            self._joined(piece, [len(index) for index in indices])
            for piece, indices in zip(pieces, samples, strict=True)
        ]

    def _joined(self, pieces: list[tuple[Array, Array]], shape: Sequence[int]) -> SparseTensor:
        empty = (np.empty((self.ndim, 0), np.int32), np.empty(0))
        coords = np.concatenate([part[0] for part in (empty, *pieces)], axis=1)
        values = np.concatenate([part[1] for part in (empty, *pieces)]).astype(self.dtype)
        pieces.clear()
        return SparseTensor.from_owned_arrays(coords, values, shape)

    def mttkrp(self, factors: Sequence[Array], mode: int) -> Array:
        """Matricised tensor times Khatri-Rao product, (I_mode, F), in one pass.

        ``R[i, f] = sum over cells with index i in mode of x * prod_{n != mode} M_n[i_n, f]``
        """
        others = [n for n in range(self.ndim) if n != mode]
        modes, leading, rank = np.array([mode, *others]), self.manifest.leading, factors[0].shape[1]
        double = {n: read_only(factors[n], np.float64) for n in others if n != leading}

        def work(shard: Shard) -> tuple[Shard, Array]:
            coords, values = self.read(shard)
            coords[leading] -= shard.first
            ours = factors[leading][shard.first : shard.last + 1]
            blocks = tuple(
                double[n] if n in double else read_only(ours, np.float64) for n in others
            )
            size = len(ours) if mode == leading else self.shape[mode]
            out = rows.padded_zeros(size, rank, np.float64)
            kernel = rows.list_cells(rows.width_for(rank))
            kernel(0, values.size, (read_only(coords), read_only(values)), modes, blocks, out)
            return shard, out[:, :rank]

        if mode == leading:
            product = np.zeros((self.shape[mode], rank), factors[mode].dtype)
            for shard, part in self._pass(work):
                product[shard.first : shard.last + 1] = part
            return product
        total = np.zeros((self.shape[mode], rank))
        for _, part in self._pass(work):
            total += part
        return total.astype(factors[mode].dtype, copy=False)

    def _pass(self, work: Callable[[Shard], Any]) -> Iterator[Any]:
        """Yield ``work(shard)`` in the order of the shards, a few of them at work at a time."""
        self.passes += 1
        shards = self.manifest.shards
        largest = max((self.work_bytes(shard.cells) for shard in shards), default=1)
        workers = max(1, min(kernel_threads(), self.memory_limit // max(largest, 1)))
        if workers == 1:
            yield from map(work, shards)
            return
        with ThreadPoolExecutor(workers, thread_name_prefix="scoup-shards") as pool:
            pending: deque[Future[Any]] = deque()
            for shard in shards:
                pending.append(pool.submit(work, shard))
                if len(pending) > workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()


class _Finder:
    """Finds the positions of indices within a sample, whatever its order."""

    def __init__(self, index: Array) -> None:
        self._order = np.argsort(index, kind="stable")
        self._sorted = np.asarray(index)[self._order]

    def __call__(self, wanted: Array) -> Array:
        return self._order[np.searchsorted(self._sorted, wanted)]


def _pick(
    coords: Array,
    values: Array,
    hits: Array,
    member: Array,
    number: int,
    finders: Sequence[_Finder],
) -> tuple[Array, Array]:
    """Return the cells of one sample, with positions within the sample as coordinates."""
    chosen = hits[(member[hits] >> np.uint64(number)) & np.uint64(1) == 1]
    inside = np.empty((len(finders), chosen.size), np.int32)
    for row, coord, find in zip(inside, coords, finders, strict=True):
        row[:] = find(coord[chosen])
    return inside, values[chosen]
