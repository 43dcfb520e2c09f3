"""The machine under the measurements: what it is, how busy it is, how much memory a process holds."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

THREADS = 2
PACKAGES = ("numpy", "scipy", "numba", "tensorly", "pyttb", "pygenten")


def machine() -> dict[str, Any]:
    """Describe the machine and the versions; no names of hosts, no paths."""
    versions: dict[str, str | None] = {}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "threads": THREADS,
        "python": platform.python_version(),
        "versions": versions,
    }


def load() -> list[float]:
    """Processes that ran or waited for a core, in the mean over 1, 5 and 15 minutes."""
    return [round(value, 2) for value in os.getloadavg()]


def limit_threads(count: int = THREADS) -> None:
    """Give BLAS and OpenMP of all workers ``count`` threads; to be called before they start."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = str(count)
    # GenTen asks for this; without it Kokkos prints a warning and binds nothing.
    os.environ.setdefault("OMP_PROC_BIND", "false")


def resident_bytes() -> int:
    """Return the memory this process holds now (Linux)."""
    return _status("VmRSS")


def peak_bytes() -> int:
    """Return the most memory this process has held since the last :func:`forget_peak` (Linux)."""
    return _status("VmHWM")


def forget_peak() -> None:
    """Start the peak anew from the memory held now (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    return 0
