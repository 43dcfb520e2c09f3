"""Threads of BLAS and of the compiled kernels: their number, and how they share the work.

Kernels are compiled serial and without the GIL, and work on a range of chunks. The chunks depend on
the data alone, so the bytes of a result do not depend on the number of threads. They run on plain
Python threads, not numba's: those may be entered from several threads at once whatever threading
layer numba uses, they do not spin between calls, and a forked child starts afresh.

Every job of a workflow imports this module, so it imports nothing heavy.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, lru_cache
from threading import Lock, local

from threadpoolctl import ThreadpoolController, threadpool_limits

# Below this many inner steps, waking a thread costs more than it saves.
MIN_PARALLEL_STEPS = 1 << 21

_lock = Lock()
_serial_users = 0
_serial_limits: threadpool_limits | None = None
_per_thread = local()


@cache
def max_threads() -> int:
    """Return how many threads kernels may use: ``NUMBA_NUM_THREADS``, or the cores available."""
    setting = os.environ.get("NUMBA_NUM_THREADS", "")
    if setting.isdecimal() and int(setting) > 0:
        return int(setting)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def kernel_threads() -> int:
    """Return how many threads a kernel uses when this Python thread calls it.

    >>> kernel_threads() == max_threads()
    True
    """
    return getattr(_per_thread, "count", max_threads())


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Run the body with at most ``count`` threads for BLAS and for the kernels.

    A BLAS that is first loaded within the body follows ``OMP_NUM_THREADS`` instead.

    >>> with threads(1):
    ...     kernel_threads()
    1
    """
    with ThreadpoolController().limit(limits=count, user_api="blas"), _kernel_limit(count):
        yield


@contextmanager
def serial_blas() -> Iterator[None]:
    """Run the body with BLAS on one thread; the compiled kernels keep theirs.

    The matrices of a fit are small and the kernels split large passes themselves, so this costs
    almost nothing. BLAS threads do not compete on a busy machine, and bytes do not depend on the
    number of cores. The limit holds for the whole process: the first to enter sets it and the
    last to leave lifts it, so several Python threads may enter at once.

    >>> with serial_blas():
    ...     {pool["num_threads"] for pool in _controller().info() if pool["user_api"] == "blas"}
    {1}
    """
    global _serial_users, _serial_limits  # noqa: PLW0603 - the limit is global to the process
    with _lock:
        if _serial_users == 0:
            _serial_limits = _controller().limit(limits=1, user_api="blas")
        _serial_users += 1
    try:
        yield
    finally:
        with _lock:
            _serial_users -= 1
            if _serial_users == 0 and _serial_limits is not None:
                _serial_limits.restore_original_limits()
                _serial_limits = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Run the body on one thread: BLAS in the whole process, kernels in this Python thread.

    >>> with one_thread():
    ...     kernel_threads()
    1
    """
    with serial_blas(), _kernel_limit(1):
        yield


def run_chunks(count: int, work: Callable[[int, int], object], steps: float = float("inf")) -> None:
    """Call ``work(first, last)`` until every chunk of ``range(count)`` is done.

    ``steps`` is the size of the whole job; the caller does a small one alone, in one call.

    >>> done = []
    >>> run_chunks(3, lambda first, last: done.extend(range(first, last)))
    >>> sorted(done)
    [0, 1, 2]
    """
    helpers = min(kernel_threads(), count) - 1 if steps >= MIN_PARALLEL_STEPS else 0
    if helpers < 1:
        work(0, count)
        return
    chunks = iter(range(count))

    def run_next() -> None:
        for chunk in chunks:
            work(chunk, chunk + 1)

    futures = [_pool(os.getpid()).submit(run_next) for _ in range(helpers)]
    run_next()
    for future in futures:
        # A helper that has not started (the pool is busy for other callers) is no longer needed.
        if not future.cancel():
            future.result()


@lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    """Return the thread pool of a process; a forked child inherits no threads and gets another."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix=f"scoup-{process}")


@contextmanager
def _kernel_limit(count: int) -> Iterator[None]:
    before = kernel_threads()
    _per_thread.count = min(count, max_threads())
    try:
        yield
    finally:
        _per_thread.count = before


@cache
def _controller() -> ThreadpoolController:
    """Return a controller of every BLAS; cached, as the search takes longer than a small fit."""
    import scipy.linalg  # noqa: F401 - scipy bundles a second BLAS, which must be loaded to be found

    return ThreadpoolController()
