"""Threads of BLAS and of the compiled kernels, limited where bytes must not depend on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import numba
import scipy.linalg  # noqa: F401 - loads scipy's own BLAS, which the controller below must find
from threadpoolctl import ThreadpoolController, threadpool_limits

_lock = Lock()
_holders = 0
_limits: threadpool_limits | None = None
_controller = ThreadpoolController()
_LAUNCHED = numba.get_num_threads()


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Run the body with ``count`` threads for BLAS and for the kernels.

    >>> with threads(1):
    ...     numba.get_num_threads()
    1
    """
    before = numba.get_num_threads()
    with _controller.limit(limits=count, user_api="blas"):
        numba.set_num_threads(min(count, _LAUNCHED))
        try:
            yield
        finally:
            numba.set_num_threads(before)


@contextmanager
def serial_blas() -> Iterator[None]:
    """Run the body with BLAS on one thread; the compiled kernels keep theirs.

    The matrices of a fit are small, and large passes are shared out by the kernels in fixed chunks, so
    this costs next to nothing, spares a busy machine BLAS threads that wait for each other, and makes
    bytes independent of the number of cores. The limit holds for the whole process: the first to
    enter sets it and the last to leave lifts it, so several Python threads may enter at once.

    >>> with serial_blas():
    ...     {pool["num_threads"] for pool in _controller.info() if pool["user_api"] == "blas"}
    {1}
    """
    global _holders, _limits  # noqa: PLW0603 - the limit itself is global to the process
    with _lock:
        if _holders == 0:
            _limits = _controller.limit(limits=1, user_api="blas")
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
    ...     numba.get_num_threads()
    1
    """
    before = numba.get_num_threads()
    with serial_blas():
        numba.set_num_threads(1)
        try:
            yield
        finally:
            numba.set_num_threads(before)
