"""Shared: how much of each sample the repetitions have to share."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from scoup.datasets import Traits
from scoup.specs import ExperimentSpec

CAPTIONS = {
    "shared": "Explained share of the merged model, and match of its repetitions, against the "
    "fraction p of each sample that all repetitions share; the paper's range is shaded."
}


class Spec(ExperimentSpec):
    """Settings of the experiment."""

    plans: list[str] = Field(
        min_length=2, description="plans that differ in their shared fraction alone"
    )
    baseline: str = Field("full", description="plan that costs are compared with")


def suits(traits: Traits) -> str:
    """Return nothing: any data will do."""
    del traits
    return ""


def suits_data(facts: Mapping[str, Any], traits: Traits) -> str:
    """Say what ``scoup new`` cannot guess."""
    del facts, traits
    return "it compares plans that differ in 'shared' alone; write two or more to run it"
