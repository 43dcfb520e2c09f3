"""The normal equations of one factor, summed over the terms that contain it.

    M_k (sum_b w_b G_b) = sum_b w_b R_b

The care for memory is here, so that solvers need none: right-hand sides are as long as the factor,
and at a large rank as large as sparse data.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scoup.normal import RowSolver, Update, solve_normal
from scoup.records import Array
from scoup.terms import Term, relative_weights


class Equations:
    """The equations of the factor at ``position``, and what the losses of its terms need.

    A loss is known once no factor of its term is among the ``later`` ones to be updated.

    >>> from scoup.coupled import CoupledData
    >>> from scoup.terms import grams_of, terms_of
    >>> flat = [np.ones((2, 1)) for _ in range(3)]
    >>> terms = terms_of(CoupledData(np.full((2, 2, 2), 5.0)))
    >>> equations = Equations(terms, flat, grams_of(flat), 0, later=[])
    >>> equations.solve(flat, lambda gram, rhs, old: rhs / gram).tolist()
    [[5.0], [5.0]]
    """

    def __init__(
        self,
        terms: Sequence[Term],
        flat: Sequence[Array],
        grams: Sequence[Array],
        position: int,
        later: Sequence[int],
    ) -> None:
        self._terms, self._position = terms, position
        self._gram: Array = np.empty(0)
        self._rhs = _RunningSum()
        self._known: list[_Known] = []
        self._as_read: _AsRead | None = None
        numbers = [number for number, term in enumerate(terms) if position in term.factors]
        weights = relative_weights([terms[number].weight for number in numbers])
        for number, weight in zip(numbers, weights, strict=True):
            following = [k for k in later if k in terms[number].factors]
            if weight or not following:
                self._add(number, weight, flat, grams, following)

    def _add(
        self,
        number: int,
        weight: float,
        flat: Sequence[Array],
        grams: Sequence[Array],
        following: Sequence[int],
    ) -> None:
        """Add one term; ``following`` are the later updates that change its loss."""
        term = self._terms[number]
        gram = term.gram(flat, grams, self._position)
        if weight:
            part = gram if weight == 1 else weight * gram  # one matrix per row is a large array
            self._gram = _sum(self._gram, part) if self._gram.size else part
        if following and self._as_read is None and term.solves_rows(self._position):
            self._as_read = _AsRead(term, weight, following[0])
            return
        rhs = term.rhs(flat, self._position)
        if not following:
            self._known.append(_Known(number, gram, rhs))
        if weight:
            self._rhs.add(weight, rhs, reusable=bool(following))

    def solve(self, flat: Sequence[Array], update: Update) -> Array:
        """Return the new factor; some terms have rows solved where their cells are read."""
        old, rhs = flat[self._position], self._rhs
        is_free = rhs.is_free(old.dtype)
        if self._as_read is None:
            if is_free and update is solve_normal:
                # Memory that is new is cleared first, which takes a third of the time of a solve.
                return solve_normal(self._gram, rhs.total, old, in_place=True)
            return update(self._gram, rhs.total, old)
        term, weight, following = self._as_read
        solver = RowSolver(self._gram, rhs.total, old, weight, update)
        # The solved rows take the place of the right-hand sides, which each row needs once.
        out = rhs.total if is_free else None
        return term.solve_rows(flat, solver, following, out)

    def losses(self, flat: Sequence[Array], grams: Sequence[Array]) -> dict[int, float]:
        """Return the loss of each term that is known now, by its number."""
        return {
            number: self._terms[number].loss(rhs, gram, flat, grams, self._position)
            for number, gram, rhs in self._known
        }


class _Known(NamedTuple):
    """A term whose loss is known after this update, with its part of the equations."""

    number: int
    gram: Array
    rhs: Array


class _AsRead(NamedTuple):
    """A term whose rows are solved as its data is read, and the factor that comes next."""

    term: Term
    weight: float
    following: int


def _sum(left: Array, right: Array) -> Array:
    """Add Gram matrices; those of all rows keep their type, which may be half as large."""
    dtype = max(left, right, key=np.ndim).dtype
    return np.add(left, right, dtype=dtype, casting="same_kind")


class _RunningSum:
    """``sum_b w_b R_b``, added up in place where nobody else holds the array, to save a copy."""

    def __init__(self) -> None:
        self.total: Array = np.empty(0)
        self._writable = False

    def is_free(self, dtype: np.dtype) -> bool:
        """Whether the sum is an array of this type that nobody else holds."""
        return self._writable and self.total.dtype == dtype

    def add(self, weight: float, part: Array, reusable: bool) -> None:
        """Add ``weight * part``; ``reusable`` says that the caller needs ``part`` no more."""
        scaled = part if weight == 1 else weight * part
        if self.total.size:
            self.total = np.add(self.total, scaled, out=self.total if self._writable else None)
        else:
            self.total = scaled
        # A view may be of an array that a term caches for later.
        self._writable = self.total is not part or (reusable and part.flags.owndata)
