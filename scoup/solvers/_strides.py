"""Long strides: with missing cells ALS converges slowly, so sweeps start further along the last step.

A sweep that started from an extrapolated point and ended at a higher cost is undone.
"""

from collections.abc import Sequence

from scoup.records import Array
from scoup.terms import grams_of

PLAIN_SWEEPS_FIRST = 3
# Lengths in multiples of the last step, and by how much an accepted or rejected stride changes them.
FIRST_STRIDE, LONGEST_STRIDE = 0.5, 3.0
GROWTH, SHRINKAGE = 1.5, 0.3


class Strides:
    """Extrapolate before each sweep, and undo the sweep if the cost rose.

    >>> import numpy as np
    >>> flat = [np.ones((2, 1)), np.ones((3, 1))]
    >>> strides = Strides(flat)
    >>> strides.set_out(flat, grams_of(flat)), strides.accept(5.0, flat, [])
    ([0, 1], True)
    """

    def __init__(self, flat: Sequence[Array]) -> None:
        self._length = FIRST_STRIDE
        self._plain_left = PLAIN_SWEEPS_FIRST
        self._order = list(range(len(flat)))
        # The first factor to be updated is never read: best the longest, whose products cost most.
        self._longest_first = sorted(self._order, key=lambda n: -len(flat[n]))
        self._cost = float("inf")
        self._extrapolated = False
        self._before_last: list[Array] = []
        self._last: tuple[list[Array], list[Array]] = ([], [])

    def set_out(self, flat: list[Array], grams: list[Array]) -> list[int]:
        """Move factors and Grams to where the next sweep starts; return the order of its updates."""
        self._last = list(flat), list(grams)
        self._extrapolated = not self._plain_left
        if self._extrapolated:
            flat[:] = [
                factor + self._length * (factor - earlier)
                for factor, earlier in zip(flat, self._before_last, strict=True)
            ]
            grams[:] = grams_of(flat)
            self._order = self._longest_first
        return self._order

    def accept(self, cost: float, flat: list[Array], grams: list[Array]) -> bool:
        """Accept the sweep that ended at ``cost``, or return to the factors before it."""
        if self._extrapolated and cost > self._cost:
            flat[:], grams[:] = self._last
            self._plain_left, self._length = 1, SHRINKAGE * self._length
            return False
        if self._extrapolated:
            self._length = min(GROWTH * self._length, LONGEST_STRIDE)
        self._plain_left = max(self._plain_left - 1, 0)
        self._before_last, self._cost = self._last[0], cost
        return True
