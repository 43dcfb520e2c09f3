"""SPLATT's CP-ALS as a contender, where a ``splatt`` program is on the PATH.

No registry has it, so it cannot be pinned: docs/benchmarks.md says how to build it.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks import data
from benchmarks.peers import Run
from scoup.formats.tns import write_tns
from scoup.machine import max_threads
from scoup.tensor import SparseTensor

PROGRAM = "splatt"
# The fastest of these is compared with.
SETTINGS: dict[str, tuple[str, ...]] = {"plain": (), "tiled": ("--tile",)}
MISSING = (
    f"SPLATT was not compared with: no `{PROGRAM}` is on the PATH; docs/benchmarks.md says how to "
    "build it."
)
_SWEEP = re.compile(r"^\s*its\s*=\s*\d+\s*\(([0-9.]+)s\)", re.MULTILINE)


def is_present() -> bool:
    """Tell whether the program is on the PATH."""
    return shutil.which(PROGRAM) is not None


def sweep(rank: int, setting: str = "plain", sweeps: int = 20) -> Run:
    """SPLATT's CP-ALS of the wall posts alone: seconds per sweep after the first, by its clock."""
    folder = tempfile.TemporaryDirectory(prefix="scoup-splatt-")
    path = Path(folder.name) / "wall.tns"
    write_tns(path, without_empty_slices(data.load_wall()))
    command = [
        PROGRAM, "cpd", str(path), "-r", str(rank), "-i", str(1 + sweeps), "--tol", "0",
        "-t", str(max_threads()), "--nowrite", *SETTINGS[setting],
    ]  # fmt: skip

    def run() -> dict[str, float]:
        # The folder lives as long as the run can be called.
        done = subprocess.run(command, cwd=folder.name, capture_output=True, text=True, check=False)
        return {"seconds": float(np.mean(sweep_seconds(done.stdout + done.stderr)[1:]))}

    return run


def sweep_seconds(text: str) -> list[float]:
    """Return the seconds of each sweep that SPLATT reports; refuse a report without several.

    >>> sweep_seconds("  its =   1 (0.053s)  fit = 0.1\\n  its =   2 (0.040s)  fit = 0.2\\n")
    [0.053, 0.04]
    """
    seconds = [float(match) for match in _SWEEP.findall(text)]
    if len(seconds) < 2:
        raise RuntimeError(f"splatt reported {len(seconds)} sweeps: {text.strip()[-300:]!r}")
    return seconds


def without_empty_slices(tensor: SparseTensor) -> SparseTensor:
    """Number the indices that occur anew: SPLATT's CPD expects that every slice holds a cell.

    >>> cells = SparseTensor([[0, 4], [1, 1], [0, 2]], [1.0, 2.0], (9, 9, 9))
    >>> without_empty_slices(cells).coords.tolist()
    [[0, 1], [0, 0], [0, 1]]
    """
    modes: Sequence = [np.unique(index, return_inverse=True) for index in tensor.coords]
    coords = np.array([numbers for _, numbers in modes], np.int32)
    return SparseTensor(coords, tensor.values, tuple(used.size for used, _ in modes))
