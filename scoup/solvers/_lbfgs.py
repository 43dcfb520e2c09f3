"""L-BFGS with little memory: on sparse data each of its vectors is as large as the data.

The point moves in place, and past steps, which only shape the next direction, are stored in single
precision; points, costs and gradients stay in double precision. Why not scipy's L-BFGS-B: on a
sparse tensor of 46,000 x 46,000 x 1,500 with 200,000 cells, a matrix of as many and rank 10
(factors of 11 MB) it peaks at 320 MB, this one at 102 MB (tracemalloc, 5 pairs, 15 steps).
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from scoup.records import Array

# Fills the gradient at a point into the second argument, and returns the cost.
Evaluate = Callable[[Array, Array], float]

# Wolfe's conditions: a step brings this share of the decrease that the slope promises, and leaves
# at most that share of the slope.
MIN_DECREASE, MAX_SLOPE_LEFT = 1e-4, 0.9
MAX_POINTS_PER_LINE = 30
# Numbers of a vector that are processed at a time, so that temporaries stay in cache.
SPAN = 1 << 15


class Limits(NamedTuple):
    """Stop after ``max_iter`` steps, or when the cost or the gradient is flat.

    The cost is flat when a step lowers it by less than ``tol`` of itself (of 1, if it is smaller).
    """

    max_iter: int
    tol: float
    flat_gradient: float = 1e-12


def minimise(
    evaluate: Evaluate,
    point: Array,
    pairs: int,
    limits: Limits,
    on_step: Callable[[float], None] = lambda cost: None,
) -> tuple[float, bool]:
    """Move ``point`` in place to a minimum; return the cost there, and whether it converged.

    >>> point = np.array([3.0, -4.0])
    >>> def bowl(at, gradient):
    ...     gradient[:] = 2 * at
    ...     return float(at @ at)
    >>> minimise(bowl, point, 5, Limits(50, 1e-12))[1], bool(np.abs(point).max() < 1e-9)
    (True, True)
    """
    gradient, ahead = np.empty_like(point), np.empty_like(point)
    cost, past = evaluate(point, gradient), deque[Pair](maxlen=pairs)
    for _ in range(limits.max_iter):
        if max(gradient.max(), -gradient.min()) <= limits.flat_gradient:
            return cost, True
        direction = descent(gradient, past)
        line = _Line(cost, _dot(gradient, direction))
        step = _search(evaluate, point, direction, line, ahead, bool(past))
        if step is None and not past:
            # No step along the gradient lowers the cost: what is left is rounding.
            return cost, True
        if step is None:
            past.clear()
            continue
        before, (cost, length) = cost, step
        _remember(past, length, direction, gradient, ahead)
        gradient, ahead = ahead, gradient
        on_step(cost)
        if before - cost <= limits.tol * max(abs(before), 1.0):
            return cost, True
    return cost, False


class Pair(NamedTuple):
    """A past step s, the change y of the gradient along it, ``s'y`` and ``y'y``."""

    step: Array
    change: Array
    curvature: float
    square: float


class _Line(NamedTuple):
    """The cost at the start of a line, and its slope there."""

    cost: float
    slope: float


def descent(gradient: Array, past: deque[Pair]) -> Array:
    """``-H g`` with H the inverse Hessian estimated from past steps, by the two-loop recursion.

    >>> pair = Pair(np.array([1.0, 0.0], np.float32), np.array([4.0, 0.0], np.float32), 4.0, 16.0)
    >>> descent(np.array([8.0, 8.0]), deque([pair])).tolist()
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
    """Add the step just made, unless it shows no curvature; overwrites ``direction``."""
    if len(past) == past.maxlen:
        past.popleft()  # before the next is made: one pair less in memory
    direction *= length
    change = np.empty_like(direction)
    np.subtract(ahead, gradient, out=change, casting="same_kind")
    curvature, square = _dot(direction, change), _dot(change, change)
    if curvature > np.finfo(np.float32).eps * square:
        past.append(Pair(direction, change, curvature, square))


def _search(
    evaluate: Evaluate, point: Array, direction: Array, line: _Line, ahead: Array, trusted: bool
) -> tuple[float, float] | None:
    """Move ``point`` along a line until Wolfe's conditions hold; return the cost and the length.

    ``ahead`` is filled with the gradient. The full step is tried first if past steps scaled the
    direction (``trusted``). Without a good step the point stays and None is returned.
    """
    length = 1.0 if trusted else 1.0 / max(np.sqrt(_dot(direction, direction)), 1.0)
    low, high, position, good = 0.0, np.inf, 0.0, None
    for _ in range(MAX_POINTS_PER_LINE if line.slope < 0 else 0):
        _add(point, length - position, direction)
        position, cost = length, evaluate(point, ahead)
        if not cost <= line.cost + MIN_DECREASE * length * line.slope:
            high = length
            bend = cost - line.cost - length * line.slope
            least = -line.slope * length**2 / (2 * bend) if np.isfinite(bend) and bend > 0 else 0.0
            length = min(max(least, low + 0.1 * (high - low)), low + 0.5 * (high - low))
            continue
        good, slope = (cost, length), _dot(ahead, direction)
        if slope >= MAX_SLOPE_LEFT * line.slope:
            return good
        low = length
        further = length * line.slope / (line.slope - slope) if slope > line.slope else np.inf
        length = (
            min(max(further, 2 * length), 10 * length) if high == np.inf else 0.5 * (low + high)
        )
    if good is None:
        _add(point, -position, direction)
        return None
    _add(point, good[1] - position, direction)
    return evaluate(point, ahead), good[1]


def _dot(left: Array, right: Array) -> float:
    """Inner product in double precision, of vectors of any precision."""
    spans = [slice(start, start + SPAN) for start in range(0, left.size, SPAN)]
    return float(sum(np.dot(left[at].astype(float), right[at].astype(float)) for at in spans))


def _add(total: Array, scale: float, vector: Array) -> None:
    """``total += scale * vector`` in place."""
    for start in range(0, total.size, SPAN):
        total[start : start + SPAN] += scale * vector[start : start + SPAN]
