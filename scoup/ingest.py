"""Ingest files of any size as shards: an external sort in bounded memory.

Three stages, each of which holds a few million cells at a time:

1. *read*: labels become codes in the order of their appearance, and cells are written as *runs*;
2. *sort*: codes become the positions of sorted labels, and each run is cut into ranges of the
   leading mode, which have about as many cells as a shard;
3. *write*: a range, collected from all runs, is sorted, and cells that come more than once are
   summed.

Runs lie in a hidden folder next to the shards. A call that was interrupted goes on from the last
file that was read, or the last run that was sorted.
"""

import mmap
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from scoup import store
from scoup.errors import ScoupError
from scoup.formats import Source, Stream, format_of, stream
from scoup.formats._labels import Coder, sorted_labels
from scoup.formats._table import code
from scoup.manifest import MANIFEST_FILE
from scoup.records import Array
from scoup.shard import SHARD_CELLS, Cells, Modes, leading_mode, write_shards
from scoup.sharded import ShardedTensor
from scoup.tensor import MAX_MODE_SIZE, SparseTensor, check_shape
from scoup.text import check_expansion

RUN_CELLS = 1 << 22
RUNS_FOLDER, STATE_FILE, COUNTS_FILE = ".ingest", "state.json", "counts.npz"
RAW_KIND, SORTED_KIND, COUNTS_KIND = "run of cells", "sorted run of cells", "cells per index"


def ingest(
    path: store.PathLike,
    folder: store.PathLike,
    shard_cells: int = SHARD_CELLS,
    run_cells: int = RUN_CELLS,
    dtype: str = "float64",
    progress: bool = False,
    **options: Any,
) -> ShardedTensor:
    """Write a file, or all files of a folder, as shards; duplicates are summed.

    ``options`` are those of :class:`~scoup.formats.Source`, such as ``columns`` and ``value``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lines = "user,item,day,count\\n" + "bo,tea,mon,1\\nal,tea,tue,2\\nbo,tea,mon,4\\n"
    ...     store.write_text(f"{folder}/sales.csv", lines)
    ...     sharded = ingest(f"{folder}/sales.csv", f"{folder}/sales.shards")
    ...     sharded.shape, sharded.nnz, sharded.labels(0).tolist(), sharded.most
    ((2, 1, 2), 2, ['al', 'bo'], 5.0)
    """
    target, runs = Path(folder), Path(folder, RUNS_FOLDER)
    if Path(target, MANIFEST_FILE).exists():
        raise ScoupError(f"{target}: the shards are there already; remove them to write others.")
    sources = _sources(Path(path), options)
    settings = {"run_cells": run_cells, "shard_cells": shard_cells, "dtype": dtype}
    reading = _Reading(runs, sources, settings)
    with tqdm(desc="read", unit=" cells", unit_scale=True, disable=not progress) as bar:
        for number in range(reading.files_read, len(sources)):
            reading.read_file(number, bar)
    modes, positions = reading.modes()
    plan = _plan(reading, positions, shard_cells)
    for number in tqdm(range(reading.runs), desc="sort", unit=" runs", disable=not progress):
        _sort_run(runs, number, positions, plan)
    batches = tqdm(
        _ranges(runs, reading.runs, plan), desc="write", unit=" shards",
        total=plan.ranges, disable=not progress,
    )  # fmt: skip
    sharded = write_shards(batches, plan.shape, target, shard_cells, modes)
    shutil.rmtree(runs)
    return sharded


def _sources(path: Path, options: dict[str, Any]) -> list[Source]:
    """Return the file, or the files of a folder in order; hidden ones and markers do not count."""
    if not path.is_dir():
        return [Source(file=str(path), **options)]
    files = [f for f in sorted(path.iterdir()) if f.is_file() and f.name[0] not in "._"]
    if not files:
        raise ScoupError.expected(str(path), "a folder of files", "none")
    return [Source(file=str(file), **options) for file in files]


