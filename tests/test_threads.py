"""Work that threads share: each part is done once, on separate cores, and nothing stays changed."""

import os
from threading import Barrier, Event, get_ident
from time import sleep

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoup import machine
from scoup.machine import kernel_limit, kernel_threads, run_chunks, share_out

CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
several_cores = pytest.mark.skipif(len(CORES) < 2, reason="needs two cores, and Linux")


@given(
    count=st.integers(1, 40),
    steps=st.sampled_from([0, 1, 1 << 21, 5 << 21, 1 << 40, float("inf")]),
    threads=st.integers(1, 4),
)
def test_every_chunk_is_done_once(count, steps, threads):
    done = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "max_threads", lambda: 4)
        with kernel_limit(threads):
            run_chunks(count, lambda first, last: done.extend(range(first, last)), steps)
    assert sorted(done) == list(range(count))


def _seen(count):
    """Return the cores of each of several threads that work at the same time."""
    together = Barrier(count)

    def work(number):
        together.wait(10)
        return get_ident(), os.sched_getaffinity(0)

    return dict(share_out(work, range(count)))


@several_cores
def test_threads_stay_on_separate_cores_while_they_share_work():
    before = os.sched_getaffinity(0)
    for _ in range(2):  # helpers are the same threads the second time
        with kernel_limit(2):
            one, other = _seen(2).values()
        assert one.isdisjoint(other)
        assert one | other == before
        assert os.sched_getaffinity(0) == before


@several_cores
def test_cores_come_back_after_an_error():
    before = os.sched_getaffinity(0)
    with kernel_limit(2), pytest.raises(ZeroDivisionError):
        share_out(lambda number: 1 / number, [0, 0])
    assert os.sched_getaffinity(0) == before


@several_cores
def test_with_fewer_cores_than_threads_all_threads_share_them(monkeypatch):
    before = os.sched_getaffinity(0)
    monkeypatch.setattr(machine, "max_threads", lambda: len(CORES) + 1)
    machine._pool.cache_clear()  # of a machine with as many cores as threads
    monkeypatch.setattr(os, "cpu_count", lambda: len(CORES) + 1)
    try:
        with kernel_limit(len(CORES) + 1):
            cores = list(_seen(len(CORES) + 1).values())
    finally:
        machine._pool.cache_clear()
    assert cores == [before] * len(cores)


@several_cores
def test_kernels_of_the_last_item_get_the_threads_and_cores_of_those_that_are_done():
    others_done = Event()

    def work(number):
        if number:
            return None
        before = kernel_threads()
        others_done.wait(10)
        for _ in range(1000):  # the other thread is about to leave
            if kernel_threads() > before:
                break
            sleep(0.01)
        seen = set[int]()
        together = Barrier(2)

        def chunk(first, last):
            together.wait(10)
            seen.update(os.sched_getaffinity(0))

        run_chunks(2, chunk)
        return before, kernel_threads(), seen

    def items():
        yield 0
        yield 1
        others_done.set()

    with kernel_limit(2):
        before, after, seen = share_out(work, items())[0]
    assert (before, after) == (1, 2)
    assert seen == set(CORES)


def test_a_system_that_does_not_tell_cores_leaves_threads_alone(monkeypatch):
    monkeypatch.setattr(machine, "_core", lambda: -1)
    with kernel_limit(2):
        assert share_out(lambda number: number + 1, range(5)) == [1, 2, 3, 4, 5]
    assert machine._separate_cores(2) == [set(CORES)] * 2
