"""Alternating least squares by the lemma: an F x F solve and an MTTKRP for each factor.

    [A (.) B; M]^+ = (A'A * B'B + M'M)^+ [(A (.) B)', M']

Missing cells are left out exactly: each row then has its own F x F system. They also slow the
sweeps down, so with them each sweep starts further along the last step (:class:`Strides`). Without
missing cells the iterates are those of Algorithm 1.
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.linalg import lapack

from scoup import kernels
from scoup.records import Array
from scoup.solvers import Solution, Stopping
from scoup.terms import Problem, Term, grams_of, weighted

COMPRESSIBLE = True

# With missing cells: plain sweeps before the first stride, lengths of strides in multiples of the
# last step, and by how much an accepted or rejected stride changes them.
PLAIN_SWEEPS_FIRST = 3
FIRST_STRIDE, LONGEST_STRIDE = 0.5, 3.0
GROWTH, SHRINKAGE = 1.5, 0.3

# Below this ratio of pivots the Gram matrix is treated as singular: its condition number is
# that of the factors squared, so half of the digits are gone by then.
_WORST_PIVOT = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-5}
# Called as they are: scipy's checks around them take longer than a system of rank 5.
_CHOLESKY = {np.dtype(np.float64): lapack.dpotrf, np.dtype(np.float32): lapack.spotrf}
_BACK = {np.dtype(np.float64): lapack.dpotrs, np.dtype(np.float32): lapack.spotrs}

# Given Gram matrix, right-hand side and the old factor, return the new factor.
Update = Callable[[Array, Array, Array], Array]


def least_squares(gram: Array, rhs: Array, factor: Array) -> Array:
    """The ALS update: the exact minimiser over all rows of one factor.

    >>> least_squares(np.eye(2) * 2, np.array([[2.0, 4.0]]), np.zeros((1, 2))).round(9).tolist()
    [[1.0, 2.0]]
    """
    del factor
    return solve_normal(gram, rhs)


def solve(
    problem: Problem, flat: list[Array], stopping: Stopping, update: Update = least_squares
) -> Solution:
    """Sweep until the cost changes by less than ``tol`` of itself.

    ``max_iter`` counts rejected sweeps too; the costs are those of accepted sweeps and never rise.

    >>> from scoup.coupled import CoupledData
    >>> start = [np.ones((2, 1)) for _ in range(3)]
    >>> solve(Problem.of(CoupledData(np.ones((2, 2, 2)))), start, Stopping(10, 1e-6)).stop
    'exact'
    """
    grams, costs, reason = grams_of(flat), list[float](), ""
    floor = problem.zero_cost * float(np.finfo(flat[0].dtype).eps)
    strides = Strides(flat) if problem.masked and update is least_squares else None
    for _ in range(stopping.max_iter):
        order = strides.set_out(flat, grams) if strides else None
        cost = weighted(problem.terms, sweep(problem.terms, flat, grams, order, update))
        if strides and not strides.accept(cost, flat, grams):
            continue
        costs.append(cost)
        stopping.on_step(cost)
        if reason := stopping.reason(costs, floor):
            break
    return Solution(flat, costs, reason or "max_iter")


def sweep(
    terms: Sequence[Term],
    flat: list[Array],
    grams: list[Array],
    positions: Sequence[int] | None = None,
    update: Update = least_squares,
) -> list[float]:
    """Update each factor once, in place, modes first, then sides; return the loss of each term.

    The cost ``sum_b w_b loss_b`` never rises, since every update minimises it over one factor.

    >>> from scoup.coupled import CoupledData
    >>> flat = [np.ones((2, 1)) for _ in range(3)]
    >>> sweep(Problem.of(CoupledData(np.full((2, 2, 2), 5.0))).terms, flat, grams_of(flat))
    [0.0]
    >>> flat[0].round(9).tolist()
    [[5.0], [5.0]]
    """
    order = list(range(len(flat)) if positions is None else positions)
    losses = [0.0] * len(terms)
    for count, position in enumerate(order, start=1):
        finished = _update_factor(terms, flat, grams, position, order[count:], update)
        for number, loss in finished.items():
            losses[number] = loss
    return losses


def _update_factor(
    terms: Sequence[Term],
    flat: list[Array],
    grams: list[Array],
    position: int,
    later: Sequence[int],
    update: Update,
) -> dict[int, float]:
    """Update one factor; return the loss of each term that no ``later`` update changes.

    A function of its own, so that the normal equations, which at a large rank are as large as
    sparse data, are released before the next ones are formed.
    """
    involved = [(number, term) for number, term in enumerate(terms) if position in term.factors]
    # A factor of weightless blocks alone is still defined: their weight counts as 1.
    weightless = not any(term.weight for _, term in involved)
    gram, rhs, final = None, _RunningSum(), []
    for number, term in involved:
        weight = term.weight or float(weightless)
        last = not set(term.factors) & set(later)
        if not weight and not last:
            continue
        term_gram, term_rhs = term.gram(flat, grams, position), term.rhs(flat, position)
        if last:
            final.append((number, term_gram, term_rhs))
        if weight:
            gram = weight * term_gram if gram is None else gram + weight * term_gram
            rhs.add(weight, term_rhs, reusable=not last)
    assert gram is not None
    flat[position] = update(gram, rhs.total, flat[position])
    grams[position] = kernels.gram(flat[position])
    return {
        number: terms[number].loss(term_rhs, term_gram, flat[position], grams[position])
        for number, term_gram, term_rhs in final
    }


class _RunningSum:
    """``sum_b w_b R_b``, added up in place where nobody else holds the array, to save a copy."""

    def __init__(self) -> None:
        self.total: Array = np.empty(0)
        self._writable = False

    def add(self, weight: float, part: Array, reusable: bool) -> None:
        """Add ``weight * part``; ``reusable`` says that the caller needs ``part`` no more."""
        scaled = part if weight == 1 else weight * part
        if self.total.size:
            self.total = np.add(self.total, scaled, out=self.total if self._writable else None)
        else:
            self.total = scaled
        # A view may be of an array that a term caches for later.
        self._writable = self.total is not part or (reusable and part.flags.owndata)


class Strides:
    """Start each sweep further along the last step, and undo the sweep if the cost rose.

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
        """Move factors and Grams to the start of the next sweep; return its order of updates."""
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


