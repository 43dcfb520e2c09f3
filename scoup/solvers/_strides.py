"""Extrapolated sweeps: with missing cells ALS needs fewer of them."""

from collections.abc import Sequence, Set

import numpy as np

from scoup import kernels
from scoup.records import Array

# Far from the minimum: plain sweeps before the first stride, lengths of strides in multiples of the
# last step, and by how much an accepted or rejected stride changes them.
PLAIN_SWEEPS_FIRST = 3
FIRST_STRIDE, LONGEST_STRIDE = 0.5, 3.0
GROWTH, SHRINKAGE = 1.5, 0.3
# Near the minimum: the first stride, before there are two steps to aim by.
NEAR_STRIDE = 0.4


class Strides:
    """Start each sweep further along the last step, and undo the sweep if the cost rose.

    ``near`` says that the start is close to the minimum, and in which order the first sweep updates
    the factors. The error of a component then shrinks by about the same factor in each sweep, and
    its next stride ends where a line through its last two steps, as a function of where they began,
    comes closest to zero (Anderson mixing of depth one, component by component).

    >>> flat = [np.ones((2, 1)), np.ones((3, 1))]
    >>> strides = Strides(flat)
    >>> grams = [factor.T @ factor for factor in flat]
    >>> strides.set_out(flat, grams), strides.accept(5.0, flat, grams)
    ([0, 1], True)
    """

    def __init__(
        self,
        flat: Sequence[Array],
        nonnegative: Set[int] = frozenset(),
        near: Sequence[int] | None = None,
    ) -> None:
        self._nonnegative, self._is_near = nonnegative, near is not None
        # One length for all components, or one per component.
        self._length = np.asarray(FIRST_STRIDE if near is None else NEAR_STRIDE)
        self._plain_left = PLAIN_SWEEPS_FIRST if near is None else 1
        self._order = list(range(len(flat)) if near is None else near)
        # The first factor to be updated is never read: best the longest, whose products cost most.
        self._longest_first = sorted(range(len(flat)), key=lambda n: -len(flat[n]))
        if near is not None:
            longest = self._longest_first[0]
            self._longest_first = [longest, *(n for n in range(len(flat)) if n != longest)]
        self._cost = float("inf")
        self._extrapolated = False
        self._before_last: list[Array] = []
        self._last: tuple[list[Array], list[Array]] = ([], [])
        self._begin: list[Array] = []
        self._step: list[Array] = []

    def set_out(self, flat: list[Array], grams: list[Array]) -> list[int]:
        """Move factors and Grams to the start of the next sweep; return its order of updates."""
        self._last = list(flat), list(grams)
        self._extrapolated = not self._plain_left
        if self._extrapolated:
            self._order = self._longest_first
            for n in self._order[1:]:
                length = self._length.astype(flat[n].dtype)
                flat[n] = flat[n] + length * (flat[n] - self._before_last[n])
                if n in self._nonnegative:
                    np.maximum(flat[n], 0, out=flat[n])
                grams[n] = kernels.gram(flat[n])
        self._begin = list(flat)
        return self._order

    def accept(self, cost: float, flat: list[Array], grams: list[Array]) -> bool:
        """Accept the sweep that ended at ``cost``, or return to the factors before it."""
        if self._extrapolated and cost > self._cost:
            flat[:], grams[:] = self._last
            self._plain_left, self._step = 1, []
            self._length = np.asarray(NEAR_STRIDE if self._is_near else SHRINKAGE * self._length)
            return False
        if self._is_near:
            self._aim(flat)
        elif self._extrapolated:
            self._length = np.minimum(GROWTH * self._length, LONGEST_STRIDE)
        self._plain_left = max(self._plain_left - 1, 0)
        self._before_last, self._cost = self._last[0], cost
        return True

    def _aim(self, flat: Sequence[Array]) -> None:
        """Set the lengths of the next stride from the last two steps, each factor at unit size.

        Steps of the factor that is updated first do not matter, since nothing reads it.
        """
        read = self._longest_first[1:]
        last, self._step = self._step, [flat[n] - self._begin[n] for n in read]
        along, across = np.zeros((2, flat[0].shape[1]))
        for n, step, earlier in zip(read, self._step, last, strict=bool(last)):
            size = float(np.vdot(flat[n], flat[n])) or 1.0
            change = step - earlier
            along += np.einsum("if,if->f", step, change) / size
            across += np.einsum("if,if->f", change, change) / size
        if last:
            lengths = np.divide(-along, across, out=np.zeros_like(along), where=across > 0)
            self._length = np.clip(lengths, -LONGEST_STRIDE, LONGEST_STRIDE)
