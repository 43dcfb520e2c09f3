"""A sparse tensor that stays on disk: a folder of Parquet files, read one shard at a time.

The folder holds ``cells-00000.parquet``, ``cells-00001.parquet``, ... with one int32 column per
mode (``index0``, ``index1``, ...) and a column ``value`` of float32 or float64, the densities of
all modes (``densities.npz``), perhaps labels (``labels-0.parquet``, ...) and ``manifest.json``,
which is written last: a folder without it is incomplete. Cells are unique and sorted by the
*leading* mode, the longest one, whose indices are never divided between shards. So a row of its
factor depends on the cells of one shard.

Every pass adds up float64 sums of whole shards, in their order: first those of a group of shards,
then those of the groups. Threads, the memory limit and the number of jobs that share a pass change
no byte of the result.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from scoup import store
from scoup.batches import Cells, Finder, pick, stacked, within
from scoup.errors import DamagedFileError, ScoupError
from scoup.kernels.columns import Batch, aligned_rows, cell_sums, run_sums
from scoup.kernels.fibres import read_only
from scoup.kernels.membership import MASK_BITS, count_members, members_of, sample_masks
from scoup.kernels.rows import padded_zeros
from scoup.machine import available_bytes, kernel_threads, one_thread
from scoup.manifest import (
    DENSITIES_FILE,
    DENSITIES_KIND,
    Manifest,
    Shard,
    index_column,
    labels_file,
)
from scoup.records import Array
from scoup.streamed import SolveRows, StreamedTensor
from scoup.tensor import SparseTensor

# A cell of a shard at work: its file, the decoded columns, and what is computed for each value.
WORK_BYTES_PER_INDEX, WORK_BYTES_PER_VALUE = 8, 24
# Rows of the leading mode that are solved at a time.
BLOCK_ROWS = 1 << 15

# Sorted indices of each mode, and their cells, piece by piece.
Extracted = tuple[Sequence[Array], list[Cells]]


class Reads:
    """Counts the cells that were read, those of restricted tensors included."""

    def __init__(self) -> None:
        self.cells = 0


class ShardedTensor(StreamedTensor):
    """A sparse tensor on disk, used like a :class:`~scoup.tensor.SparseTensor` in ``CoupledData``.

    ``memory_limit`` bounds the bytes that shards take while they are worked on; factors and
    samples come on top. By default it is a quarter of the free memory. ``groups`` are the numbers
    of the groups of shards that passes read: all of them, unless this is a :meth:`part`.

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
    >>> sharded.passes
    1.0
    >>> folder.cleanup()
    """

    def __init__(
        self,
        folder: store.PathLike,
        manifest: Manifest,
        memory_limit: int | None = None,
        groups: range | None = None,
    ) -> None:
        self.folder, self.manifest = Path(folder), manifest
        self.groups = range(len(manifest.groups())) if groups is None else groups
        self.extracted: list[Extracted] = []
        self.shape, self.dtype = manifest.shape, np.dtype(manifest.dtype)
        self.nnz, self.norm2, self.leading = manifest.cells, manifest.norm2, manifest.leading
        self.least, self.most, self.whole = manifest.least, manifest.most, manifest.whole
        self.memory_limit = available_bytes() // 4 if memory_limit is None else int(memory_limit)
        self.reads = Reads()
        self._verified: set[str] = set()
        self._kept: list[object] = []
        largest = max((shard.cells for shard in manifest.shards), default=0)
        if self.work_bytes(largest) > self.memory_limit:
            need = f"{self.work_bytes(largest) / 1e6:.0f} MB for a shard of {largest:,} cells"
            raise ScoupError.expected(
                "memory_limit", need, f"{self.memory_limit / 1e6:.0f} MB", "write smaller shards"
            )

    @classmethod
    def open(cls, folder: store.PathLike, memory_limit: int | None = None) -> Self:
        """Open a folder that ``scoup shard`` or :func:`scoup.shard.shard_tensor` wrote."""
        return cls(folder, Manifest.read(folder), memory_limit)

    @property
    def shards(self) -> list[Shard]:
        """The shards that a pass reads, in order."""
        groups = self.manifest.groups()
        return [shard for number in self.groups for shard in self.manifest.shards[groups[number]]]

    def part(self, number: int, parts: int) -> "ShardedTensor":
        """Return part ``number``, from 1 to ``parts``: passes over it read its groups only.

        Parts have about as many groups each; where there are more parts than groups, some have
        none.

        >>> import tempfile
        >>> from scoup.shard import shard_tensor
        >>> folder = tempfile.TemporaryDirectory()
        >>> tensor = shard_tensor(SparseTensor.from_dense(np.ones((5, 2, 2))), folder.name, 4)
        >>> [len(tensor.part(number, 3).shards) for number in (1, 2, 3)]
        [1, 2, 2]
        >>> folder.cleanup()
        """
        count = len(self.manifest.groups())
        first, last = (count * before // parts for before in (number - 1, number))
        return ShardedTensor(self.folder, self.manifest, self.memory_limit, range(first, last))

    @property
    def passes(self) -> float:
        """How often all cells were read; a read of some of them counts in part."""
        return self.reads.cells / max(self.nnz, 1)

    def keep(self, folder: object) -> None:
        """Keep a temporary folder as long as this tensor, which reads it, is in use."""
        self._kept.append(folder)

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

    def batches(self) -> Iterator[Cells]:
        """Yield coordinates (N, n) and float64 values (n,) of each shard."""

        def work(shard: Shard) -> Cells:
            coords, values = stacked([(np.array(b.columns), b.values) for b in self.read(shard)])
            return coords, values.astype(np.float64)

        return self._pass(work)

    def read(self, shard: Shard) -> list[Batch]:
        """Return the cells of one shard in batches, which are views of what was decoded."""
        batches = self._table(shard.file, shard.sha256).to_batches()
        names = [index_column(mode) for mode in range(self.ndim)]
        return [
            Batch(tuple(b.column(name).to_numpy() for name in names), b.column("value").to_numpy())
            for b in batches
        ]

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
            some = samples[first : first + MASK_BITS]
            pieces: list[list[Cells]] = [[] for _ in some]
            for parts in self.extract(some):
                for piece, part in zip(pieces, parts, strict=True):
                    piece.append(part)
            for piece, indices in zip(pieces, some, strict=True):
                selected.append(self.joined(piece, [len(index) for index in indices]))
        return selected

    def count_all(self, samples: Sequence[Sequence[Array]]) -> list[int]:
        """Return the number of cells of each sample (at most 64 of them), in one pass."""
        masks = tuple(sample_masks(size, mode, samples) for mode, size in enumerate(self.shape))

        def work(shard: Shard) -> Array:
            cells = self.read(shard)
            return np.sum([count_members(b.columns, masks, len(samples)) for b in cells], axis=0)

        return np.sum(list(self._pass(work)), axis=0).tolist()

    def extract(self, samples: Sequence[Sequence[Array]]) -> Iterator[list[Cells]]:
        """Yield of each shard the cells of each sample, numbered by their positions in it."""
        masks = tuple(sample_masks(size, mode, samples) for mode, size in enumerate(self.shape))
        finders = [[Finder(index) for index in indices] for indices in samples]

        def work(shard: Shard) -> list[Cells]:
            parts: list[list[Cells]] = [[] for _ in samples]
            for batch in self.read(shard):
                member = members_of(batch.columns, masks)
                hits = np.flatnonzero(member)
                for number, find in enumerate(finders):
                    bit = np.uint64(number)
                    chosen = hits[(member[hits] >> bit) & np.uint64(1) == 1]
                    parts[number].append(pick(batch, chosen, find))
            return [stacked(part) for part in parts]

        return self._pass(work)

    def cells_at(self, indices: Sequence[Array]) -> Iterator[Cells]:
        """Yield the cells of sorted ``indices``, piece by piece, numbered by their positions.

        That takes a pass, unless they were ``extracted`` before.
        """
        for rows, pieces in self.extracted:
            if all(map(np.array_equal, rows, indices)):
                return iter(pieces)
        return (cells[0] for cells in self.extract([indices]))

    def joined(self, pieces: list[Cells], shape: Sequence[int]) -> SparseTensor:
        """Join pieces of one sample to a tensor in memory; the list is emptied."""
        empty = (np.empty((self.ndim, 0), np.int32), np.empty(0, self.dtype))
        coords, values = stacked([empty, *pieces])
        pieces.clear()
        return SparseTensor.from_owned_arrays(coords, values, shape)

    def mttkrp(self, factors: Sequence[Array], mode: int) -> Array:
        """Matricised tensor times Khatri-Rao product, (I_mode, F), in one pass.

        ``R[i, f] = sum over cells with index i in mode of x * prod_{n != mode} M_n[i_n, f]``
        """
        if mode != self.leading:
            return self.add_up(self.product_sums(factors, mode), mode, factors)
        blocks, rank = self._blocks(factors), factors[0].shape[1]
        product = np.zeros((self.shape[mode], rank), factors[mode].dtype)

        def fill(shard: Shard) -> None:
            span = slice(shard.first, shard.last + 1)
            for rows, part in self._row_products(self.read(shard), span, blocks, rank):
                product[rows] = part

        deque(self._pass(fill), maxlen=0)
        return product

    def product_sums(self, factors: Sequence[Array], mode: int) -> Iterator[Array]:
        """Yield what each group adds to the MTTKRP of a mode other than the leading one."""
        blocks, rank = self._blocks(factors), factors[0].shape[1]

        def work(shard: Shard) -> Array:
            return self._cell_products(self.read(shard), blocks, mode, rank)

        return self._group_sums(self._pass(work))

    def solve_rows(
        self, factors: Sequence[Array], solve: SolveRows, later: int, out: Array | None = None
    ) -> tuple[Array, Array]:
        """See :meth:`StreamedTensor.solve_rows`; no row is divided between shards."""
        solved = np.empty_like(factors[self.leading], order="C") if out is None else out
        sums = self.solved_sums(factors, solve, later, solved)
        return solved, self.add_up(sums, later, factors)

    def solved_sums(
        self, factors: Sequence[Array], solve: SolveRows, later: int, solved: Array
    ) -> Iterator[Array]:
        """Write the rows of each group to ``solved``; yield what it adds to the MTTKRP."""
        blocks, rank = self._blocks(factors), factors[0].shape[1]
        blocks[self.leading] = read_only(solved)
        spans = dict(zip(self.manifest.shards, self.manifest.row_spans(), strict=True))

        def work(shard: Shard) -> Array:
            cells = self.read(shard)
            with one_thread():
                for rows, part in self._row_products(cells, spans[shard], blocks, rank):
                    solved[rows] = solve(rows, part)
            return self._cell_products(cells, blocks, later, rank)

        return self._group_sums(self._pass(work))

    def inner(self, factors: Sequence[Array]) -> float:
        """See :meth:`StreamedTensor.inner`; only rows of one shard are copied to float64."""
        doubles = [
            factor if mode == self.leading else factor.astype(np.float64, copy=False)
            for mode, factor in enumerate(factors)
        ]
        blocks, rank = self._blocks(doubles), factors[0].shape[1]

        def work(shard: Shard) -> float:
            span = slice(shard.first, shard.last + 1)
            parts = self._row_products(self.read(shard), span, blocks, rank)
            return sum(float(np.vdot(part, factors[self.leading][rows])) for rows, part in parts)

        return sum(self._pass(work), 0.0)

    def _blocks(self, factors: Sequence[Array]) -> list[Array]:
        """Return factors as kernels read them: rows of the leading mode come in order."""
        return [
            read_only(factor) if mode == self.leading else aligned_rows(factor)
            for mode, factor in enumerate(factors)
        ]

    def _row_products(
        self, cells: Sequence[Batch], span: slice, blocks: Sequence[Array], rank: int
    ) -> Iterator[tuple[slice, Array]]:
        """Yield the MTTKRP of the leading rows of one shard, some rows at a time.

        A shard may hold a few cells each of millions of rows.
        """
        for first in range(span.start, span.stop, BLOCK_ROWS):
            rows = slice(first, min(first + BLOCK_ROWS, span.stop))
            out = padded_zeros(rows.stop - first, rank, np.float64)
            run_sums(within(cells, self.leading, rows), blocks, self.leading, first, out)
            yield rows, out[:, :rank]

    def _cell_products(
        self, cells: Sequence[Batch], blocks: Sequence[Array], mode: int, rank: int
    ) -> Array:
        """Return what the cells of one shard add to the MTTKRP of a mode."""
        out = padded_zeros(self.shape[mode], rank, np.float64)
        cell_sums(cells, blocks, mode, out)
        return out[:, :rank]

    def add_up(self, sums: Iterable[Array], mode: int, factors: Sequence[Array]) -> Array:
        """Return the MTTKRP of a mode, given what each group adds to it, in order."""
        total = np.zeros((self.shape[mode], factors[mode].shape[1]))
        for part in sums:
            total += part
        return total.astype(factors[mode].dtype, copy=False)

    def _group_sums(self, parts: Iterator[Array]) -> Iterator[Array]:
        """Yield the sum of what the shards of each group add."""
        groups = self.manifest.groups()
        for number in self.groups:
            total = next(parts)
            for _ in self.manifest.shards[groups[number]][1:]:
                total += next(parts)
            yield total

    def _pass(self, work: Callable[[Shard], Any]) -> Iterator[Any]:
        """Yield ``work(shard)`` in the order of the shards, a few of them at work at a time."""
        shards = self.shards
        self.reads.cells += sum(shard.cells for shard in shards)
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
