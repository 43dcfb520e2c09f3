"""Constraints on factors: which are non-negative, and which may change their sign."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self, TypeVar

import numpy as np

from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.listing import near
from scoup.records import Array

Kind = TypeVar("Kind")


class Constraints(NamedTuple):
    """The positions in ``[*modes, *sides]`` of factors that are ``nonnegative``.

    A component keeps its sign where it is ``fixed``: in these, and in a mode with a non-negative
    side, since turning the one would turn the other.

    >>> data = CoupledData(np.ones((2, 2, 2)), {1: np.ones((2, 5))})
    >>> Constraints.of({0: "nonnegative", "matrix1": "nonnegative"}, data)
    Constraints(nonnegative=frozenset({0, 3}), fixed=frozenset({0, 1, 3}))
    """

    nonnegative: frozenset[int] = frozenset()
    fixed: frozenset[int] = frozenset()

    @classmethod
    def of(cls, setting: str | Mapping[str, str] | None, data: CoupledData) -> Self:
        """Read the setting ``constraints`` of a fit to ``data``."""
        if setting is None:
            return cls()
        sides = {block.name: block.factors for block in data.blocks[1:]}
        positions = {str(mode): mode for mode in range(data.ndim)}
        positions |= {name: side for name, (_, side) in sides.items()}
        names = positions if isinstance(setting, str) else [str(name) for name in setting]
        for name in names:
            if name not in positions:
                expected = f"one of the modes and matrices {', '.join(positions)}"
                raise ScoupError.expected(
                    "constraints", expected, repr(name), near(name, list(positions))
                )
        nonnegative = {positions[name] for name in names}
        owners = {owner for owner, side in sides.values() if side in nonnegative}
        return cls(frozenset(nonnegative), frozenset(nonnegative | owners))

    def turnable(self, order: int) -> int | None:
        """Return the first of ``order`` modes that may take the sign of a component, if any."""
        return next((mode for mode in range(order) if mode not in self.fixed), None)

    def choose(self, free: Kind, bounded: Kind, count: int) -> list[Kind]:
        """Return one for each of ``count`` factors: ``bounded`` where it is non-negative.

        >>> Constraints(frozenset([1])).choose("free", "bounded", 3)
        ['free', 'bounded', 'free']
        """
        return [bounded if n in self.nonnegative else free for n in range(count)]

    def absolute(self, flat: Sequence[Array]) -> list[Array]:
        """Return the factors, the constrained ones without their signs.

        >>> Constraints(frozenset([0])).absolute([-np.ones(1), -np.ones(1)])
        [array([1.]), array([-1.])]
        """
        return [np.abs(m) if n in self.nonnegative else m for n, m in enumerate(flat)]

    def positive_part(self, modes: Sequence[Array]) -> list[Array]:
        """Return the modes, each constrained column turned to its larger part, the rest zero.

        A mode that may turn takes the sign, so that the model changes as little as possible.

        >>> first = Constraints(frozenset([0]), frozenset([0]))
        >>> parts = first.positive_part([np.array([[-3.0], [1.0]]), np.ones((2, 1))])
        >>> [part.ravel().tolist() for part in parts]
        [[3.0, 0.0], [-1.0, -1.0]]
        """
        parts, signs = list(modes), np.ones(modes[0].shape[1])
        for mode in sorted(self.nonnegative & set(range(len(modes)))):
            above, below = (np.square(np.maximum(s * modes[mode], 0)).sum(0) for s in (1, -1))
            turned = np.where(below > above, -1.0, 1.0)
            parts[mode] = np.maximum(modes[mode] * turned.astype(modes[mode].dtype), 0)
            signs *= turned
        free = self.turnable(len(modes))
        if free is not None:
            parts[free] = parts[free] * signs.astype(parts[free].dtype)
        return parts

    def check(self, name: str, flat: Sequence[Array], hint: str = "") -> None:
        """Refuse factors that do not satisfy the constraints."""
        if any(flat[position].min(initial=0) < 0 for position in self.nonnegative):
            expected = "factors that are non-negative where constraints says so"
            raise ScoupError.expected(name, expected, "negative entries", hint)


UNCONSTRAINED = Constraints()