class _Reading:
    """The first stage: what has been read so far, in memory and in the folder of runs."""

    def __init__(self, folder: Path, sources: Sequence[Source], settings: dict[str, Any]) -> None:
        self.folder, self.sources = folder, sources
        self.run_cells, self.dtype = settings["run_cells"], np.dtype(settings["dtype"])
        self.files_read, self.runs, self.names, self.keyed = 0, 0, tuple[str, ...](), False
        self.coders: list[Coder] = []
        self.counts: list[Array] = []
        self._waiting: list[Cells] = []
        self._request = {
            "sources": [source.model_dump() for source in sources],
            "bytes": [Path(s.file).stat().st_size for s in sources if Path(s.file).exists()],
            "settings": settings,
        }
        self._resume()

    def read_file(self, number: int, bar: Any) -> None:
        """Write the cells of one file as runs, then the state."""
        file, content = self.sources[number].file, stream(self.sources[number])
        self._check_names(content, file)
        for columns, values in content.batches:
            indices = (
                code(file, self.coders, columns)
                if self.keyed
                else _checked_positions(file, columns)
            )
            self._add(np.array(indices, np.int32), values.astype(self.dtype))
            bar.update(values.size)
        self._flush(1)
        self.files_read = number + 1
        self._write_state()

    def modes(self) -> tuple[Modes, list[Array | None]]:
        """Return names and sorted labels, and for each mode the position of each code."""
        if not sum(int(count.sum()) for count in self.counts):
            raise ScoupError.expected(self.sources[0].file, "at least one cell", "none")
        if not self.keyed:
            first = getattr(format_of(self.sources[0].file), "FIRST_INDEX", 0)
            none = (None,) * len(self.names)
            return Modes(self.names, none, first), list(none)
        pairs = [
            sorted_labels(f"{self.sources[0].file}, column {name!r}", list(coder.known))
            for name, coder in zip(self.names, self.coders, strict=True)
        ]
        labels, positions = zip(*pairs, strict=True)
        return Modes(self.names, labels), list(positions)

    def _check_names(self, content: Stream, file: str) -> None:
        if not self.names:
            self.names, self.keyed = content.names, content.keyed
            self.coders = [Coder() for _ in self.names]
            self.counts = [np.zeros(0, np.int64) for _ in self.names]
        if (self.names, self.keyed) != (content.names, content.keyed):
            expected = f"modes {', '.join(self.names)}, as in {self.sources[0].file}"
            raise ScoupError.expected(file, expected, ", ".join(content.names))
        if len(self.names) < 3:
            raise ScoupError.expected(file, "three modes or more", len(self.names))

    def _add(self, coords: Array, values: Array) -> None:
        self._waiting.append((coords, values))
        for mode, index in enumerate(coords):
            new = int(index.max()) + 1 - self.counts[mode].size
            if new > 0:
                self.counts[mode] = np.pad(self.counts[mode], (0, new))
            np.add.at(self.counts[mode], index, 1)
        self._flush(self.run_cells)

    def _flush(self, least: int) -> None:
        """Write the waiting cells as a run if there are enough of them."""
        if sum(values.size for _, values in self._waiting) < least:
            return
        coords, values = zip(*self._waiting, strict=True)
        arrays = {"coords": np.concatenate(coords, axis=1), "values": np.concatenate(values)}
        self._waiting.clear()
        store.write_archive(_run(self.folder, "raw", self.runs), RAW_KIND, {}, arrays)
        self.runs += 1

    def _write_state(self) -> None:
        counts = {f"mode{n}": count for n, count in enumerate(self.counts)}
        store.write_archive(self.folder / COUNTS_FILE, COUNTS_KIND, {}, counts)
        state = {"request": self._request, "files_read": self.files_read, "runs": self.runs}
        labels = [list(coder.known) for coder in self.coders]
        document = state | {"names": self.names, "keyed": self.keyed, "labels": labels}
        store.write_json(self.folder / STATE_FILE, document)

    def _resume(self) -> None:
        """Continue what an interrupted call with the same request has read."""
        path = self.folder / STATE_FILE
        state = store.read_json(path) if path.exists() else {}
        if state.get("request") != store.plain(self._request):
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        self.files_read, self.runs = state["files_read"], state["runs"]
        self.names, self.keyed = tuple(state["names"]), state["keyed"]
        counts = store.read_archive(self.folder / COUNTS_FILE, COUNTS_KIND)[1]
        self.counts = [counts[f"mode{n}"].copy() for n in range(len(self.names))]
        for labels in state["labels"]:
            self.coders.append(Coder())
            self.coders[-1].known |= {label: number for number, label in enumerate(labels)}


