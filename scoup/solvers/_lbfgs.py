"""L-BFGS in as little memory as it can do with: on sparse data each vector of it is as large as the data.

The point moves in place, and what is kept of past steps is kept in single precision: it shapes the next direction,
while points, costs and gradients stay in double precision.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
# Fills the gradient at a point into the second argument, and returns the cost.
Evaluate = Callable[[Array, Array], float]

# A step must bring this share of what the slope promises, and leave at most that share of the slope (Wolfe).
DECREASE, CURVATURE = 1e-4, 0.9
# Points tried along one line before it is given up.
TRIES = 30
# Numbers of a vector that are worked on at a time, so that temporaries stay in cache.
SPAN = 1 << 15


class Stop(NamedTuple):
    """When to stop: after so many steps, or when one lowers the cost by less than ``tol``, relative to 1 at least."""

    max_iter: int
    tol: float
    flat: float = 1e-12


def minimise(
    evaluate: Evaluate,
    point: Array,
    pairs: int,
    stop: Stop,
    on_step: Callable[[float], None] = lambda cost: None,
) -> tuple[float, bool]:
    """Move ``point`` in place to where the cost is least; return that cost, and whether it converged.

    >>> point = np.array([3.0, -4.0])
    >>> def bowl(at, gradient):
    ...     gradient[:] = 2 * at
    ...     return float(at @ at)
    >>> minimise(bowl, point, 5, Stop(50, 1e-12))[1], bool(np.abs(point).max() < 1e-9)
    (True, True)
    """
    gradient, ahead = np.empty_like(point), np.empty_like(point)
    cost, past = evaluate(point, gradient), deque[Pair](maxlen=pairs)
    for _ in range(stop.max_iter):
        if max(gradient.max(), -gradient.min()) <= stop.flat:
            return cost, True
        direction = descent(gradient, past)
        found = _search(
            evaluate, point, direction, _Line(cost, _dot(gradient, direction)), ahead, bool(past)
        )
        if found is None and not past:
            # Not even along the gradient: what is left is rounding.
            return cost, True
        if found is None:
            past.clear()
            continue
        before, (cost, length) = cost, found
        _remember(past, length, direction, gradient, ahead)
        gradient, ahead = ahead, gradient
        on_step(cost)
        if before - cost <= stop.tol * max(abs(before), 1.0):
            return cost, True
    return cost, False


class Pair(NamedTuple):
    """A past step s, the change y of the gradient along it, ``s'y`` and ``y'y``."""

    step: Array
    change: Array
    curvature: float
    square: float


class _Line(NamedTuple):
    """The cost at the beginning of a line, and its slope there."""

    cost: float
    slope: float


def descent(gradient: Array, past: deque[Pair]) -> Array:
    """``-H g`` with H the inverse Hessian that the past steps tell of, by the two-loop recursion.

    >>> one = Pair(np.array([1.0, 0.0], np.float32), np.array([4.0, 0.0], np.float32), 4.0, 16.0)
    >>> descent(np.array([8.0, 8.0]), deque([one])).tolist()
    [-2.0, -2.0]
    """
    direction = np.empty(gradient.shape, np.float32)
    np.negative(gradient, out=direction, casting="same_kind")
    shares = []
    for pair in reversed(past):
        shares.append(_dot(direction, pair.step) / pair.curvature)
        _add(direction, -shares[-1], pair.change)
    if past:
        direction *= past[-1].curvature / past[-1].square
    for pair, share in zip(past, reversed(shares), strict=True):
        _add(direction, share - _dot(direction, pair.change) / pair.curvature, pair.step)
    return direction


def _remember(
    past: deque[Pair], length: float, direction: Array, gradient: Array, ahead: Array
) -> None:
    """Add the step just made; the direction is taken over. One without curvature tells nothing and is left out."""
    if len(past) == past.maxlen:
        past.popleft()  # before the next is made: one pair less is held
    direction *= length
    change = np.empty_like(direction)
    np.subtract(ahead, gradient, out=change, casting="same_kind")
    curvature, square = _dot(direction, change), _dot(change, change)
    if curvature > np.finfo(np.float32).eps * square:
        past.append(Pair(direction, change, curvature, square))


def _search(
    evaluate: Evaluate, point: Array, direction: Array, line: _Line, ahead: Array, trusted: bool
) -> tuple[float, float] | None:
    """Move ``point`` along a line until the Wolfe conditions hold; return cost and length, or None and the old point.

    ``ahead`` is filled with the gradient. The full step is tried first where past steps scaled the direction.
    """
    length = 1.0 if trusted else 1.0 / max(np.sqrt(_dot(direction, direction)), 1.0)
    low, high, at, good = 0.0, np.inf, 0.0, None
    for _ in range(TRIES if line.slope < 0 else 0):
        _add(point, length - at, direction)
        at, cost = length, evaluate(point, ahead)
        if not cost <= line.cost + DECREASE * length * line.slope:
            high = length
            bend = cost - line.cost - length * line.slope
            least = -line.slope * length**2 / (2 * bend) if np.isfinite(bend) and bend > 0 else 0.0
            length = min(max(least, low + 0.1 * (high - low)), low + 0.5 * (high - low))
            continue
        good, slope = (cost, length), _dot(ahead, direction)
        if slope >= CURVATURE * line.slope:
            return good
        low = length
        further = length * line.slope / (line.slope - slope) if slope > line.slope else np.inf
        length = (
            min(max(further, 2 * length), 10 * length) if high == np.inf else 0.5 * (low + high)
        )
    if good is None:
        _add(point, -at, direction)
        return None
    _add(point, good[1] - at, direction)
    return evaluate(point, ahead), good[1]


def _dot(one: Array, other: Array) -> float:
    """Inner product in double precision, of vectors of any precision."""
    spans = range(0, one.size, SPAN)
    return float(
        sum(
            np.dot(one[a : a + SPAN].astype(float), other[a : a + SPAN].astype(float))
            for a in spans
        )
    )


def _add(total: Array, scale: float, vector: Array) -> None:
    """``total += scale * vector`` in place."""
    for a in range(0, total.size, SPAN):
        total[a : a + SPAN] += scale * vector[a : a + SPAN]
