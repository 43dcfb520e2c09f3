"""Solvers of the coupled factorization: one module each, found by listing this folder.

A solver has one function ``solve(problem, flat, stopping) -> Solution``. ``flat`` is the list
``[*modes, *sides]`` to start from. It belongs to the solver, which replaces its items (or clears
it): at a large rank the factors are as large as sparse data, and a start that is still held doubles
them. A module may also declare:

- ``COMPRESSIBLE = True``: its updates of a long dense mode stay in the span of the data, so that
  the mode may be compressed without loss (see :mod:`scoup.compress`), not for the start alone;
- ``CONSTRAINABLE = True``: it satisfies the ``constraints`` of the problem;
- ``NEEDS_DENSE = True``: it forms dense products of the whole data, which must fit in memory and
  run on all threads.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from scoup.records import Array

Step = Callable[[float], None]


def ignore(cost: float) -> None:
    """Do nothing with the cost of a step."""
    del cost


class Stopping(NamedTuple):
    """When a solver stops, and whom it tells the cost after each step.

    >>> stopping = Stopping(max_iter=9, tol=0.1)
    >>> stopping.reason([4.0, 3.0]), stopping.reason([3.0, 2.9]), stopping.reason([0.0], floor=1e-6)
    ('', 'converged', 'exact')
    """

    max_iter: int
    tol: float
    on_step: Step = ignore

    def reason(self, costs: Sequence[float], floor: float = -1.0) -> str:
        """Say why to stop after these costs: '' to go on, below ``floor`` all is rounding."""
        if costs[-1] <= floor:
            return "exact"
        if len(costs) > 1 and costs[-2] - costs[-1] <= max(self.tol * costs[-2], floor):
            return "converged"
        return ""


class Solution(NamedTuple):
    """Where one start led: raw factors, the cost after each step, and why it stopped."""

    flat: list[Array]
    costs: list[float]
    stop: str
