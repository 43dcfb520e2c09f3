"""Sparsity: how many fewer numbers a sampled model needs, and what that costs."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from scoup.datasets import Traits
from scoup.experiments._view import View
from scoup.specs import ExperimentSpec, FinishName

CAPTIONS = {
    "sparsity": "Cost against output size, both relative to full ALS, as fewer and fewer indices "
    "are kept."
}
VIEW = View(sort="relative_cost", scatter=("relative_output_size", "relative_cost"))


class Spec(ExperimentSpec):
    """Settings of the experiment."""

    plans: list[str] = Field(min_length=1, description="plans that keep fewer and fewer indices")
    baseline: str = Field("full", description="plan that sizes and costs are compared with")
    finishes: list[FinishName] = Field(
        ["none", "refit"], min_length=1, description="finishes to compare"
    )


def suits(traits: Traits) -> str:
    """Return nothing: any data will do."""
    del traits
    return ""


def suggest(facts: Mapping[str, Any], traits: Traits) -> dict[str, Any]:
    """Return settings for user-supplied data: two plans."""
    del facts, traits
    return {"plans": ["sparse2", "sparse5"], "seeds": 1}
