"""All factors at once: L-BFGS on the same objective, with the same masks and weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.solvers._lbfgs import Stop, minimise
from scoup.solvers.als import weighted
from scoup.terms import Term, grams_of

Array = NDArray[Any]


# Past steps to learn the curvature from. Thirty of them were no better than five on planted data, and each takes as
# much memory as the factors.
PAIRS = 5


def cost_and_gradient(
    terms: Sequence[Term], flat: Sequence[Array], out: list[Array] | None = None
) -> tuple[float, list[Array]]:
    """Return ``sum_b w_b loss_b`` and its gradient in each factor, ``2 sum_b w_b (M G_b - R_b)``, written to ``out``.

    >>> from scoup.coupled import CoupledData
    >>> from scoup.terms import terms_of
    >>> cost_and_gradient(terms_of(CoupledData(np.ones((2, 2, 2)))), [np.ones((2, 1)) for _ in range(3)])[0]
    0.0
    """
    grams, losses = grams_of(flat), [0.0] * len(terms)
    gradients = [np.empty_like(factor) for factor in flat] if out is None else out
    for gradient in gradients:
        gradient[:] = 0.0
    for number, term in enumerate(terms):
        for position in term.factors:
            rhs, gram = term.rhs(flat, position), term.gram(flat, grams, position)
            shared = gram.ndim == 2
            model = (
                flat[position] @ gram if shared else np.einsum("if,ifg->ig", flat[position], gram)
            )
            if position == term.factors[-1]:
                losses[number] = term.loss(rhs, gram, flat[position], grams[position])
            # In place: a factor can be as large as sparse data.
            model -= rhs
            model *= 2.0 * term.weight
            gradients[position] += model
            del rhs, model
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
    shapes, dtype = [factor.shape for factor in flat], flat[0].dtype
    scale = weighted(terms, [term.norm2 for term in terms]) or 1.0
    point = np.concatenate([factor.ravel() for factor in flat]).astype(np.float64, copy=False)
    del flat
    costs: list[float] = []

    def evaluate(at: Array, gradient: Array) -> float:
        cost, _ = cost_and_gradient(
            terms, unpack(at, shapes, dtype), unpack(gradient, shapes, gradient.dtype)
        )
        gradient /= scale
        return cost / scale

    def record(cost: float) -> None:
        costs.append(cost * scale)
        on_step(costs[-1])

    last, converged = minimise(evaluate, point, PAIRS, Stop(max_iter, tol * 1e-2), record)
    return (
        unpack(point, shapes, dtype),
        costs or [last * scale],
        "converged" if converged else "max_iter",
    )


def unpack(vector: Array, shapes: Sequence[tuple[int, ...]], dtype: np.dtype) -> list[Array]:
    """Cut a vector into factor matrices of the given shapes; views, where the type is its own.

    >>> [factor.tolist() for factor in unpack(np.arange(3.0), [(1, 1), (2, 1)], np.dtype(float))]
    [[[0.0]], [[1.0], [2.0]]]
    """
    ends = np.cumsum([rows * columns for rows, columns in shapes])
    parts = np.split(vector, ends[:-1])
    return [
        np.ascontiguousarray(part.reshape(shape), dtype=dtype)
        for part, shape in zip(parts, shapes, strict=True)
    ]
