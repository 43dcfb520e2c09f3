"""A coupled factorization: one factor matrix per mode, and one per matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.errors import ScoupError

Array = NDArray[Any]


def as_lists(groups: Mapping[int, Any]) -> dict[int, list[Any]]:
    """Return ``{mode: item or list of items}`` as ``{mode: list of items}``, sorted by mode.

    >>> as_lists({2: "c", 0: ("a", "b")})
    {0: ['a', 'b'], 2: ['c']}
    """
    return {
        int(mode): list(groups[mode]) if isinstance(groups[mode], (list, tuple)) else [groups[mode]]
        for mode in sorted(groups)
    }


def by_mode(items: Sequence[Any], owners: Sequence[int]) -> dict[int, list[Any]]:
    """Group a flat list, one item per matrix, by the mode of each matrix.

    >>> by_mode("xyz", [0, 0, 2])
    {0: ['x', 'y'], 2: ['z']}
    """
    groups: dict[int, list[Any]] = {}
    for item, owner in zip(items, owners, strict=True):
        groups.setdefault(owner, []).append(item)
    return groups


@dataclass(frozen=True, eq=False, repr=False)
class Factors:
    """A coupled factorization of rank F.

    The tensor is ``sum_f weights[f] a_f o b_f o c_f ...`` with ``modes = (A, B, C, ...)``; the
    matrix i on mode m is ``modes[m] @ sides[m][i].T``. A single side per mode may be passed without
    its list. ``coverage`` holds a boolean mask for each of ``[*modes, *sides]``: rows that were
    never sampled are zero and False, so that they are not mistaken for rows that truly are zero.

    >>> modes = tuple(np.ones((n, 2)) for n in (3, 4, 5))
    >>> factors = Factors(np.ones(2), modes, {0: np.ones((6, 2))})
    >>> factors
    Factors(rank 2; mode0: 3, mode1: 4, mode2: 5, side0: 6)
    >>> factors.rank, factors.names, len(factors.sides[0])
    (2, ['mode0', 'mode1', 'mode2', 'side0'], 1)
    """

    weights: Array
    modes: tuple[Array, ...]
    sides: dict[int, Any] = field(default_factory=dict)
    coverage: tuple[NDArray[np.bool_], ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.modes, (list, tuple)) or not self.modes:
            raise ScoupError.expected("modes", "a factor per mode", type(self.modes).__name__)
        object.__setattr__(self, "modes", tuple(self.modes))
        if not isinstance(self.sides, Mapping) or set(self.sides) - set(range(len(self.modes))):
            raise ScoupError.expected("sides", "a dict {mode: side factors}", repr(self.sides)[:60])
        object.__setattr__(self, "sides", as_lists(self.sides))
        rank = np.shape(self.weights)
        for name, array in zip(["weights", *self.names], [self.weights, *self.flat], strict=True):
            if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu":
                raise ScoupError.expected(name, "an array of numbers", type(array).__name__)
        if len(rank) != 1:
            raise ScoupError.expected(
                "weights", "a vector, one number per component", f"shape {rank}"
            )
        for name, factor in zip(self.names, self.flat, strict=True):
            if factor.ndim != 2 or factor.shape[1] != rank[0]:
                raise ScoupError.expected(name, f"{rank[0]} columns", f"shape {factor.shape}")
        if not self.coverage:
            masks = tuple(np.ones(len(factor), dtype=bool) for factor in self.flat)
            object.__setattr__(self, "coverage", masks)
        if [len(mask) for mask in self.coverage] != [len(factor) for factor in self.flat]:
            sizes = [np.shape(mask) for mask in self.coverage]
            raise ScoupError.expected("coverage", "one mask per factor, one entry per row", sizes)

    def __repr__(self) -> str:
        pairs = zip(self.names, self.flat, self.coverage, strict=True)
        sizes = [
            f"{name}: {len(factor)}" + ("" if mask.all() else f" ({mask.sum()} sampled)")
            for name, factor, mask in pairs
        ]
        return f"Factors(rank {self.rank}; {', '.join(sizes)})"

    @classmethod
    def from_flat(
        cls,
        weights: Array,
        flat: Sequence[Array],
        owners: Sequence[int],
        coverage: Sequence[Array] = (),
    ) -> Factors:
        """Build factors from the list ``[*modes, *sides]``; ``owners`` are the modes of the sides.

        >>> Factors.from_flat(np.ones(1), [np.ones((2, 1))] * 5, [0, 0]).names
        ['mode0', 'mode1', 'mode2', 'side0', 'side1']
        """
        order = len(flat) - len(owners)
        sides = by_mode(flat[order:], owners)
        return cls(weights, tuple(flat[:order]), sides, tuple(coverage))

    @property
    def rank(self) -> int:
        """Number of components F."""
        return len(self.weights)

    @property
    def flat(self) -> list[Array]:
        """All factor matrices: modes, then sides by mode and position."""
        return [*self.modes, *(side for group in self.sides.values() for side in group)]

    @property
    def owners(self) -> list[int]:
        """The mode of each side, in the order of :attr:`flat`."""
        return [mode for mode, group in self.sides.items() for _ in group]

    @property
    def names(self) -> list[str]:
        """Names of the matrices in :attr:`flat`."""
        modes = [f"mode{n}" for n in range(len(self.modes))]
        return [*modes, *(f"side{n}" for n in range(len(self.owners)))]

    def replace_flat(self, flat: Sequence[Array], weights: Array | None = None) -> Factors:
        """Return factors of the same layout and coverage with other matrices."""
        weights = self.weights if weights is None else weights
        return Factors.from_flat(weights, flat, self.owners, self.coverage)
