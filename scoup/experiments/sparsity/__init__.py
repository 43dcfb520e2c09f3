"""Sparsity: how many fewer numbers a sampled model needs, and what that costs."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from scoup.datasets import Traits
from scoup.experiments._view import View
from scoup.specs import ExperimentSpec, FinishName, Positive

CAPTIONS = {
    "sparsity": "Cost against output size, both relative to full ALS: fewer and fewer indices "
    "kept, small entries pruned, and full ALS with its smallest entries set to zero."
}
VIEW = View(sort="relative_cost", scatter=("relative_output_size", "relative_cost"))


class Spec(ExperimentSpec):
    """Settings of the experiment."""

    plans: list[str] = Field(min_length=1, description="plans that keep fewer and fewer indices")
    baseline: str = Field("full", description="plan that sizes and costs are compared with")
    finishes: list[FinishName] = Field(
        ["none", "refit", "prune"], min_length=1, description="finishes to compare"
    )
    rises: list[Positive] = Field(
        [0.005, 0.1], min_length=1, description="rises of the cost that finish prune may cause"
    )


def suits(traits: Traits) -> str:
    """Return nothing: any data will do."""
    del traits
    return ""


def suggest(facts: Mapping[str, Any], traits: Traits) -> dict[str, Any]:
    """Return settings for user-supplied data: two plans."""
    del facts, traits
    return {"plans": ["sparse2", "sparse5"], "seeds": 1}
