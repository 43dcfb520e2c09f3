"""The machine: threads of BLAS and of the compiled kernels, and memory.

Kernels are compiled serial and without the GIL, and work on a range of chunks. The chunks depend on
the data alone, so the bytes of a result do not depend on the number of threads. They run on plain
Python threads, not numba's: those may be entered from several threads at once whatever threading
layer numba uses, they do not spin between calls, and a forked child starts afresh.

Every job of a workflow imports this module, so it imports nothing heavy.
"""

import ctypes
import os
import resource
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from math import prod
from operator import length_hint
from pathlib import Path
from threading import Lock, local
from typing import TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController, threadpool_limits

from scoup.errors import ScoupError

# So much memory is always free: asking the system takes a tenth of a millisecond.
FREE_BYTES = 1 << 22
# Below this many inner steps, waking a thread costs more than it saves.
MIN_PARALLEL_STEPS = 1 << 21
# Of a larger job a thread takes so many at a time: between two turns it may have to wait for the
# interpreter.
MIN_TURN_STEPS = 1 << 21
# What a tensor on disk may take in a job, on any machine: rows that do not fit are summed up in
# another order, which changes last digits.
SHARDS_MEMORY_BYTES = 10**9
# Memory that is left behind is returned from this share of the data on.
MIN_RELEASED_SHARE = 1 / 4
# Of mallopt: M_TRIM_THRESHOLD never, M_TOP_PAD 16 MB, M_MMAP_MAX no separate mappings.
KEEPING_OPTIONS = {-1: -1, -2: 1 << 24, -4: 0}

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

_lock = Lock()
_serial_users = 0
_serial_limits: threadpool_limits | None = None


class _PerThread(local):
    """How many threads kernels of a Python thread may use, if that was limited, and its team."""

    limit: int | None = None
    team: "_Team | None" = None


_per_thread = _PerThread()


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
    team, limit = _per_thread.team, _per_thread.limit or max_threads()
    return limit if team is None else min(limit, team.threads_each)


