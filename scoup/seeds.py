"""The only module that creates random generators.

A generator is named by a seed and a path of keys, so that repetition 3 of seed 7 draws the same
numbers whether there are four repetitions or forty, in any order, on any number of cores.
"""

import hashlib

import numpy as np

from scoup.errors import ScoupError


def check_seed(seed: int, name: str = "seed") -> int:
    """Return ``seed`` as a plain int, or raise an error that says what is wrong with it.

    >>> check_seed(np.int64(3))
    3
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ScoupError.expected(name, "a non-negative integer", repr(seed))
    return int(seed)


def _word(key: str | int) -> int:
    """Map a key to a 64-bit word; 1 and "1" are different keys."""
    digest = hashlib.sha256(f"{type(key).__name__}:{key}".encode()).digest()
    return int.from_bytes(digest[:8], "little")


def generator(seed: int, *keys: str | int) -> np.random.Generator:
    """Return the generator named by ``seed`` and ``keys``.

    >>> a = generator(0, "sample", 3).integers(1000)
    >>> b = generator(0, "sample", 3).integers(1000)
    >>> bool(a == b), bool(a == generator(0, "sample", 4).integers(1000))
    (True, False)
    """
    sequence = np.random.SeedSequence(
        check_seed(seed),
        spawn_key=tuple(_word(key if isinstance(key, str) else int(key)) for key in keys),
    )
    return np.random.Generator(np.random.PCG64(sequence))
