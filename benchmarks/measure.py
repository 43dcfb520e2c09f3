"""Time contenders side by side, each in a process of its own, in turns."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module, metadata
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

OUT = Path(__file__).parent / "out"
THREADS = 2
PACKAGES = ("numpy", "scipy", "numba", "tensorly", "pyttb", "pygenten")


@dataclass(frozen=True)
class Contender:
    """``target`` names a function ``module:name`` that, called with ``options``, prepares and returns a run.

    The run takes nothing; it returns numbers to record, and among them ``seconds`` if it timed itself.
    """

    name: str
    target: str
    options: dict[str, Any] = field(default_factory=dict)
    repeats: int = 7
    warm: bool = True


def race(contenders: Sequence[Contender]) -> dict[str, dict[str, Any]]:
    """Run every contender ``repeats`` times, one after another in rounds, and sum up what they measured."""
    workers = {contender.name: _Worker(contender) for contender in contenders}
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in workers}
    for turn in range(max(contender.repeats for contender in contenders)):
        for contender in contenders:
            if turn < contender.repeats:
                rounds[contender.name].append(workers[contender.name].run())
    return {name: {**summary(rounds[name]), **workers[name].close()} for name in workers}


def summary(runs: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Median and quartiles of the seconds, medians of everything else.

    >>> summary([{"seconds": 1.0, "cost": 5.0}, {"seconds": 3.0, "cost": 5.0}])["seconds"]
    2.0
    """
    seconds = [run["seconds"] for run in runs]
    low, middle, high = np.quantile(seconds, [0.25, 0.5, 0.75])
    others = {key: float(np.median([run[key] for run in runs])) for key in runs[0] if key != "seconds"}
    return {"seconds": float(middle), "quartiles": [float(low), float(high)], "runs": len(runs), **others}


class _Worker:
    """A process that prepares a contender once and runs it when told to."""

    def __init__(self, contender: Contender) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, contender), daemon=True)
        self._process.start()
        self._prepared = self._receive()

    def _receive(self) -> dict[str, float]:
        answer = self._pipe.recv()
        if isinstance(answer, str):
            raise RuntimeError(answer)
        return answer

    def run(self) -> dict[str, float]:
        self._pipe.send("run")
        return self._receive()

    def close(self) -> dict[str, float]:
        self._pipe.send("close")
        last = self._receive()
        self._process.join(20)
        if self._process.is_alive():
            self._process.terminate()
        return {**self._prepared, **last}


def _serve(pipe: Connection, contender: Contender) -> None:
    try:
        module, name = contender.target.split(":")
        prepare: Callable[..., Any] = getattr(import_module(module), name)
        start = time.perf_counter()
        run = prepare(**contender.options)
        prepared = time.perf_counter() - start
        if contender.warm:
            run()
        pipe.send({"prepare_seconds": prepared})
        while pipe.recv() == "run":
            pipe.send(_timed(run))
        pipe.send({"peak_bytes": peak_bytes()})
    except Exception as error:  # the parent shows it; a worker has no terminal of its own
        pipe.send(f"{contender.name}: {type(error).__name__}: {error}")
    finally:
        sys.stdout.flush()
        # Kokkos aborts in its destructors when Python ends; nothing is left to save.
        os._exit(0)


def _timed(run: Callable[[], Any]) -> dict[str, float]:
    start = time.perf_counter()
    numbers = run()
    seconds = time.perf_counter() - start
    return {"seconds": seconds, **(numbers if isinstance(numbers, dict) else {})}


def resident_bytes() -> int:
    """Return the memory this process holds now (Linux)."""
    return _status("VmRSS")


def peak_bytes() -> int:
    """Return the most memory this process has held since the last :func:`forget_peak` (Linux)."""
    return _status("VmHWM")


def forget_peak() -> None:
    """Start the peak anew from the memory held now (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    return 0


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Fit ``seconds = c * sizes^e`` on log axes and return e.

    >>> round(exponent([1, 10, 100], [2, 20, 200]), 6)
    1.0
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def machine() -> dict[str, Any]:
    """Describe the machine, the versions and the load under which numbers were taken."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    cpuinfo = Path("/proc/cpuinfo")
    models = [line.split(":")[1].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "threads": THREADS,
        "python": platform.python_version(),
        "versions": versions,
        "load": os.getloadavg(),
    }


def write(name: str, results: dict[str, Any]) -> Path:
    """Write results whole or not at all."""
    OUT.mkdir(parents=True, exist_ok=True)
    path, part = OUT / f"{name}.json", OUT / f"{name}.json.part"
    part.write_text(json.dumps({"machine": machine(), **results}, indent=1) + "\n")
    os.replace(part, path)
    return path


def table(rows: Sequence[Sequence[Any]], header: Sequence[str]) -> str:
    """Lay out rows in columns.

    >>> print(table([["als", 1.5]], ["what", "seconds"]))
    what  seconds
    als   1.5
    """
    cells = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )


def limit_threads(count: int = THREADS) -> None:
    """Give BLAS and OpenMP of all workers ``count`` threads; to be called before they start."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = str(count)
    # GenTen asks for this; without it Kokkos prints a warning and binds nothing.
    os.environ.setdefault("OMP_PROC_BIND", "false")
