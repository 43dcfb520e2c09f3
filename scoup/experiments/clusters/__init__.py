"""Clusters: things that a component brings together, and whether they are of one category."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from scoup.datasets import Traits
from scoup.experiments._suits import why_no_images
from scoup.experiments._view import View
from scoup.specs import Count, ExperimentSpec

CAPTIONS = {
    "clusters": "Both ends of each component: things, and columns of the matrix about them; in "
    "BrainQ nouns, questions and brain images. Non-negative components, below, have one end."
}
VIEW = View(sort="purity")


class Spec(ExperimentSpec):
    """Settings of the experiment."""

    plan: str = Field("groups", description="plan of the model")
    nonnegative: str | None = Field(
        None, description="plan with non-negative factors, whose components have one end"
    )
    top: Count = Field(5, description="things and columns named at each end")
    deals: Count = Field(5000, description="random assignments of the categories, for the null")


def suits(traits: Traits) -> str:
    """Ask for dense images of things that have categories."""
    if why := why_no_images(traits):
        return why
    if not traits.categories:
        return f"it needs a column 'category' in the labels of {traits.names[traits.matrices[0]]}"
    return ""


def suggest(facts: Mapping[str, Any], traits: Traits) -> dict[str, Any]:
    """Return settings for user-supplied data."""
    del facts, traits
    return {"deals": 1000, "seeds": 1}
