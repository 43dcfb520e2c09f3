"""Text to shards: ``python -m benchmarks.ingest --lines 1e7 --folder F``.

Writes lines of a gzipped FROSTT file to the folder unless they are there: heavy-tailed coordinates
in any order, some of them more than once. Then times ``scoup.ingest`` and, if it is installed,
DuckDB (``pip install duckdb``), which reads the same file, sums duplicates, sorts and writes
Parquet; and DuckDB's reader of CSV files alone. Each runs in a separate process. A line takes 10
bytes in the file; shards and what is sorted on the way to them take up to 30 more.
"""

import argparse
import gzip
import io
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from benchmarks.machine import THREADS
from benchmarks.measure import Contender, Numbers, race
from scoup import store
from scoup.ingest import ingest
from scoup.seeds import generator

SHAPE = (10_000_000, 65_536, 2_000)
BLOCK_LINES = 2_000_000
MEMORY_MB = 2000


def write_lines(path: Path, lines: int, seed: int) -> None:
    """Write coordinates from 1 and counts, some lines at a time."""
    with store.atomic(path) as temporary, gzip.open(temporary, "wb", compresslevel=1) as stream:
        for number, first in enumerate(range(0, lines, BLOCK_LINES)):
            rng = generator(seed, "ingest", number)
            count = min(BLOCK_LINES, lines - first)
            # Squares of uniform numbers: one index in a hundred has a tenth of the lines.
            columns = [1 + (size * rng.random(count) ** 2).astype(np.int64) for size in SHAPE]
            columns.append(rng.geometric(0.5, count))
            block = io.BytesIO()
            options = csv.WriteOptions(include_header=False, delimiter=" ")
            csv.write_csv(pa.table(dict(zip("ijkv", columns, strict=True))), block, options)
            stream.write(block.getbuffer())


def sharded(path: str) -> Callable[[], Numbers]:
    """Prepare our ingest; kernels are compiled on a tiny file before the clock starts."""
    with tempfile.TemporaryDirectory() as folder:
        write_lines(Path(folder, "tiny.tns.gz"), 1000, seed=0)
        ingest(Path(folder, "tiny.tns.gz"), Path(folder, "shards"), dtype="float32")
    return _timed(lambda folder: ingest(path, Path(folder, "shards"), dtype="float32"))


def sorted_by_duckdb(path: str) -> Callable[[], Numbers]:
    """Prepare the same by DuckDB: read, sum duplicates, sort, write Parquet."""
    query = (
        f"SELECT i, j, k, sum(v)::FLOAT AS v FROM {_source(path)} GROUP BY i, j, k ORDER BY i, j"
    )
    return _timed(lambda folder: _ask(f"COPY ({query}) TO '{folder}/cells.parquet'", folder))


def read_by_duckdb(path: str) -> Callable[[], Numbers]:
    """Prepare DuckDB's reader of CSV files alone."""
    query = f"SELECT max(i), max(j), max(k), sum(v) FROM {_source(path)}"
    return _timed(lambda folder: _ask(query, folder))


def _source(path: str) -> str:
    columns = "{'i': 'INTEGER', 'j': 'INTEGER', 'k': 'INTEGER', 'v': 'FLOAT'}"
    return f"read_csv('{path}', delim=' ', header=false, columns={columns})"


def _ask(query: str, folder: str) -> None:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(f"SET memory_limit='{MEMORY_MB}MB'; SET threads={THREADS}")
        connection.execute(f"SET temp_directory='{folder}'; SET preserve_insertion_order=false")
        connection.execute(query).fetchall()


def _timed(work: Callable[[str], object]) -> Callable[[], Numbers]:
    """Return a run that works in a temporary folder next to others."""

    def run() -> Numbers:
        with tempfile.TemporaryDirectory() as folder:
            started, before = time.perf_counter(), time.process_time()
            work(folder)
            return {
                "seconds": time.perf_counter() - started,
                "processor_seconds": time.process_time() - before,
            }

    return run


def main() -> None:
    """Write the lines, run the contenders and print a line of each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ingest", description=__doc__)
    parser.add_argument("--lines", type=float, default=1e7)
    parser.add_argument("--folder", type=Path, required=True, help="where the file is, or goes")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    lines, path = int(options.lines), options.folder / "events.tns.gz"
    options.folder.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        need, free = 40 * lines, shutil.disk_usage(options.folder).free
        if need > free / 2:
            parser.error(f"{need / 1e9:.0f} GB are needed, and {free / 1e9:.0f} GB are free")
        write_lines(path, lines, options.seed)
    os.environ["TMPDIR"] = str(options.folder.resolve())  # of the contenders' processes
    targets = {"scoup": "sharded"}
    if find_spec("duckdb"):
        targets |= {"DuckDB": "sorted_by_duckdb", "DuckDB, reading alone": "read_by_duckdb"}
    for name, target in targets.items():  # one after the other, so that none holds memory
        where = {"path": str(path)}
        contender = Contender(name, f"benchmarks.ingest:{target}", where, 1, False)
        numbers = race([contender])[name]
        print(
            f"{name}: {numbers['seconds']:.1f} s, {numbers['processor_seconds']:.1f} s of "
            f"processor time, {lines / numbers['seconds'] / 1e6:.2f} million lines per second, "
            f"{numbers['peak_bytes'] / 1e9:.2f} GB",
            flush=True,
        )


if __name__ == "__main__":
    main()
