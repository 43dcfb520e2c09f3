"""Threads of BLAS: the limit holds whichever thread asks for it, and is lifted at the end."""

from collections.abc import Callable
from threading import Event, Thread

import pytest
from threadpoolctl import threadpool_limits

from scoup.machine import _controller, serial_blas


@pytest.fixture(autouse=True)
def _two_threads():
    """BLAS has two threads, also on a machine with one core, and this thread has set them."""
    _controller()
    with threadpool_limits(2, user_api="blas"):
        yield


def _blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in _controller().info() if pool["user_api"] == "blas"}


def _in_thread(work: Callable[[], None]) -> None:
    thread = Thread(target=work)
    thread.start()
    thread.join()


def test_blas_is_serial_in_a_thread_after_another_one_has_limited_it():
    seen = []
    with serial_blas():
        pass

    def work() -> None:
        with serial_blas():
            seen.append(_blas_threads())
        seen.append(_blas_threads())

    _in_thread(work)
    assert seen == [{1}, {2}]


@pytest.mark.parametrize("main_first", [True, False], ids=["enters first", "enters last"])
def test_the_last_thread_to_leave_lifts_the_limit(main_first):
    entered, leave = Event(), Event()

    def work() -> None:
        with serial_blas():
            entered.set()
            leave.wait()

    thread = Thread(target=work)
    if main_first:
        with serial_blas():
            thread.start()
            entered.wait()
        assert _blas_threads() == {1}
        leave.set()
        thread.join()
    else:
        thread.start()
        entered.wait()
        with serial_blas():
            leave.set()
            thread.join()
            assert _blas_threads() == {1}
    assert _blas_threads() == {2}
