"""Time contenders in turns, each in a separate process."""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from benchmarks.curves import Spread
from benchmarks.machine import peak_bytes

Numbers = dict[str, Any]
PR_SET_PDEATHSIG = 1  # of prctl(2)


@dataclass(frozen=True)
class Contender:
    """``target`` names a function ``module:name`` that takes ``options`` and returns a run.

    The run takes no arguments and returns numbers to record, among them ``seconds`` if it timed
    itself and ``curve``, a list of (seconds, cost), if it has one. With ``warm`` it runs once
    before it is timed.
    """

    name: str
    target: str
    options: dict[str, Any] = field(default_factory=dict)
    repeats: int = 7
    warm: bool = True


def race(contenders: Sequence[Contender]) -> dict[str, Numbers]:
    """Run every contender ``repeats`` times, in rounds, and summarise what they measured."""
    workers = {contender.name: _Worker(contender) for contender in contenders}
    rounds: dict[str, list[Numbers]] = {name: [] for name in workers}
    for turn in range(max(contender.repeats for contender in contenders)):
        for contender in contenders:
            if turn < contender.repeats:
                rounds[contender.name].append(workers[contender.name].run())
    return {name: {**summary(rounds[name]), **workers[name].close()} for name in workers}


def summary(runs: Sequence[Numbers]) -> Numbers:
    """Return all seconds and curves, median and quartiles of seconds, medians of other numbers.

    >>> summary([{"seconds": 1.0, "cost": 5.0}, {"seconds": 3.0, "cost": 5.0}])["seconds"]
    2.0
    """
    seconds = [float(run["seconds"]) for run in runs]
    spread = Spread.of(seconds)
    others = {
        key: float(np.median([run[key] for run in runs]))
        for key in runs[0]
        if key not in ("seconds", "curve")
    }
    curves = {"curves": [run["curve"] for run in runs]} if "curve" in runs[0] else {}
    quartiles = [spread.low, spread.high]
    return {"seconds": spread.middle, "quartiles": quartiles, "runs": seconds, **others, **curves}


class _Worker:
    """A process that prepares a contender once and runs it on demand."""

    def __init__(self, contender: Contender) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, contender), daemon=True)
        self._process.start()
        self._prepared = self._receive()

    def _receive(self) -> Numbers:
        answer = self._pipe.recv()
        if isinstance(answer, str):
            raise RuntimeError(answer)
        return answer

    def run(self) -> Numbers:
        self._pipe.send("run")
        return self._receive()

    def close(self) -> Numbers:
        self._pipe.send("close")
        last = self._receive()
        self._process.join(20)
        if self._process.is_alive():
            self._process.terminate()
        return {**self._prepared, **last}


def _end_with_parent() -> None:
    """Let the kernel end this process when its parent does, however that ends (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _serve(pipe: Connection, contender: Contender) -> None:
    _end_with_parent()
    # GenTen always writes to the standard output.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
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
    except Exception as error:  # the parent shows it; a worker has no terminal
        pipe.send(f"{contender.name}: {type(error).__name__}: {error}")
    finally:
        # Kokkos aborts in its destructors when Python exits; there is nothing left to save.
        os._exit(0)


def _timed(run: Callable[[], Any]) -> Numbers:
    start = time.perf_counter()
    numbers = run()
    seconds = time.perf_counter() - start
    return {"seconds": seconds, **(numbers if isinstance(numbers, dict) else {})}
