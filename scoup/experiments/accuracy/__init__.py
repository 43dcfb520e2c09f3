"""Accuracy: what each further repetition adds to the model, for every run and every merge."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from scoup.datasets import Traits
from scoup.experiments._view import View
from scoup.specs import ExperimentSpec, FinishName, MergeName

CAPTIONS = {
    "accuracy": "Cost relative to full ALS, and explained share, against the number of "
    "repetitions: every run, and the median per merge. Shares below -1 are cut off."
}
VIEW = View(steps="repetitions", where='params.finish = "none"', group=("merge",))


class Spec(ExperimentSpec):
    """Settings of the experiment."""

    plans: list[str] = Field(
        ["scoup"], min_length=1, description="plans whose repetitions are added one by one"
    )
    baseline: str = Field("full", description="plan that costs are compared with")
    merges: list[MergeName] = Field(
        ["joint", "paper", "authors"], min_length=1, description="merges to compare"
    )
    finishes: list[FinishName] = Field(
        ["none", "refit", "complete"], min_length=1, description="finishes to compare"
    )


def suits(traits: Traits) -> str:
    """Return nothing: any data will do."""
    del traits
    return ""


def suggest(facts: Mapping[str, Any], traits: Traits) -> dict[str, Any]:
    """Return settings for user-supplied data: two runs."""
    del facts, traits
    return {"plans": ["scoup"], "seeds": 2}
