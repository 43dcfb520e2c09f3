"""Coupling: what a matrix on every mode adds to a noisy tensor, and what unrelated matrices do.

The paper couples up to three matrices and shows one. Noise is added to a tensor of known factors;
how much of the tensor without noise does a model recover from it alone, with all matrices, and with
matrices whose rows were shuffled?
"""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from scoup.datasets import Traits
from scoup.experiments._view import View
from scoup.specs import ExperimentSpec, Positive

CAPTIONS = {
    "coupling": "Share of the noise-free tensor that is recovered from the noisy one alone, with "
    "all matrices, and with unrelated ones, against the noise."
}
VIEW = View(sort="explained_share", scatter=("noise", "explained_share"))
MIN_MATRICES = 2


class Spec(ExperimentSpec):
    """Settings of the experiment."""

    plans: list[str] = Field(["coupled"], min_length=1, description="plans to compare")
    noise: list[Positive] = Field(
        [0, 8, 15],
        min_length=1,
        description="standard deviations of the noise over the tensor's root mean square; the "
        "largest is judged",
    )


def suits(traits: Traits) -> str:
    """Ask for several matrices."""
    if len(traits.matrices) < MIN_MATRICES:
        return f"it needs {MIN_MATRICES} or more matrices"
    return "it needs a tensor without missing cells" if traits.missing else ""


def suits_data(facts: Mapping[str, Any], traits: Traits) -> str:
    """Refuse user-supplied data, whose noise-free tensor nobody knows."""
    del facts, traits
    return "it needs data whose factors are known"
