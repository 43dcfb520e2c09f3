"""The machine: what it is, how busy it is, how much memory a process holds."""

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

THREADS = 2
PACKAGES = ("numpy", "scipy", "numba", "tensorly", "pyttb", "pygenten")


def machine() -> dict[str, Any]:
    """Describe the machine and the versions, without host names or paths."""
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
    """Return the load averages over 1, 5 and 15 minutes."""
    return [round(value, 2) for value in os.getloadavg()]


def limit_threads(count: int = THREADS) -> None:
    """Limit BLAS and OpenMP of all workers to ``count`` threads; call it before they start."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = str(count)
    # Else Linux may leave both threads of GenTen on one core, where it takes twice the time.
    os.environ.setdefault("OMP_PROC_BIND", "spread")
    os.environ.setdefault("OMP_PLACES", "cores")


def resident_bytes() -> int:
    """Return the memory this process holds now (Linux)."""
    return _status("VmRSS")


def peak_bytes() -> int:
    """Return the peak memory of this process since the last :func:`forget_peak` (Linux)."""
    return _status("VmHWM")


def forget_peak() -> None:
    """Reset the peak to the memory held now (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    return 0
