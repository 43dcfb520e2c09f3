"""Alternating least squares by the lemma: an F x F solve and an MTTKRP for each factor.

    [A (.) B; M]^+ = (A'A * B'B + M'M)^+ [(A (.) B)', M']

Missing cells are left out exactly: each row then has its own F x F system. They also slow the
sweeps down, so that with them each sweep sets out from a point further along the last step; one that raises the
cost is not taken. Where nothing is missing the iterates are those of Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup import kernels
from scoup.linear import solve_normal
from scoup.terms import Term, grams_of

Array = NDArray[Any]
Update = Callable[[Array, Array, Array], Array]

# Sweeps before the first long stride; its length in steps, how it grows when taken and shrinks when not.
SETTLE = 3
STRIDE, LONGEST, GROW, SHRINK = 0.5, 3.0, 1.5, 0.3


def least_squares(gram: Array, rhs: Array, factor: Array) -> Array:
    """The ALS update: the exact minimiser over all rows of one factor.

    >>> least_squares(np.eye(2) * 2, np.array([[2.0, 4.0]]), np.zeros((1, 2))).round(9).tolist()
    [[1.0, 2.0]]
    """
    del factor
    return solve_normal(gram, rhs)


def sweep(
    terms: Sequence[Term],
    flat: Sequence[Array],
    grams: Sequence[Array],
    positions: Sequence[int] | None = None,
    update: Update = least_squares,
) -> tuple[list[Array], list[Array], list[float]]:
    """Update each factor once, modes first, then sides; return factors, Grams and the loss of each term.

    The cost ``sum_b w_b loss_b`` never rises, since every update minimises it over one factor.

    >>> from scoup.coupled import CoupledData
    >>> from scoup.terms import terms_of
    >>> flat = [np.ones((2, 1)) for _ in range(3)]
    >>> sweep(terms_of(CoupledData(np.full((2, 2, 2), 5.0))), flat, grams_of(flat))[2]
    [0.0]
    """
    flat, grams = list(flat), list(grams)
    losses = advance(terms, flat, grams, positions, update)
    return flat, grams, losses


def advance(
    terms: Sequence[Term],
    flat: list[Array],
    grams: list[Array],
    positions: Sequence[int] | None = None,
    update: Update = least_squares,
) -> list[float]:
    """Make a :func:`sweep` in place: each old factor is let go when its new one is there.

    >>> from scoup.coupled import CoupledData
    >>> from scoup.terms import terms_of
    >>> flat = [np.ones((2, 1)) for _ in range(3)]
    >>> advance(terms_of(CoupledData(np.full((2, 2, 2), 5.0))), flat, grams_of(flat)), flat[0].round(9).tolist()
    ([0.0], [[5.0], [5.0]])
    """
    order = list(range(len(flat)) if positions is None else positions)
    losses = [0.0] * len(terms)
    for place, position in enumerate(order):
        gram, rhs, final = _normal_equations(terms, flat, grams, position, order[place + 1 :])
        flat[position] = update(gram, rhs, flat[position])
        grams[position] = kernels.gram(flat[position])
        for number, own_gram, own_rhs in final:
            losses[number] = terms[number].loss(own_rhs, own_gram, flat[position], grams[position])
        # Let go before the next are made: at a large rank they are as large as sparse data.
        del gram, rhs, final
    return losses


def _normal_equations(
    terms: Sequence[Term],
    flat: Sequence[Array],
    grams: Sequence[Array],
    position: int,
    later: Sequence[int],
) -> tuple[Array, Array, list[tuple[int, Array, Array]]]:
    """Sum ``w_b G_b`` and ``w_b R_b`` over the terms of a factor; with them each term whose last update this is."""
    mine = [(number, term) for number, term in enumerate(terms) if position in term.factors]
    # A factor that only weightless blocks ask for is still defined: their weight counts as 1.
    weightless = not any(term.weight for _, term in mine)
    gram, rhs, final, spare = None, None, [], False
    for number, term in mine:
        weight, last = term.weight or float(weightless), not set(term.factors) & set(later)
        if not weight and not last:
            continue
        own_gram, own = term.gram(flat, grams, position), term.rhs(flat, position)
        # A loss is that of a term's last update: earlier right-hand sides need not be kept.
        final += [(number, own_gram, own)] if last else []
        if weight:
            gram = weight * own_gram if gram is None else gram + weight * own_gram
            scaled = own if weight == 1 else weight * own
            # A sum is ours to add to, and so is a side of its own; a view may be on what a term keeps for later.
            rhs = scaled if rhs is None else np.add(rhs, scaled, out=rhs if spare else None)
            spare = rhs is not own or (not last and own.flags.owndata)
    assert gram is not None
    assert rhs is not None
    return gram, rhs, final


def weighted(terms: Sequence[Term], losses: Sequence[float]) -> float:
    """The objective: ``sum_b w_b loss_b``.

    >>> from scoup.coupled import CoupledData
    >>> from scoup.terms import terms_of
    >>> weighted(terms_of(CoupledData(np.ones((2, 2, 2)), weights=[3.0])), [2.0])
    6.0
    """
    return float(sum(term.weight * loss for term, loss in zip(terms, losses, strict=True)))


def solve(
    terms: Sequence[Term],
    flat: Sequence[Array],
    max_iter: int,
    tol: float,
    on_step: Callable[[float], None] = lambda cost: None,
    update: Update = least_squares,
) -> tuple[list[Array], list[float], str]:
    """Sweep until the cost changes by less than ``tol`` of itself; return factors, costs and why it stopped.

    ``max_iter`` counts the sweeps that were not taken as well; the costs are of those that were, and never rise.

    >>> from scoup.coupled import CoupledData
    >>> from scoup.terms import terms_of
    >>> solve(terms_of(CoupledData(np.ones((2, 2, 2)))), [np.ones((2, 1)) for _ in range(3)], 10, 1e-6)[2]
    'exact'
    """
    flat, grams, stop = list(flat), grams_of(flat), "max_iter"
    costs: list[float] = []
    floor = weighted(terms, [term.norm2 for term in terms]) * np.finfo(flat[0].dtype).eps
    hurried = update is least_squares and any(term.masked for term in terms)
    last: list[Array] = []
    stride, plain, order = STRIDE, SETTLE, list(range(len(flat)))
    # The first factor to be updated is never read: best the longest, whose products with the data cost most.
    longest_first = sorted(order, key=lambda n: -len(flat[n]))
    for _ in range(max_iter):
        strides = hurried and not plain
        ahead = (
            [f + stride * (f - old) for f, old in zip(flat, last, strict=True)] if strides else flat
        )
        its_grams, kept = grams_of(ahead) if strides else grams, list(flat) if hurried else []
        order = longest_first if strides else order
        cost = weighted(terms, advance(terms, ahead, its_grams, order, update))
        if strides and cost > costs[-1]:
            plain, stride = 1, SHRINK * stride
            continue
        plain, stride = max(plain - 1, 0), min(GROW * stride, LONGEST) if strides else stride
        last, flat, grams = kept, ahead, its_grams
        costs.append(cost)
        on_step(cost)
        if cost <= floor:
            stop = "exact"
            break
        if len(costs) > 1 and abs(costs[-2] - cost) <= tol * costs[-2]:
            stop = "converged"
            break
    return flat, costs, stop
