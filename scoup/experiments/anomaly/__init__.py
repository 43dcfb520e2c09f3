"""Anomaly: bursts and groups in counts of who does what to whom and when."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, model_validator

from scoup.datasets import Traits
from scoup.experiments._view import View
from scoup.specs import ExperimentSpec

CAPTIONS = {
    "anomaly": "The strongest component of each kind: its walls, posters and days (or whatever the "
    "three modes are).",
    "anomaly_plans": "Stars among the first k entries of the table of each plan, compared with "
    "counting partners per user and day. Precision is against the k largest stars counted, and "
    "against the planted ones where there are some.",
    "anomaly_groups": "Groups of users who write on each other's walls, compared with what appears "
    "by chance, and how the largest ones grow and fade.",
}
VIEW = View(sort="found_within")


class Spec(ExperimentSpec):
    """Settings of the experiment."""

    plans: list[str] = Field(min_length=1, description="plans whose components are read")
    coupled: str | None = Field(
        None, description="plan with matrices, which is also run with their rows shuffled"
    )
    single: str | None = Field(
        None, description="plan that differs from `coupled` in having no matrices"
    )
    group_rank: int = Field(25, ge=1, description="components that are searched for groups")
    slice_days: int = Field(28, ge=1, description="days that are pooled for groups")

    @model_validator(mode="after")
    def _check_plans(self) -> Self:
        for key in ("coupled", "single"):
            plan = getattr(self, key)
            if plan is not None and plan not in self.plans:
                raise ValueError(f"{key}: expected one of {self.plans}, got {plan!r}.")
        return self


def parts(spec: Spec) -> list[str]:
    """Return the jobs: one per control."""
    return ["rewired", "shuffled", *(["links"] if spec.coupled else [])]


def suits(traits: Traits) -> str:
    """Ask for sparse counts of three modes, all cells known."""
    if len(traits.names) != 3 or not traits.sparse:
        return "it looks for bursts in sparse counts of three modes: whom, who, when"
    if traits.on_disk:
        return "it counts in memory, and the tensor stays on disk"
    if traits.missing:
        return "it needs all cells, and some are missing"
    times = traits.modes_with("when")
    if not times:
        return (
            f"it needs a mode of time, and {', '.join(traits.names)} are not known as such: the "
            "role 'when' says which is"
        )
    return f"it needs one mode of time, and {' and '.join(times)} are" if len(times) > 1 else ""


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
    return {"plans": ["bursts", "bursts10"], "coupled": None, "single": None, "seeds": 1}
