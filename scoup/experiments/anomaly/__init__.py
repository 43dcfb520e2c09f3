"""Anomaly: bursts in counts of who does what to whom and when, read from components."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from scoup.datasets import Traits
from scoup.experiments._view import View
from scoup.specs import ExperimentSpec

CAPTIONS = {
    "anomaly": "The strongest component of each kind: its walls, posters and days (or whatever the "
    "three modes are).",
    "anomaly_plans": "Share of the largest stars, counted directly, that each plan finds, and "
    "precision of the table against what was planted.",
}
VIEW = View(sort="largest_found")


class Spec(ExperimentSpec):
    """Settings of the experiment."""

    plans: list[str] = Field(min_length=1, description="plans whose components are read")


def suits(traits: Traits) -> str:
    """Ask for sparse counts of three modes, all cells known."""
    if len(traits.names) != 3 or not traits.sparse:
        return "it looks for bursts in sparse counts of three modes: whom, who, when"
    return "it needs all cells, and some are missing" if traits.missing else ""


def suits_data(facts: Mapping[str, Any], traits: Traits) -> str:
    """Refuse values that are no counts."""
    del traits
    values = facts["tensor"]["values"]
    if values["least"] < 0 or not values["whole"]:
        return "it looks for bursts in counts, and the values are none"
    return ""


def suggest(facts: Mapping[str, Any], traits: Traits) -> dict[str, Any]:
    """Return settings for user-supplied data."""
    del facts, traits
    return {"plans": ["bursts", "bursts10"], "seeds": 1}
