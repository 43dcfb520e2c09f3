"""Leave-two-out: which of two unseen images shows which of two things, decided from the matrix.

Both things leave the tensor and the matrix; means, spreads, weights and the choice of rank, weight
and rule come from the other things alone.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, Strict

from scoup.datasets import Traits
from scoup.experiments._suits import SUBJECT, why_no_images
from scoup.experiments._view import View
from scoup.specs import AboveZero, Count, ExperimentSpec, Positive, Whole

CAPTIONS = {
    "leave_two_out": "Share of pairs (of nouns, in BrainQ) decided correctly for each subject, "
    "compared with chance, a shuffled matrix and ridge regression on the matrix; bars are 95 % "
    "intervals with things resampled, since pairs that share a thing are not independent."
}
VIEW = View(
    shared=("chance_low", "chance_high"),
    sort="accuracy",
    where='params.contender = "chosen" and metrics.accuracy > 0',
)
MIN_THINGS = 8  # of which two are left out, and half of the others in the nested choice
PERCEPTUAL = ", perceptual"  # ends the names of contenders that have the perceptual measures, too
MAX_WORK = 1e10  # pairs times squared images: some ten minutes on one core


class Spec(ExperimentSpec):
    """Settings of the experiment."""

    plan: str = Field("pairs", description="plan of the named pairs")
    pairs: list[Annotated[list[str], Field(min_length=2, max_length=2)]] = Field(
        [], description="pairs to run by name"
    )
    runs: Count = Field(100, description="runs of SCOUP for each named pair")
    pair_weights: list[Literal["paper"] | Positive] = Field(
        ["paper", 100],
        min_length=1,
        description="weights of the matrix for the named pairs; paper: data as it is",
    )
    ranks: list[Count] = Field(
        [2, 3, 5, 10], min_length=1, description="candidate ranks; each fold chooses in training"
    )
    weights: list[Positive] = Field(
        [1, 10, 100], min_length=1, description="candidate weights of the matrix"
    )
    ridges: list[Positive] = Field(
        [0.1, 1], min_length=1, description="candidate ridges of the projection"
    )
    noise: Literal["none", "shrunk"] = Field(
        "shrunk",
        description="shrunk: images weighed by their noise in training; none: images as they are",
    )
    strengths: list[AboveZero] = Field(
        [0.1],
        min_length=1,
        description="candidate shrinkages of the noise; a small one discounts noisy directions",
    )
    best: Count = Field(5, description="best candidates in training, whose decisions are averaged")
    groups: Annotated[int, Strict(), Field(ge=4)] = Field(
        12, description="groups of things for the nested choice"
    )
    sweeps: Count = Field(10, description="sweeps of each fold's fit")
    alpha: AboveZero = Field(
        200, description="penalty of ridge regression, the rival, and of what predicts the noise"
    )
    alphas: list[AboveZero] = Field(
        [60, 200, 600, 2000],
        min_length=1,
        description="candidate penalties of the rival that gets the same help",
    )
    shuffles: Whole = Field(20, description="controls with shuffled answers, on some pairs each")
    perceptual: list[AboveZero] = Field(
        [],
        description="candidate weights of a perceptual measure (BrainQ), relative to a question, "
        "for a further contender whose second matrix they are; empty: none",
    )
    stable: Whole = Field(0, description="voxels selected in each fold by stability; 0: all")
    parts: Count = Field(2, description="jobs that share all pairs")

    @property
    def ways(self) -> list[tuple[str, float]]:
        """Rules of prediction with their ridge: least squares for each ridge, and the paper's."""
        return [*(("least_squares", float(ridge)) for ridge in self.ridges), ("paper", 0.0)]

    @property
    def noise_strengths(self) -> list[float | None]:
        """Strengths of the noise to try; None: images as they are."""
        return [None] if self.noise == "none" else list(self.strengths)

    @property
    def candidates(self) -> list[dict[str, int | float | str]]:
        """Strength, weight, rank, rule and ridge of each candidate, in the order of all tables."""
        return [
            {
                "strength": "none" if strength is None else strength,
                "weight": weight, "rank": rank, "rule": rule, "ridge": ridge,
            }
            for strength in self.noise_strengths
            for weight in self.weights
            for rank in self.ranks
            for rule, ridge in self.ways
        ]  # fmt: skip


def parts(spec: Spec) -> list[str]:
    """Return the jobs: shares of all pairs, and each named pair."""
    return [
        *(f"folds{number}" for number in range(spec.parts)),
        *(f"pair{number}" for number in range(len(spec.pairs))),
    ]


def suits(traits: Traits) -> str:
    """Ask for dense images of things, of several subjects."""
    if why := why_no_images(traits):
        return why
    subjects = traits.modes_with(SUBJECT)
    if not subjects:
        return f"it needs a mode of subjects, and {', '.join(traits.names)} are not known as such"
    if len(subjects) > 1:
        return f"it needs one mode of subjects, and {' and '.join(subjects)} are"
    if traits.names[traits.matrices[0]] in subjects:
        return f"it needs the matrix on another mode than {subjects[0]}, the subjects"
    return ""


def suits_data(facts: Mapping[str, Any], traits: Traits) -> str:
    """Refuse too few things to choose anything by, and too many for all pairs of them."""
    shape = facts["tensor"]["shape"]
    things, subjects = shape[traits.matrices[0]], shape[traits.roles.index(SUBJECT)]
    if things < MIN_THINGS:
        return f"it needs {MIN_THINGS} things to tell apart or more, and there are {things}"
    if things**4 * subjects**2 / 2 > MAX_WORK:
        return f"all pairs of {things} things would take hours"
    return ""


def suggest(facts: Mapping[str, Any], traits: Traits) -> dict[str, Any]:
    """Return settings for user-supplied data: few controls, and ranks that the things left in
    training can bear.

    The nested choice leaves out three groups.
    """
    things = facts["tensor"]["shape"][traits.matrices[0]]
    groups = 6 if things >= 18 else 4
    largest = max(2, (things - 3 * -(-things // groups)) // 2)
    ranks = [rank for rank in (2, 3, 5, 10) if rank <= largest]
    return {"pairs": [], "shuffles": 2, "groups": groups, "ranks": ranks}
