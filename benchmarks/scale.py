"""A tensor on disk of any size: ``python -m benchmarks.scale --cells 1e8 --folder F``.

Writes simulated events to the folder unless they are there, then runs SCOUP with completion and
exact ALS over the same shards, each in a separate process, and prints seconds, processor time,
passes over all cells, peak memory, the explained share of the tensor and the share of planted
groups found; and what ALS explains of what it explains in the end after as many passes as SCOUP
takes. A cell takes 3 to 4 bytes on disk. Kernels are compiled before the clock starts.
"""

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from math import ceil
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
from scoup.metrics import zero_cost
from scoup.sharded import ShardedTensor
from scoup.simulate import read_planted

RANK = 10
# Few users, as a merge holds sums of all sampled rows, and at most so many cells whatever the size.
PLAN = {
    "sampling": (100, 4, 1), "side_sampling": {0: 4}, "cells": 2_000_000, "repetitions": 4,
    "init": "random", "max_iter": 50, "tol": 1e-5, "finish": "complete", "jobs": 2,
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
    most, best = max(map(len, groups)), np.zeros(len(groups))
    for column in users.T:  # one at a time: an order of all would take more memory than the fit
        top = np.argpartition(-np.abs(column), most)[:most]
        top = top[np.argsort(-np.abs(column[top]), kind="stable")]
        shares = [np.isin(top[: len(members)], members).mean() for members in groups]
        best = np.maximum(best, shares)
    return float(best.mean())


def _prepare(estimator: CMTF | SCOUP, folder: str, limit: int) -> Callable[[], Numbers]:
    """Compile the kernels on tiny data, and return the run on the data of the folder."""
    with tempfile.TemporaryDirectory() as tiny:
        write_events(Path(tiny), SIZES["tiny"], seed=0)
        estimator.fit(_open(tiny, limit))

    def run() -> Numbers:
        started, before = time.perf_counter(), time.process_time()
        data = _open(folder, limit)
        estimator.fit(data)
        seconds, processor = time.perf_counter() - started, time.process_time() - before
        report: Any = estimator.report_
        return {
            "seconds": seconds,
            "processor_seconds": processor,
            "passes": data.tensor.passes,
            "explained": report.block_fits["tensor"],
            "curve": [1 - cost / zero_cost(data) for cost in getattr(report, "losses", ())],
            "explained_of_all": 1 - report.cost / zero_cost(data),
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
    parser.add_argument("--only", choices=("SCOUP", "ALS"), help="run one of the two")
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
    sweeps = limits | {"sweeps": options.sweeps}
    contenders = [Contender("SCOUP", "benchmarks.scale:sampled", limits, 1, False)]
    if options.sweeps:
        contenders.append(Contender("ALS", "benchmarks.scale:streamed", sweeps, 1, False))
    results: dict[str, Numbers] = {}
    for contender in contenders:  # one after the other, so that none holds memory of another
        if options.only in (None, contender.name):
            results |= race([contender])
            numbers = results[contender.name]
            print(f"{contender.name}: {_line(numbers)}\n{json.dumps(numbers)}", flush=True)
    if len(results) == 2:
        print(_compared(results["SCOUP"], results["ALS"]))


def _line(numbers: Numbers) -> str:
    return (
        f"{numbers['seconds']:.1f} s, {numbers['processor_seconds']:.1f} s of processor time, "
        f"{numbers['passes']:.1f} passes, {numbers['peak_bytes'] / 1e9:.2f} GB, "
        f"explained {numbers['explained']:.4f}, groups found {numbers['found']:.2f}"
    )


def _compared(sampled: Numbers, exact: Numbers) -> str:
    """Compare with all sweeps of ALS, and with those that take no fewer passes than SCOUP."""
    curve, final = exact["curves"][0], exact["curves"][0][-1]
    # The last pass of ALS is for the final cost only.
    sweeps = min(ceil(sampled["passes"] / ((exact["passes"] - 1) / len(curve))), len(curve))
    return (
        f"SCOUP explains {sampled['explained_of_all'] / final:.4f} of what {len(curve)} sweeps of "
        f"ALS explain, in {sampled['seconds'] / exact['seconds']:.3f} of their time; "
        f"{sweeps} sweeps explain {curve[sweeps - 1] / final:.4f} of it"
    )


if __name__ == "__main__":
    main()