class _Team:
    """Python threads that take items in turn, and share what threads there are for kernels.

    Who finds no item left leaves, and kernels of the others get more threads, on all cores.
    """

    def __init__(self, threads: int, members: int) -> None:
        self._threads, self._size, self._members = threads, members, members
        self._cores = _own_cores()

    @property
    def threads_each(self) -> int:
        """How many threads a kernel of a member may use."""
        return max(self._threads // max(self._members, 1), 1)

    @property
    def cores(self) -> set[int]:
        """The cores of this member: its own until somebody has left."""
        return _own_cores() if self._members == self._size else self._cores

    @contextmanager
    def membership(self) -> Iterator[None]:
        """Make this thread a member for the time of the body."""
        outer, _per_thread.team = _per_thread.team, self
        try:
            yield
        finally:
            _per_thread.team = outer
            with _lock:
                self._members -= 1


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Run the body with at most ``count`` threads for BLAS and for the kernels.

    A BLAS that is first loaded within the body follows ``OMP_NUM_THREADS`` instead.

    >>> with threads(1):
    ...     kernel_threads()
    1
    """
    with ThreadpoolController().limit(limits=count, user_api="blas"), kernel_limit(count):
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
            with _control_of_blas():
                _serial_limits = _controller().limit(limits=1, user_api="blas")
        _serial_users += 1
    try:
        yield
    finally:
        with _lock:
            _serial_users -= 1
            if _serial_users == 0 and _serial_limits is not None:
                with _control_of_blas():
                    _serial_limits.restore_original_limits()
                _serial_limits = None


@contextmanager
def _control_of_blas() -> Iterator[None]:
    """Let this thread change the limit of OpenBLAS, and the next one after it.

    threadpoolctl 3.8 leaves it to the first thread that ever did and ignores all others:
    their fits would run on several threads of BLAS, which is slower and changes last digits.
    """
    libraries = _controller().lib_controllers
    owned = [library for library in libraries if hasattr(library, "clear_controlling_thread")]
    for library in owned:
        library.clear_controlling_thread(force=True)
    yield
    for library in owned:
        library.clear_controlling_thread(force=True)


@contextmanager
def one_thread() -> Iterator[None]:
    """Run the body on one thread: BLAS in the whole process, kernels in this Python thread.

    >>> with one_thread():
    ...     kernel_threads()
    1
    """
    with serial_blas(), kernel_limit(1):
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
    used = helpers + 1
    turns = min(count, max(1, int(min(steps, 1e18) / MIN_TURN_STEPS / used)) * used)
    spans = iter([(count * n // turns, count * (n + 1) // turns) for n in range(turns)])

    def run_next() -> None:
        for first, last in spans:
            work(first, last)

    _run_with_helpers(run_next, helpers)


def share_out(work: Callable[[Item], Outcome], items: Iterable[Item]) -> list[Outcome]:
    """Return ``work`` of every item, in order, with several items worked on at a time.

    For work of many small passes over data, which threads could not share. An item is taken when a
    thread is free, so that a generator holds few of them; kernels get the threads that are left,
    and more of them when the last items are.

    >>> share_out(lambda number: number**2, range(4))
    [0, 1, 4, 9]
    """
    count = kernel_threads()
    used = min(count, length_hint(items, count))
    if used < 2:
        return [work(item) for item in items]
    numbered: Iterator[tuple[int, Item]] = enumerate(items)
    outcomes, taking, team = dict[int, Outcome](), Lock(), _Team(count, used)

    def take() -> tuple[int, Item] | None:
        with taking:
            return next(numbered, None)

    def run_next() -> None:
        nonlocal numbered
        with team.membership():
            try:
                while (pair := take()) is not None:
                    outcomes[pair[0]] = work(pair[1])
            except BaseException:
                numbered = iter(())  # nobody waits for the items that are left
                raise

    _run_with_helpers(run_next, used - 1)
    return [outcomes[number] for number in range(len(outcomes))]


def _run_with_helpers(run_next: Callable[[], None], helpers: int) -> None:
    """Call ``run_next`` in this thread and in helpers, each until nothing is left to do."""
    mine, *theirs = _separate_cores(helpers + 1)

    def help_on(cores: set[int]) -> None:
        _stay_on(cores)  # until it is told again the next time
        run_next()

    futures = [_pool(os.getpid()).submit(help_on, cores) for cores in theirs]
    try:
        with _on_cores(mine):
            run_next()
    finally:
        # A helper that has not started (the pool is busy for other callers) is no longer needed.
        started = [future for future in futures if not future.cancel()]
        wait(started)
    for future in started:
        future.result()


def _separate_cores(count: int) -> list[set[int]]:
    """Deal the cores of this thread, or its team, out to ``count`` threads, its own first.

    If there are too few, each gets all of them.
    Linux wakes a thread on the core of the one that wakes it, and may leave two threads that wait
    for one another on one core for longer than a small fit takes, with another core idle.
    """
    team, here = _per_thread.team, _core()
    cores = sorted(_own_cores() if team is None else team.cores)
    if len(cores) < count or here not in cores:
        return [set(cores)] * count
    first = cores.index(here)
    cores = cores[first:] + cores[:first]
    return [set(cores[n::count]) for n in range(count)]


def _own_cores() -> set[int]:
    """Return the cores that this thread may run on; none if the system does not tell."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else set()


def _core() -> int:
    """Return the core that this thread runs on, -1 if the system does not tell."""
    ask = getattr(_libc(), "sched_getcpu", None)
    return ask() if ask is not None else -1


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


@contextmanager
def _on_cores(cores: set[int]) -> Iterator[None]:
    """Run the body on these cores."""
    before = os.sched_getaffinity(0) if cores else set()
    _stay_on(cores)
    try:
        yield
    finally:
        _stay_on(before)


def _stay_on(cores: set[int]) -> None:
    """Keep this thread on these cores; without any, as on systems that do not tell, leave it."""
    if cores:
        with suppress(OSError):  # cores may be taken away at any time
            os.sched_setaffinity(0, cores)


@lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    """Return the thread pool of a process; a forked child inherits no threads and gets another."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix=f"scoup-{process}")


@contextmanager
def kernel_limit(count: int) -> Iterator[None]:
    """Run the body with at most ``count`` threads for kernels that this Python thread calls.

    >>> with kernel_limit(1):
    ...     kernel_threads()
    1
    """
    before = _per_thread.limit
    _per_thread.limit = min(count, max_threads())
    try:
        yield
    finally:
        _per_thread.limit = before


@cache
def _controller() -> ThreadpoolController:
    """Return a controller of every BLAS; cached, as the search takes longer than a small fit."""
    import scipy.linalg  # noqa: F401 - scipy bundles a second BLAS, which must be loaded to be found

    return ThreadpoolController()


_CGROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def available_bytes() -> int:
    """Return the bytes this process may still allocate: of the machine or its control group.

    >>> available_bytes() > 0
    True
    """
    pages = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        rows = dict(line.split(":", 1) for line in meminfo.read_text().splitlines() if ":" in line)
        pages = int(rows.get("MemAvailable", f"{pages // 1024} kB").split()[0]) * 1024
    limits = [path.read_text().strip() for path in _CGROUP_LIMITS if path.exists()]
    return min([pages, *(int(limit) for limit in limits if limit.isdigit())])


def peak_megabytes() -> float:
    """Return the most memory that this process has held at once.

    On Linux ``getrusage`` would not do: it counts the process that started this one, too.

    >>> peak_megabytes() > 1
    True
    """
    status = Path("/proc/self/status")
    if status.exists():
        rows = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(rows["VmHWM"].split()[0]) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def forget_peak() -> None:
    """Let :func:`peak_megabytes` start again from the memory held now (Linux).

    >>> forget_peak()
    """
    with suppress(OSError):  # elsewhere, or in a container that forbids it, the peak stays
        Path("/proc/self/clear_refs").write_text("5")


def release(left_bytes: float = float("inf"), data_bytes: float = 0.0) -> None:
    """Return freed memory that the allocator still holds to the system (Linux with glibc).

    Threads that have ended leave such memory behind, which no other thread will use. Where the
    ``left_bytes`` are few compared with the data they stay: every page that is touched again would
    have to be fetched and cleared, which takes longer than a small fit.

    >>> release()
    """
    if sys.platform == "linux" and left_bytes >= MIN_RELEASED_SHARE * data_bytes:
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def keep_memory() -> None:
    """Let the allocator keep freed memory for this process until it ends (Linux with glibc).

    For jobs: by default each large array comes from the system and goes back to it, and clearing
    its pages took a fifth of the time of a job on a virtual machine. :func:`release` still
    returns memory.

    >>> keep_memory()
    """
    if sys.platform == "linux":
        adjust = getattr(ctypes.CDLL(None), "mallopt", None)
        if adjust is not None:
            for option, value in KEEPING_OPTIONS.items():
                adjust(option, value)


def require_dense(
    name: str, shape: Sequence[int], dtype: np.dtype | type = np.float64, copies: float = 1.0
) -> int:
    """Return the bytes of ``copies`` dense arrays of ``shape``, or refuse before allocating them.

    >>> require_dense("X", (10, 10), np.float64)
    800
    >>> require_dense("X", (10**6, 10**6, 10**3))
    Traceback (most recent call last):
    ...
    scoup.errors.ScoupError: X: a dense array of shape 1000000 x 1000000 x 1000 needs 8.0 PB, ...
    """
    need = int(prod(int(size) for size in shape) * np.dtype(dtype).itemsize * copies)
    if need > FREE_BYTES and need > (free := available_bytes()):
        size = " x ".join(str(int(n)) for n in shape)
        raise ScoupError(
            f"{name}: a dense array of shape {size} needs {_human(need)}, and {_human(free)} are "
            "free; use a solver that keeps the data sparse (als, opt) or a smaller sample."
        )
    return need


def _human(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB", "PB"):
        if size < 1000:
            return f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} EB"
