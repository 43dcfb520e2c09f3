"""Scale: what sampling saves when the tensor stays on disk and every sweep must read it.

SCOUP and exact ALS read the same shards. How much of what ALS explains does SCOUP explain, after
how many passes over the data and in which time, and do both find planted groups of users?
"""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from scoup.datasets import Traits
from scoup.experiments._view import View
from scoup.specs import Count, ExperimentSpec, Whole

CAPTIONS = {
    "scale": "Explained share, relative to that of exact ALS, against passes over the shards; and "
    "the share of planted groups among as many users with the largest entries of a component."
}
VIEW = View(steps="passes", sort="explained_share")
# The job takes every core, so that nothing runs next to it.
EXCLUSIVE = True


class Spec(ExperimentSpec):
    """Settings of the experiment."""

    plan: str = Field("streamed", description="plan of SCOUP; its rank is that of ALS, too")
    sweeps: Count = Field(20, description="sweeps of exact ALS over the shards")
    memory_cells: Whole = Field(
        20_000_000, description="largest number of cells that are also read into memory, for ALS"
    )


def suits(traits: Traits) -> str:
    """Ask for a tensor on disk."""
    return "" if traits.on_disk else "it needs a tensor on disk, such as data of kind events"


def suits_data(facts: Mapping[str, Any], traits: Traits) -> str:
    """Refuse user-supplied data, whose groups nobody knows."""
    del facts, traits
    return "it needs data with planted groups"
