"""Share fixed chunks of work between threads.

Kernels are compiled once, serial and without the GIL, and work on a range of chunks. Which chunks
exist depends on the data alone, so the bytes of a result do not depend on how many threads took
part. Plain Python threads are used, not numba's: they may be entered from several threads at once
whatever threading layer numba found, they do not spin between calls, and a forked child starts afresh.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

from scoup.threads import kernel_threads

# Below this many inner steps waking a thread costs more than it saves.
SMALL = 1 << 21


@lru_cache(maxsize=1)
def _helpers(process: int) -> ThreadPoolExecutor:
    """Return the helping threads of a process; a forked child, which did not inherit them, gets its own."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix=f"scoup-{process}")


def share(chunks: int, work: Callable[[int, int], object], steps: float = float("inf")) -> None:
    """Call ``work(first, last)`` until every chunk of ``range(chunks)`` is done.

    ``steps`` is the size of the whole job; a small one is done in one call by the caller.

    >>> done = []
    >>> share(3, lambda first, last: done.extend(range(first, last)))
    >>> sorted(done)
    [0, 1, 2]
    """
    helpers = min(kernel_threads(), chunks) - 1 if steps >= SMALL else 0
    if helpers < 1:
        work(0, chunks)
        return
    turns = iter(range(chunks))

    def take() -> None:
        for chunk in turns:
            work(chunk, chunk + 1)

    futures = [_helpers(os.getpid()).submit(take) for _ in range(helpers)]
    take()
    for future in futures:
        # A helper that has not begun (all are busy for other callers) is not needed any more.
        if not future.cancel():
            future.result()
