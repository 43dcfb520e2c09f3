"""Missing: how well, and how fast, a model is found when a fraction of the cells is hidden."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from scoup.datasets import Traits
from scoup.experiments._view import View
from scoup.specs import ExperimentSpec

CAPTIONS = {
    "missing": "Signal-to-noise ratio, error on the hidden cells and time against the fraction of "
    "cells that is hidden; dotted: a second start with nothing hidden."
}
VIEW = View(sort="snr", scatter=("fraction", "snr"))


class Spec(ExperimentSpec):
    """Settings of the experiment."""

    plans: list[str] = Field(
        ["weighted", "descent", "sampled"], min_length=1, description="plans to compare"
    )
    variants: list[str] = Field(
        min_length=1, description="variants to compare; one of them hides nothing"
    )


def suits(traits: Traits) -> str:
    """Return nothing: any data will do."""
    del traits
    return ""


def suggest(facts: Mapping[str, Any], traits: Traits) -> dict[str, Any]:
    """Return settings for user-supplied data: two fractions."""
    del facts, traits
    variants = ["whole", "missing20", "missing50"]
    return {"plans": ["weighted"], "variants": variants, "seeds": 1}
