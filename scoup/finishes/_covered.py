"""The rows that a merged model covers, and the data on them."""

from collections.abc import Sequence

import numpy as np

from scoup.constraints import UNCONSTRAINED, Constraints
from scoup.coupled import CoupledData
from scoup.machine import release
from scoup.records import Array
from scoup.restrict import restrict
from scoup.solvers import Stopping, als
from scoup.terms import Problem, Term, block_losses, grams_of


class Covered:
    """The covered ``rows`` of each factor, the ``problem`` that they pose, and ``constraints``.

    Elsewhere the model is zero, so nothing more is needed to scale or refit it.

    >>> rows = np.array([1]), np.arange(2), np.arange(2)
    >>> covered = Covered(CoupledData(np.ones((2, 2, 2))), rows)
    >>> flat = [np.ones((1, 1)), np.ones((2, 1)), np.ones((2, 1))]
    >>> covered.losses(flat), [mask.tolist() for mask in covered.expand(flat)], flat[0].tolist()
    ([4.0], [[False, True], [True, True], [True, True]], [[0.0], [1.0]])
    """

    def __init__(
        self,
        data: CoupledData,
        rows: tuple[Array, ...],
        constraints: Constraints = UNCONSTRAINED,
    ) -> None:
        self.data, self.rows, self.constraints = data, rows, constraints
        self.updates = als.exact_updates(constraints, len(data.sizes))
        part = data if self._is_whole() else restrict(data, rows)
        self.problem = Problem.of(part, constraints=constraints)
        self._outside = [
            max(block.norm2 - term.norm2, 0.0)
            for block, term in zip(data.blocks, self.terms, strict=True)
        ]

    @property
    def terms(self) -> list[Term]:
        """The terms of the data on the covered rows."""
        return self.problem.terms

    def sweep(self, flat: list[Array], sweeps: int) -> None:
        """Make ALS sweeps over the covered rows, in place."""
        costs, reason = als.compiled_sweeps(self.problem, flat, Stopping(sweeps, 0.0), self.updates)
        grams = grams_of(flat)
        for _ in range(0 if reason else sweeps - len(costs)):
            als.sweep(self.terms, flat, grams, update=self.updates)

    def losses(self, flat: Sequence[Array]) -> list[float]:
        """Squared error of each block of the whole data: of the covered rows, and outside them."""
        inner = block_losses(self.terms, flat)
        return [loss + outside for loss, outside in zip(inner, self._outside, strict=True)]

    def expand(self, flat: list[Array]) -> tuple[Array, ...]:
        """Put the covered rows into whole factors, in place; return which rows were covered.

        The data on them is dropped and its memory, if it is large, returned to the system first:
        next to factors of all rows there may be no room for it.
        """
        kept = {id(block) for block in self.data.blocks}  # by their owner
        left_bytes = sum(t.block.values.nbytes for t in self.terms if id(t.block) not in kept)
        self.drop()
        release(left_bytes, self.data.nbytes)
        masks = tuple(np.zeros(size, dtype=bool) for size in self.data.sizes)
        for position, (mask, rows) in enumerate(zip(masks, self.rows, strict=True)):
            mask[rows] = True
            if len(flat[position]) < len(mask):
                whole = np.zeros((len(mask), flat[position].shape[1]), flat[position].dtype)
                whole[rows] = flat[position]
                flat[position] = whole
        return masks

    def extend(self, flat: list[Array]) -> None:
        """Cover all rows, with zeros where no repetition was, in place."""
        self.expand(flat)
        self.rows = tuple(np.arange(size) for size in self.data.sizes)
        self.problem = Problem.of(self.data, constraints=self.constraints)
        self._outside = [0.0] * len(self.data.blocks)

    def drop(self) -> None:
        """Release the data on the covered rows, which is not needed again."""
        del self.problem

    def _is_whole(self) -> bool:
        sizes = self.data.sizes
        return all(rows.size == size for rows, size in zip(self.rows, sizes, strict=True))
