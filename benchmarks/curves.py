"""What the measurements say: when a cost is reached, how a time grows, how two times compare."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Self

import numpy as np

Curve = Sequence[Sequence[float]]


def reach(curve: Curve, target: float) -> float:
    """Seconds until the cost of a curve [(seconds, cost), ...] is at most ``target``, or infinity.

    There is no interpolation: a contender can stop after a sweep, not within one.

    >>> reach([(1.0, 9.0), (2.0, 5.0), (3.0, 4.0)], 5.0), reach([(1.0, 9.0)], 5.0)
    (2.0, inf)
    """
    return next((float(seconds) for seconds, cost in curve if cost <= target), inf)


def lowest(results: dict[str, dict[str, Any]]) -> float:
    """The lowest cost on any curve of any contender.

    >>> lowest({"a": {"curves": [[(1.0, 9.0), (2.0, 5.0)]]}, "b": {}})
    5.0
    """
    costs = [
        cost
        for result in results.values()
        for curve in result.get("curves", [])
        for _, cost in curve
    ]
    return float(min(costs))


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Fit ``seconds = c * sizes^e`` on log axes and return e.

    >>> round(exponent([1, 10, 100], [2, 20, 200]), 6)
    1.0
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def steepest(sizes: Sequence[float], seconds: Sequence[float], decades: float = 2.0) -> float:
    """The exponent over the last ``decades`` of the sizes.

    >>> round(steepest([1, 10, 100, 1000], [50, 60, 600, 6000]), 6)
    1.0
    """
    last = [k for k, size in enumerate(sizes) if size >= max(sizes) / 10**decades * (1 - 1e-9)]
    return exponent([sizes[k] for k in last], [seconds[k] for k in last])


@dataclass(frozen=True)
class Spread:
    """A median and its quartiles.

    >>> Spread.of([1.0, 2.0, 3.0])
    Spread(low=1.5, middle=2.0, high=2.5)
    """

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """Summarise numbers; some of them may be infinite."""
        ordered = np.sort(np.asarray(values, float))
        if np.isinf(ordered).any():  # interpolation between infinities gives NaN
            return cls(
                *(float(np.quantile(ordered, q, method="higher")) for q in (0.25, 0.5, 0.75))
            )
        return cls(*(float(x) for x in np.quantile(ordered, [0.25, 0.5, 0.75])))


def ratio(over: Sequence[float], under: Sequence[float]) -> Spread:
    """Return ``over / under``: median and quartiles over all pairs of runs.

    >>> ratio([4.0, 6.0, 8.0], [2.0]).middle
    3.0
    """
    return Spread.of([a / b for a in over for b in under])


@dataclass(frozen=True)
class Check:
    """A measured number and its goal; ``sign`` is ``<=`` or ``>=``.

    >>> Check("time", Spread(1.0, 2.0, 3.0), "<=", 2.5).met
    True
    """

    what: str
    got: Spread
    sign: str
    goal: float

    @property
    def met(self) -> bool:
        """Whether the median is on the right side of the goal."""
        return self.got.middle <= self.goal if self.sign == "<=" else self.got.middle >= self.goal

    @classmethod
    def single(cls, what: str, got: float, sign: str, goal: float) -> Self:
        """Return a check of a single number, such as a fitted exponent."""
        return cls(what, Spread(got, got, got), sign, goal)
