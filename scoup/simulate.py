"""Simulated stand-ins, written in the published raw formats, with their ground truth beside them.

The truth (``truth.json``) is for tests and for judging results; no method reads it.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from scoup.errors import ScoupError
from scoup.seeds import check_seed
from scoup.simulate.brainq import simulate_brainq
from scoup.simulate.facebook import simulate_facebook
from scoup.simulate.random import simulate_random
from scoup.threads import one_thread

SIZES = ("full", "quick", "tiny")
SIMULATORS = {"brainq": simulate_brainq, "facebook": simulate_facebook, "random": simulate_random}


def simulate(name: str, folder: str | PathLike[str], size: str = "full", seed: int = 0) -> None:
    """Write the raw files of a stand-in for data set ``name`` and its ``truth.json`` into ``folder``."""
    if name not in SIMULATORS:
        hint = "use the real files (source: local)"
        raise ScoupError.expected(
            "dataset", f"one that can be simulated ({', '.join(SIMULATORS)})", repr(name), hint
        )
    if size not in SIZES:
        raise ScoupError.expected("size", f"one of {', '.join(SIZES)}", repr(size))
    Path(folder).mkdir(parents=True, exist_ok=True)
    with one_thread():  # the last bits of a product depend on how many threads share it
        SIMULATORS[name](Path(folder), size, check_seed(seed))
