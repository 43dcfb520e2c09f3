"""All factors at once: L-BFGS on the same objective, with the same masks and weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.solvers.als import weighted
from scoup.terms import Term, grams_of

Array = NDArray[Any]


def cost_and_gradient(terms: Sequence[Term], flat: Sequence[Array]) -> tuple[float, list[Array]]:
    """Return ``sum_b w_b loss_b`` and its gradient in each factor, ``2 sum_b w_b (M G_b - R_b)``.

    >>> from scoup.coupled import CoupledData
    >>> from scoup.terms import terms_of
    >>> cost_and_gradient(terms_of(CoupledData(np.ones((2, 2, 2)))), [np.ones((2, 1)) for _ in range(3)])[0]
    0.0
    """
    grams, losses = grams_of(flat), [0.0] * len(terms)
    gradients = [np.zeros_like(factor) for factor in flat]
    for number, term in enumerate(terms):
        for position in term.factors:
            rhs, gram = term.rhs(flat, position), term.gram(flat, grams, position)
            shared = gram.ndim == 2
            model = flat[position] @ gram if shared else np.einsum("if,ifg->ig", flat[position], gram)
            gradients[position] += 2.0 * term.weight * (model - rhs)
        losses[number] = term.loss(rhs, gram, flat[position], grams[position])
    return weighted(terms, losses), gradients


def solve(
    terms: Sequence[Term],
    flat: Sequence[Array],
    max_iter: int,
    tol: float,
    on_step: Callable[[float], None] = lambda cost: None,
) -> tuple[list[Array], list[float], str]:
    """Minimise by L-BFGS from ``flat``; accepted steps never raise the cost.

    >>> from scoup.coupled import CoupledData
    >>> from scoup.terms import terms_of
    >>> start = [np.full((2, 1), 0.5) for _ in range(3)]
    >>> round(solve(terms_of(CoupledData(np.ones((2, 2, 2)))), start, 50, 1e-9)[1][-1], 6)
    0.0
    """
    from scipy.optimize import minimize  # here: only this solver needs it, and it is slow to load

    shapes, dtype = [factor.shape for factor in flat], flat[0].dtype
    scale = weighted(terms, [term.norm2 for term in terms]) or 1.0
    costs: list[float] = []

    def objective(vector: Array) -> tuple[float, Array]:
        cost, gradients = cost_and_gradient(terms, unpack(vector, shapes, dtype))
        return cost / scale, np.concatenate([g.ravel() for g in gradients]).astype(np.float64) / scale

    def record(intermediate_result: Any) -> None:
        costs.append(float(intermediate_result.fun) * scale)
        on_step(costs[-1])

    start = np.concatenate([factor.ravel() for factor in flat]).astype(np.float64)
    # Curvature from many past steps pays here: one evaluation costs far more than the two-loop recursion.
    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "ftol": tol * 1e-2, "gtol": 1e-12, "maxcor": 30}
    result = minimize(objective, start, jac=True, method="L-BFGS-B", callback=record, options=options)
    if not costs:
        costs.append(float(result.fun) * scale)
    return unpack(result.x, shapes, dtype), costs, "converged" if result.success else "max_iter"


def unpack(vector: Array, shapes: Sequence[tuple[int, ...]], dtype: np.dtype) -> list[Array]:
    """Cut a vector into factor matrices of the given shapes.

    >>> [factor.tolist() for factor in unpack(np.arange(3.0), [(1, 1), (2, 1)], np.dtype(float))]
    [[[0.0]], [[1.0], [2.0]]]
    """
    ends = np.cumsum([rows * columns for rows, columns in shapes])
    parts = np.split(vector, ends[:-1])
    return [np.ascontiguousarray(part.reshape(shape), dtype=dtype) for part, shape in zip(parts, shapes, strict=True)]
