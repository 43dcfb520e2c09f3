"""The only module that creates random generators.

A generator is named by a seed and a path of keys, so that repetition 3 of seed 7 draws the same
numbers whether there are four repetitions or forty, in any order, on any number of cores.
"""

import hashlib
from functools import lru_cache
from typing import Any

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


def choose_seed(seed: int | None, random_state: Any = None) -> int:
    """Return the seed of one fit, from ``seed`` or from scikit-learn's ``random_state``.

    ``seed=None`` draws one from the operating system. ``random_state`` replaces a ``seed`` left at
    0 (both are refused): an int is the seed, a Generator draws one at every fit.

    >>> choose_seed(3), choose_seed(0, random_state=7)
    (3, 7)
    >>> choose_seed(3, random_state=7)
    Traceback (most recent call last):
    ...
    scoup.errors.ScoupError: random_state: expected None next to seed=3, got 7; set one of them.
    """
    if random_state is None:
        return generator_seed(np.random.default_rng()) if seed is None else check_seed(seed)
    if seed != 0:
        expected = f"None next to seed={seed!r}"
        raise ScoupError.expected("random_state", expected, random_state, "set one of them")
    if isinstance(random_state, np.random.Generator):
        return generator_seed(random_state)
    if isinstance(random_state, bool) or not isinstance(random_state, (int, np.integer)):
        expected = "None, an integer or a numpy.random.Generator"
        raise ScoupError.expected("random_state", expected, type(random_state).__name__)
    return check_seed(int(random_state), "random_state")


def generator_seed(rng: np.random.Generator) -> int:
    """Draw a seed."""
    return int(rng.integers(2**62))


@lru_cache(maxsize=1024, typed=True)
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
