"""How much memory there is, checked before a large array is made."""

import ctypes
import os
import sys
from collections.abc import Sequence
from math import prod
from pathlib import Path

import numpy as np

from scoup.errors import ScoupError

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


def release() -> None:
    """Return freed memory that the allocator still holds to the system (Linux with glibc).

    Threads that have ended leave such memory behind, which no other thread will use.

    >>> release()
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


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
    free = available_bytes()
    if need > free:
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
