"""The settings of the stages, as records that check themselves at birth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scoup.errors import ScoupError

SOLVERS = ("als", "reference", "cd", "opt")
INITS = ("parafac", "random")
MERGES = ("joint", "paper")
FINISHES = ("none", "refit", "complete")


def check_integer(name: str, value: Any, least: int) -> int:
    """Return ``value`` as a plain int of at least ``least``.

    >>> check_integer("rank", np.int64(3), 1)
    3
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ScoupError.expected(name, f"an integer of at least {least}", repr(value))
    return int(value)


def check_number(name: str, value: Any, low: float, high: float = np.inf) -> float:
    """Return ``value`` as a plain float from ``low`` to ``high``.

    >>> check_number("shared", 0.5, 0.0, 1.0)
    0.5
    """
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not number or not low <= value <= high or not np.isfinite(value):
        bounds = f"of at least {low:g}" if high == np.inf else f"from {low:g} to {high:g}"
        raise ScoupError.expected(name, f"a number {bounds}", repr(value))
    return float(value)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return ``value`` if it is one of ``choices``.

    >>> check_choice("merge", "joint", MERGES)
    'joint'
    """
    if value not in choices:
        raise ScoupError.expected(name, "one of " + ", ".join(choices), repr(value))
    return str(value)


@dataclass(frozen=True)
class FitSpec:
    """How one coupled factorization is fitted.

    >>> FitSpec(rank=0)
    Traceback (most recent call last):
    ...
    scoup.errors.ScoupError: rank: expected an integer of at least 1, got 0.
    """

    rank: int
    solver: str = "als"
    init: str = "parafac"
    max_iter: int = 200
    tol: float = 1e-7
    starts: int = 1
    compress: str | bool = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rank", check_integer("rank", self.rank, 1))
        check_choice("solver", self.solver, SOLVERS)
        check_choice("init", self.init, INITS)
        check_integer("max_iter", self.max_iter, 1)
        check_number("tol", self.tol, 0.0)
        check_integer("starts", self.starts, 1)
        if self.compress not in ("auto", True, False):
            raise ScoupError.expected("compress", "'auto', True or False", repr(self.compress))


@dataclass(frozen=True)
class SampleSpec:
    """How the indices of a repetition are drawn.

    ``sampling`` is one factor s >= 1 for every mode or one a mode (n = ceil(I / s) indices are
    kept), ``side_sampling`` the same for the columns of the matrices as ``{mode: s or list}``
    (default: the factor of the mode a matrix is coupled to), ``shared`` the fraction p common to
    all repetitions, ``rank`` the F that a sample must be able to tell apart.

    >>> SampleSpec(rank=2, sampling=(3, 86, 1)).repetitions
    4
    """

    rank: int
    sampling: Any = 2.0
    side_sampling: Any = None
    shared: float = 0.35
    repetitions: int = 4

    def __post_init__(self) -> None:
        check_integer("rank", self.rank, 1)
        check_number("shared", self.shared, 0.0, 1.0)
        check_integer("repetitions", self.repetitions, 1)
        for name, value in (("sampling", self.sampling), ("side_sampling", self.side_sampling)):
            for number in _numbers(value):
                check_number(name, number, 1.0)


def _numbers(value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, Mapping):
        return [number for item in value.values() for number in _numbers(item)]
    return [n for item in value for n in _numbers(item)] if isinstance(value, (list, tuple)) else [value]


@dataclass(frozen=True)
class MergeSpec:
    """How the repetitions become one model: ``merge`` joint or paper, ``finish`` none, refit or complete.

    >>> MergeSpec("mean")
    Traceback (most recent call last):
    ...
    scoup.errors.ScoupError: merge: expected one of joint, paper, got 'mean'.
    """

    merge: str = "joint"
    finish: str = "none"

    def __post_init__(self) -> None:
        check_choice("merge", self.merge, MERGES)
        check_choice("finish", self.finish, FINISHES)
