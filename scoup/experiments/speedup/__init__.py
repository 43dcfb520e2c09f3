"""Speedup: cost against time, every contender in one process, alone on the machine.

Contenders take turns: each is timed once per round, so that a busy moment of the machine meets all
of them, and ratios are those of one round. A round has its own samples and starts.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from scoup.datasets import Traits
from scoup.experiments._view import View
from scoup.specs import Count, ExperimentSpec, Factors, FinishName

CAPTIONS = {
    "speedup": "Cost against time, both relative to the reference ALS, for each sampling factor, "
    "finish and number of workers.",
    "pinv": "Time of the pseudoinverse of the stacked matrix over that by the lemma, and over "
    "itself in a second timing, for each number of rows and components.",
}
VIEW = View(
    steps="round",
    sort="seconds",
    where="metrics.seconds > 0",
    scatter=("seconds", "relative_cost"),
)
# The job takes every core, so that nothing runs next to it.
EXCLUSIVE = True
# Up to here the printed algorithm, which makes everything dense, takes seconds.
MAX_REFERENCE_CELLS = 5_000_000


class Spec(ExperimentSpec):
    """Settings of the experiment."""

    plan: str = Field("scoup", description="plan whose rank, weights and shared fraction are used")
    sampling: list[Factors] = Field(min_length=1, description="sampling factors to time")
    repetitions: Count = Field(4, description="repetitions of each sampled fit")
    finishes: list[FinishName] = Field(
        ["none", "refit", "complete"], min_length=1, description="finishes to time"
    )
    workers: list[Count] = Field([1, 2, 4], min_length=1, description="numbers of workers to time")
    sweeps: Count = Field(20, description="sweeps of the full fits, the same for all of them")
    rounds: Count = Field(
        3, description="rounds, in each of which every contender is timed once; the median counts"
    )
    pinv_ranks: list[Count] = Field(
        [1, 5, 10], description="numbers of columns at which the pseudoinverse alone is timed"
    )
    pinv_rows: list[Count] = Field(
        [10, 100, 1000, 10000, 100000],
        description="numbers of rows of its first factor and of its matrix",
    )


def suits(traits: Traits) -> str:
    """Refuse missing cells, which the reference cannot take."""
    return (
        "the printed algorithm, with which it compares, knows no missing cells"
        if traits.missing
        else ""
    )


def suits_data(facts: Mapping[str, Any], traits: Traits) -> str:
    """Refuse a tensor that is too large for the reference."""
    del traits
    if facts["tensor"]["cells"] > MAX_REFERENCE_CELLS:
        return "the printed algorithm makes the tensor dense, which takes too long here"
    return ""


def suggest(facts: Mapping[str, Any], traits: Traits) -> dict[str, Any]:
    """Return settings for user-supplied data: one sampling, and short fits."""
    del traits
    sampling = [facts["advice"]["sampling"]]
    return {"sampling": sampling, "workers": [1, 2], "sweeps": 10, "rounds": 1, "seeds": 1}
