"""All factors at once: L-BFGS on the same objective, with the same masks and weights."""

from collections.abc import Sequence

import numpy as np

from scoup.factors import balance
from scoup.records import Array
from scoup.solvers import Solution, Stopping, als
from scoup.solvers._lbfgs import Limits, minimise
from scoup.terms import Problem, Term, grams_of, weighted

# Past steps to learn the curvature from. Thirty were no better than five on planted data, and each
# takes as much memory as the factors.
PAIRS = 5


def solve(problem: Problem, flat: list[Array], stopping: Stopping) -> Solution:
    """Minimise by L-BFGS from ``flat``; accepted steps never raise the cost.

    >>> from scoup.coupled import CoupledData
    >>> start = [np.full((2, 1), 0.5) for _ in range(3)]
    >>> solution = solve(Problem.of(CoupledData(np.ones((2, 2, 2)))), start, Stopping(50, 1e-9))
    >>> round(solution.costs[-1], 6)
    0.0
    """
    shapes, dtype = [factor.shape for factor in flat], flat[0].dtype
    scale = problem.zero_cost or 1.0
    costs: list[float] = []
    als.improve_start(problem, flat)
    balance(flat, problem.data.owners)
    point = np.concatenate([factor.ravel() for factor in flat]).astype(np.float64, copy=False)
    flat.clear()

    def evaluate(at: Array, gradient: Array) -> float:
        factors, gradients = unpack(at, shapes, dtype), unpack(gradient, shapes, gradient.dtype)
        cost, _ = cost_and_gradient(problem.terms, factors, gradients)
        gradient /= scale
        return cost / scale

    def record(cost: float) -> None:
        costs.append(cost * scale)
        stopping.on_step(costs[-1])

    limits = Limits(stopping.max_iter, max(stopping.tol * 1e-2, problem.rounding / scale))
    cost, converged = minimise(evaluate, point, PAIRS, limits, record)
    reason = "converged" if converged else "max_iter"
    return Solution(unpack(point, shapes, dtype), costs or [cost * scale], reason)


def cost_and_gradient(
    terms: Sequence[Term], flat: Sequence[Array], out: list[Array] | None = None
) -> tuple[float, list[Array]]:
    """Return ``sum_b w_b loss_b`` and its gradient in each factor, written to ``out`` if passed.

    The gradient is ``2 sum_b w_b (M G_b - R_b)``.

    >>> from scoup.coupled import CoupledData
    >>> ones = [np.ones((2, 1)) for _ in range(3)]
    >>> cost_and_gradient(Problem.of(CoupledData(np.ones((2, 2, 2)))).terms, ones)[0]
    0.0
    """
    grams = grams_of(flat)
    gradients = [np.empty_like(factor) for factor in flat] if out is None else out
    for gradient in gradients:
        gradient[:] = 0.0
    losses = [_add_gradient(term, flat, grams, gradients) for term in terms]
    return weighted(terms, losses), gradients


def _add_gradient(
    term: Term, flat: Sequence[Array], grams: Sequence[Array], gradients: list[Array]
) -> float:
    """Add a term's gradient in each of its factors; return its loss."""
    loss = 0.0
    for position in term.factors:
        factor = flat[position]
        rhs, gram = term.rhs(flat, position), term.gram(flat, grams, position)
        if position == term.factors[-1]:
            loss = term.loss(rhs, gram, flat, grams, position)
        gram = gram.astype(factor.dtype, copy=False)
        model = factor @ gram if gram.ndim == 2 else np.einsum("if,ifg->ig", factor, gram)
        # In place, and released before the next: each is as large as the factor.
        model -= rhs
        model *= 2.0 * term.weight
        gradients[position] += model
        del rhs, model
    return loss


def unpack(vector: Array, shapes: Sequence[tuple[int, ...]], dtype: np.dtype) -> list[Array]:
    """Cut a vector into factor matrices of these shapes; views if the type is the vector's.

    >>> [factor.tolist() for factor in unpack(np.arange(3.0), [(1, 1), (2, 1)], np.dtype(float))]
    [[[0.0]], [[1.0], [2.0]]]
    """
    ends = np.cumsum([rows * columns for rows, columns in shapes])
    parts = np.split(vector, ends[:-1])
    return [
        np.ascontiguousarray(part.reshape(shape), dtype=dtype)
        for part, shape in zip(parts, shapes, strict=True)
    ]
