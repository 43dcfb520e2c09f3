"""What passes between the jobs that share the passes of a completion over the shards."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scoup.records.factors import Array


@dataclass(frozen=True, eq=False)
class Request:
    """A pass over the shards of a tensor: its MTTKRP ``R`` for ``mode``.

    With a ``gram``, (F, F) or one per row, the rows of the leading factor are solved on the way,
    ``M gram = weight R + rest``, and used for the product.

    >>> Request(1).solves, Request(1, np.eye(2)).solves
    (False, True)
    """

    mode: int
    gram: Array = field(default_factory=lambda: np.empty(0))
    rest: Array = field(default_factory=lambda: np.empty(0))
    weight: float = 1.0

    @property
    def solves(self) -> bool:
        """Whether the rows of the leading factor are solved."""
        return self.gram.size > 0


@dataclass(frozen=True, eq=False)
class Products:
    """What one part of the shards answers: of each of its groups the solved rows, and the sums.

    There are no ``rows`` where none are solved.
    """

    rows: list[Array]
    sums: list[Array]


@dataclass(frozen=True, eq=False)
class Round:
    """A completion that waits for the answers to a ``request``; at the end there is none.

    ``flat`` are the factors of all rows, ``order`` the positions that are still to be updated,
    ``losses`` those of the blocks that no later update changes, by number, and ``matching`` what
    the merge said about the repetitions, for the report.
    """

    flat: list[Array]
    order: list[int]
    losses: dict[int, float]
    matching: dict[str, Any]
    request: Request | None = None
