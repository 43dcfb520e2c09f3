"""A tensor on disk of any size: ``python -m benchmarks.scale --cells 1e8 --folder F``.

Writes simulated events to the folder unless they are there, then runs SCOUP with completion and
exact ALS over the same shards, each in a separate process, and prints seconds, passes over all
cells, peak memory, the explained share of the tensor and the share of planted groups found. A cell
takes 3 to 4 bytes on disk. Kernels are compiled before the clock starts.
"""

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Contender, Numbers, race
from scoup import CMTF, SCOUP
from scoup.coupled import CoupledData
from scoup.datasets.events import SIZES, EventsSize, Options
from scoup.datasets.events.couple import couple
from scoup.datasets.events.simulate import write_events
from scoup.manifest import MANIFEST_FILE
from scoup.sharded import ShardedTensor
from scoup.simulate import read_planted

RANK = 10
# Samples of the same size whatever the number of cells; of short modes all indices are kept.
PLAN = {
    "sampling": (4, 4, 1), "cells": 2_000_000, "repetitions": 4, "init": "random", "max_iter": 50,
    "tol": 1e-5, "finish": "complete", "jobs": 2,
}  # fmt: skip
BYTES_PER_CELL = 4


def sampled(folder: str, limit: int) -> Callable[[], Numbers]:
    """Prepare SCOUP with completion."""
    return _prepare(SCOUP(RANK, **PLAN), folder, limit)


def streamed(folder: str, limit: int, sweeps: int) -> Callable[[], Numbers]:
    """Prepare exact ALS."""
    return _prepare(CMTF(RANK, init="random", max_iter=sweeps, tol=0.0), folder, limit)


def found(users: np.ndarray, folder: Path) -> float:
    """Return the mean share of the planted groups at the top of their best components."""
    groups = [g["users"] for g in read_planted(folder)["planted"] if g["kind"] == "group"]
    sizes, shares = np.abs(users), []
    for members in groups:
        top = np.argpartition(-sizes, len(members), axis=0)[: len(members)]
        shares.append(np.isin(top, members).mean(axis=0).max())
    return float(np.mean(shares))


def _prepare(estimator: CMTF | SCOUP, folder: str, limit: int) -> Callable[[], Numbers]:
    """Compile the kernels on tiny data, and return the run on the data of the folder."""
    with tempfile.TemporaryDirectory() as tiny:
        write_events(Path(tiny), SIZES["tiny"], seed=0)
        estimator.fit(_open(tiny, limit))

    def run() -> Numbers:
        started = time.perf_counter()
        data = _open(folder, limit)
        estimator.fit(data)
        seconds = time.perf_counter() - started
        report: Any = estimator.report_
        return {
            "seconds": seconds,
            "passes": data.tensor.passes,
            "explained": report.block_fits["tensor"],
            "found": found(estimator.factors_.modes[0], Path(folder)),
            **{f"{stage}_seconds": spent for stage, spent in report.seconds.items()},
        }

    return run


def _open(folder: str, limit: int) -> CoupledData:
    likes = couple(Path(folder), Options(), None).data.matrices
    return CoupledData(ShardedTensor.open(folder, memory_limit=limit), likes)


def main() -> None:
    """Write the events, run both contenders and print a line of each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--cells", type=float, default=1e7, help="number of cells, about")
    parser.add_argument("--modes-of", type=float, help="sizes of modes as with so many cells")
    parser.add_argument("--folder", type=Path, required=True, help="where the shards are, or go")
    parser.add_argument("--sweeps", type=int, default=20, help="sweeps of exact ALS; 0: none")
    parser.add_argument("--memory", type=float, default=500, help="memory limit of shards in MB")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if not (options.folder / MANIFEST_FILE).exists():
        need, free = options.cells * BYTES_PER_CELL, shutil.disk_usage(options.folder.parent).free
        if need > free / 2:
            parser.error(f"{need / 1e9:.0f} GB are needed, and {free / 1e9:.0f} GB are free")
        started = time.perf_counter()
        size = EventsSize.of(int(options.modes_of or options.cells))
        write_events(options.folder, replace(size, cells=int(options.cells)), options.seed)
        print(f"written in {time.perf_counter() - started:.0f} s", flush=True)
    tensor = ShardedTensor.open(options.folder)
    print(f"{tensor.nnz:,} cells of {tensor.shape}, {len(tensor.manifest.shards)} shards")
    limits = {"folder": str(options.folder), "limit": int(options.memory * 1e6)}
    contenders = [Contender("SCOUP", "benchmarks.scale:sampled", limits, 1, False)]
    if options.sweeps:
        sweeps = limits | {"sweeps": options.sweeps}
        contenders.append(Contender("ALS", "benchmarks.scale:streamed", sweeps, 1, False))
    for contender in contenders:  # one after the other, so that none holds memory of another
        for name, numbers in race([contender]).items():
            print(f"{name}: {_line(numbers)}\n{json.dumps(numbers)}", flush=True)


def _line(numbers: Numbers) -> str:
    return (
        f"{numbers['seconds']:.1f} s, {numbers['passes']:.1f} passes, "
        f"{numbers['peak_bytes'] / 1e9:.2f} GB, explained {numbers['explained']:.4f}, "
        f"groups found {numbers['found']:.2f}"
    )


if __name__ == "__main__":
    main()