@dataclass(frozen=True, eq=False)
class _Plan:
    """The shape, the leading mode, and the first leading index of each range."""

    shape: tuple[int, ...]
    leading: int
    starts: Array

    @property
    def ranges(self) -> int:
        """Number of ranges."""
        return self.starts.size


def _plan(reading: _Reading, positions: Sequence[Array | None], shard_cells: int) -> _Plan:
    """Cut the leading mode into ranges of at most ``shard_cells`` cells, or of a single index."""
    shape = check_shape([count.size for count in reading.counts])
    leading = leading_mode(shape)
    counts, position = reading.counts[leading], positions[leading]
    if position is not None:
        counts = counts[np.argsort(position)]
    ends, starts = np.cumsum(counts), [0]
    while starts[-1] < counts.size:
        before = int(ends[starts[-1] - 1]) if starts[-1] else 0
        end = int(np.searchsorted(ends, before + shard_cells, side="right"))
        starts.append(max(end, starts[-1] + 1))
    return _Plan(shape, leading, np.array(starts[:-1]))


def _run(folder: Path, kind: str, number: int) -> Path:
    return folder / f"{kind}-{number:05d}.npz"


def _sort_run(folder: Path, number: int, positions: Sequence[Array | None], plan: _Plan) -> None:
    """Order the cells of a run by range, with positions for codes; what was sorted stays."""
    raw, target = _run(folder, "raw", number), _run(folder, "sorted", number)
    if not target.exists():
        arrays = store.read_archive(raw, RAW_KIND)[1]
        pairs = zip(arrays["coords"], positions, strict=True)
        coords = np.array([index if new is None else new[index] for index, new in pairs], np.int32)
        places = np.searchsorted(plan.starts, coords[plan.leading], side="right") - 1
        # Sixteen bits are sorted by counting, in linear time.
        few = np.uint16 if plan.ranges < 2**16 else np.int64
        order = np.argsort(places.astype(few), kind="stable")
        offsets = np.searchsorted(places[order], np.arange(plan.ranges + 1))
        cells = {"coords": coords[:, order], "values": arrays["values"][order], "offsets": offsets}
        store.write_archive(target, SORTED_KIND, {}, cells)
    raw.unlink(missing_ok=True)


def _ranges(folder: Path, runs: int, plan: _Plan) -> Iterator[Cells]:
    """Yield the cells of each range, from all runs, sorted and without duplicates."""
    paths = [_run(folder, "sorted", number) for number in range(runs)]
    parts = [store.read_archive(path, SORTED_KIND)[1] for path in paths]
    others = [mode for mode in range(len(plan.shape)) if mode != plan.leading]
    modes = [plan.leading, *others]
    back = np.argsort(modes)
    for number in range(plan.ranges):
        cuts = [slice(*part["offsets"][number : number + 2]) for part in parts]
        pairs = list(zip(parts, cuts, strict=True))
        coords = np.concatenate([part["coords"][:, cut] for part, cut in pairs], axis=1)[modes]
        values = np.concatenate([part["values"][cut] for part, cut in pairs])
        shape = [plan.shape[mode] for mode in modes]
        _unload(parts)
        cells = SparseTensor.from_owned_arrays(coords, values, shape)
        yield cells.coords[back], cells.values


def _unload(parts: Sequence[dict[str, Array]]) -> None:
    """Release the pages of mapped runs that were read, or all runs would end up in memory."""
    for array in (array for part in parts for array in part.values()):
        base: Any = array
        while isinstance(base, np.ndarray):
            base = base.base
        if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            base.madvise(mmap.MADV_DONTNEED)


def _checked_positions(file: str, columns: Sequence[Array]) -> Sequence[Array]:
    """Refuse positions that are no indices, or so large that they can only be a mistake."""
    for column in columns:
        if column.dtype.kind not in "iu" or column.min() < 0 or column.max() >= MAX_MODE_SIZE:
            expected = f"whole numbers from 0 to {MAX_MODE_SIZE - 1} as indices"
            raise ScoupError.expected(file, expected, "others")
        check_expansion(file, 8 * int(column.max()))
    return columns
