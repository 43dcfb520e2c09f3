"""The records that pass between rooms. Each checks itself at birth and is never changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scoup.errors import ScoupError

Array = NDArray[Any]


def flatten(nested: Mapping[int, Any]) -> list[Any]:
    """List the items of ``{mode: item or list of items}`` by mode, then position.

    >>> flatten({2: "c", 0: ["a", "b"]})
    ['a', 'b', 'c']
    """
    items: list[Any] = []
    for mode in sorted(nested):
        items.extend(nested[mode] if isinstance(nested[mode], (list, tuple)) else [nested[mode]])
    return items


def nest(flat: Sequence[Any], like: Mapping[int, Any]) -> dict[int, Any]:
    """Give a flat list the shape of ``like``: the inverse of :func:`flatten`.

    >>> nest("xyz", {0: ["a", "b"], 2: "c"})
    {0: ['x', 'y'], 2: 'z'}
    """
    rest, nested = list(flat), {}
    for mode in sorted(like):
        group = isinstance(like[mode], (list, tuple))
        count = len(like[mode]) if group else 1
        taken, rest = rest[:count], rest[count:]
        nested[mode] = taken if group else taken[0]
    return nested


@dataclass(frozen=True, eq=False)
class Factors:
    """A coupled factorization of rank F.

    The tensor is ``sum_f weights[f] a_f o b_f o c_f ...`` with ``modes = (A, B, C, ...)``; the
    matrix i on mode m is ``modes[m] @ side_i.T``. ``sides`` is shaped like the data's ``matrices``.
    ``coverage`` holds a boolean mask for each of ``[*modes, *sides]``: rows that were never sampled
    are zero and False, so that they are not mistaken for rows that truly are zero.
    """

    weights: Array
    modes: tuple[Array, ...]
    sides: dict[int, Any] = field(default_factory=dict)
    coverage: tuple[NDArray[np.bool_], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "modes", tuple(self.modes))
        rank = np.shape(self.weights)
        if len(rank) != 1:
            raise ScoupError.expected("weights", "a vector, one number a component", f"shape {rank}")
        for name, factor in zip(self.names, self.flat, strict=True):
            if factor.ndim != 2 or factor.shape[1] != rank[0]:
                raise ScoupError.expected(name, f"{rank[0]} columns", f"shape {factor.shape}")
        if not self.coverage:
            object.__setattr__(self, "coverage", tuple(np.ones(len(f), dtype=bool) for f in self.flat))

    @property
    def rank(self) -> int:
        """Number of components F."""
        return len(self.weights)

    @property
    def flat(self) -> list[Array]:
        """All factor matrices: modes, then sides by mode and position."""
        return [*self.modes, *flatten(self.sides)]

    @property
    def names(self) -> list[str]:
        """Names of the matrices in :attr:`flat`."""
        return [*(f"mode{n}" for n in range(len(self.modes))), *(f"side{n}" for n in range(len(flatten(self.sides))))]

    def replace_flat(self, flat: Sequence[Array], weights: Array | None = None) -> Factors:
        """Return factors of the same layout and coverage with other matrices."""
        order = len(self.modes)
        kept = self.weights if weights is None else weights
        return Factors(kept, tuple(flat[:order]), nest(flat[order:], self.sides), self.coverage)

    def to_csr(self) -> list[sparse.csr_array]:
        """Return the matrices of :attr:`flat` as CSR arrays, which keep only the non-zeros."""
        return [sparse.csr_array(factor) for factor in self.flat]