def solve_normal(gram: Array, rhs: Array) -> Array:
    """Solve ``M G = R`` for M (I, F), with one G (F, F) for all rows or one per row (I, F, F).

    Where G is singular the minimum-norm solution is returned, as by the pseudoinverse of the lemma.

    >>> solve_normal(np.diag([2.0, 0.0]), np.array([[4.0, 0.0]])).tolist()
    [[2.0, 0.0]]
    """
    if gram.ndim == 3:
        return kernels.solve_rows(gram, rhs)
    scale = np.sqrt(np.maximum(gram.diagonal(), 0.0))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0).astype(gram.dtype)
    scaled = gram * inverse * inverse[:, None]
    factor, failed = _CHOLESKY[gram.dtype](scaled, lower=True)
    if not failed and (factor.diagonal() ** 2).min() > _WORST_PIVOT[gram.dtype]:
        whole = _BACK[gram.dtype](factor, np.diag(inverse), lower=True)[0] * inverse[:, None]
        return kernels.product(rhs, np.ascontiguousarray(whole))
    return rhs @ pseudoinverse(gram)


def pseudoinverse(gram: Array) -> Array:
    """Pseudoinverse of a symmetric positive semidefinite (F, F) matrix by its eigenvalues.

    >>> pseudoinverse(np.diag([4.0, 0.0])).tolist()
    [[0.25, 0.0], [0.0, 0.0]]
    """
    values, vectors = np.linalg.eigh(gram.astype(np.float64))
    keep = values > max(values[-1], 0.0) * 1e-14
    inverse = (vectors[:, keep] / values[keep]) @ vectors[:, keep].T
    return inverse.astype(gram.dtype)
