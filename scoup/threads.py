"""Threads of BLAS and of the compiled kernels, limited where bytes must not depend on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import numba
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
def one_thread() -> Iterator[None]:
    """Run the body on one thread. May be entered from several Python threads at once.

    The limit of BLAS holds for the whole process, so the first to enter sets it and the last to leave lifts it;
    that of the kernels belongs to each Python thread.

    >>> with one_thread():
    ...     numba.get_num_threads()
    1
    """
    global _holders, _limits  # noqa: PLW0603 - the limit itself is global to the process
    before = numba.get_num_threads()
    with _lock:
        if _holders == 0:
            _limits = _controller.limit(limits=1, user_api="blas")
        _holders += 1
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(before)
        with _lock:
            _holders -= 1
            if _holders == 0 and _limits is not None:
                _limits.restore_original_limits()
                _limits = None
