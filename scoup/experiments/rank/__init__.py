"""Rank: how many components the data supports, by four signs at every rank, and what they show."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, Strict

from scoup.datasets import Traits
from scoup.experiments._view import View
from scoup.specs import Count, ExperimentSpec

CAPTIONS = {
    "rank": "How each rank fits, predicts hidden cells, is recovered by another fit and agrees "
    "with a diagonal core; dashed: the recommended rank, with the reasons above."
}
VIEW = View(steps="rank")
# Two components cancel each other if their triple cosine is at most this.
DEGENERATE_COSINE = -0.85

HiddenShare = Annotated[float, Strict(), Field(ge=0.01, le=0.5)]
FoldCount = Annotated[int, Strict(), Field(ge=2)]


class Spec(ExperimentSpec):
    """Settings of the experiment."""

    plan: str = Field(
        "weighted", description="plan whose weights and fit settings are used at every rank"
    )
    nonnegative: str | None = Field(
        None, description="plan with non-negative factors, drawn next to it: fit and starts"
    )
    ranks: list[Count] = Field(
        [1, 2, 3, 4, 5, 6, 7, 8], min_length=2, description="ranks to look at"
    )
    hidden: HiddenShare = Field(0.1, description="share of cells that a fold hides")
    folds: FoldCount = Field(5, description="folds, each with other cells hidden")
    starts: Count = Field(3, description="fits to everything: do they end in the same components?")
    halves: Count = Field(
        3, description="splits of the longest mode in two: do both halves show the same components?"
    )
    top: Count = Field(5, description="labels named per mode of a component")


def suits(traits: Traits) -> str:
    """Return nothing: any data will do."""
    del traits
    return ""


def suggest(facts: Mapping[str, Any], traits: Traits) -> dict[str, Any]:
    """Return settings for user-supplied data: ranks that it can bear, and fewer fits."""
    del traits
    largest = min(6, sorted(facts["tensor"]["shape"])[-2])
    return {"ranks": list(range(1, largest + 1)), "folds": 3, "starts": 2, "halves": 2}
