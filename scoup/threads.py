"""Threads of BLAS and of the compiled kernels, limited where bytes must not depend on them.

Every job of a workflow comes by here, so nothing heavy is loaded with this module.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock, local

from threadpoolctl import ThreadpoolController, threadpool_limits

_lock = Lock()
_holders = 0
_limits: threadpool_limits | None = None
_own = local()


@cache
def launched() -> int:
    """Return how many threads kernels may use in this process: ``NUMBA_NUM_THREADS``, or the cores it may run on."""
    asked = os.environ.get("NUMBA_NUM_THREADS", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def kernel_threads() -> int:
    """Return how many threads the kernels use that this Python thread calls.

    >>> kernel_threads() == launched()
    True
    """
    return getattr(_own, "count", launched())


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Run the body with ``count`` threads for BLAS and for the kernels, never more than there were at the start.

    What is loaded within the body does as ``OMP_NUM_THREADS`` says.

    >>> with threads(1):
    ...     kernel_threads()
    1
    """
    with ThreadpoolController().limit(limits=count, user_api="blas"), _kernels(count):
        yield


@contextmanager
def serial_blas() -> Iterator[None]:
    """Run the body with BLAS on one thread; the compiled kernels keep theirs.

    The matrices of a fit are small, and large passes are shared out by the kernels in fixed chunks, so
    this costs next to nothing, spares a busy machine BLAS threads that wait for each other, and makes
    bytes independent of the number of cores. The limit holds for the whole process: the first to
    enter sets it and the last to leave lifts it, so several Python threads may enter at once.

    >>> with serial_blas():
    ...     {pool["num_threads"] for pool in _controller().info() if pool["user_api"] == "blas"}
    {1}
    """
    global _holders, _limits  # noqa: PLW0603 - the limit itself is global to the process
    with _lock:
        if _holders == 0:
            _limits = _controller().limit(limits=1, user_api="blas")
        _holders += 1
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if _holders == 0 and _limits is not None:
                _limits.restore_original_limits()
                _limits = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Run the body on one thread, BLAS and kernels alike; that of the kernels belongs to each Python thread.

    >>> with one_thread():
    ...     kernel_threads()
    1
    """
    with serial_blas(), _kernels(1):
        yield


@contextmanager
def _kernels(count: int) -> Iterator[None]:
    before = kernel_threads()
    _own.count = min(count, launched())
    try:
        yield
    finally:
        _own.count = before


@cache
def _controller() -> ThreadpoolController:
    """Return a hold on every BLAS that fits use: looking for them takes longer than a small fit, so it is kept."""
    import scipy.linalg  # noqa: F401 - scipy brings a BLAS of its own, which must be there to be found

    return ThreadpoolController()
