"""Claims: the paper's spammer, the use of the friendships, and groups; each with its control."""

from collections.abc import Sequence

from scoup.evidence import Claim, Metric, pick
from scoup.experiments.anomaly.score import (
    COUNTING,
    DATA,
    DEPTHS,
    FRIENDS,
    GROUPS_FOUND,
    MATRIX_GAIN,
    RECALL,
    REWIRED,
    SHUFFLED,
    SHUFFLED_LINKS,
    STRANGERS,
)

FIRST = max(DEPTHS)
MIN_STARS_FOUND = 0.5  # of the largest stars: the paper shows one, and gives no number
MIN_PLANTED_FOUND = 0.5
MIN_MATRIX_GAIN = 0.05
MIN_SILENT_FRIENDS = 0.01  # some fifty times the share among any two users
PAPER_PLAN = "walls_paper"
SETTINGS = {
    PAPER_PLAN: "as in the paper: users and days sampled, with friendships",
    "walls_coupled": "friendships at 0.1 % of the balanced weight, nothing sampled",
    "walls_even": "tensor alone, nothing sampled",
}


def claims(metrics: Sequence[Metric]) -> list[Claim]:
    """Judge what the plans find; counting, exchanged posts and shuffled matrices are controls."""
    return [
        *_largest_stars(metrics),
        *_planted_stars(metrics),
        *_matrix(metrics),
        *_groups(metrics),
    ]


def _largest_stars(metrics: Sequence[Metric]) -> list[Claim]:
    """Judge the paper's finding, one star, on each plan with a setting; counting does it, too."""
    judged = []
    for plan, setting in SETTINGS.items():
        runs = pick(metrics, RECALL.name, plan=plan, k=FIRST, truth="counted")
        counting = pick(metrics, RECALL.name, plan=COUNTING, k=FIRST, truth="counted")
        if runs:
            judged.append(
                Claim.of(
                    f"the largest one-day stars are within the first {FIRST} entries",
                    runs,
                    setting=setting,
                    paper="one shown",
                    unit="share",
                    bar=MIN_STARS_FOUND,
                    controls={COUNTING: counting},
                    note="counting finds all of them by definition",
                )
            )
    return judged


def _planted_stars(metrics: Sequence[Metric]) -> list[Claim]:
    """Judge stars that are not always the largest; the best single plan stands for the method."""
    runs = pick(metrics, RECALL.name, plan="walls_coupled", k=FIRST, truth="planted")
    counting = pick(metrics, RECALL.name, plan=COUNTING, k=FIRST, truth="planted")
    if not runs:
        return []
    return [
        Claim.of(
            f"planted stars are within the first {FIRST} entries",
            runs,
            setting=SETTINGS["walls_coupled"],
            paper="-",
            unit="share",
            bar=MIN_PLANTED_FOUND,
            controls={COUNTING: counting},
        )
    ]


def _matrix(metrics: Sequence[Metric]) -> list[Claim]:
    runs = pick(metrics, MATRIX_GAIN.name, control=DATA)
    if not runs:
        return []
    return [
        Claim.of(
            f"friendships help to find the largest stars, first {FIRST} entries",
            runs,
            setting=f"plan {runs[0].plan}, minus the same without the matrix",
            paper="-",
            unit="share",
            bar=MIN_MATRIX_GAIN,
            controls={SHUFFLED_LINKS: pick(metrics, MATRIX_GAIN.name, control=SHUFFLED_LINKS)},
        )
    ]


def _groups(metrics: Sequence[Metric]) -> list[Claim]:
    """Judge what counting does not show: who acts together, and when."""
    judged = []
    setting = "posts pooled over 28 days, tensor alone, nothing sampled"
    if found := pick(metrics, GROUPS_FOUND.name, control=DATA):
        judged.append(
            Claim.of(
                "planted groups are found: members and time",
                found,
                setting=setting,
                paper="-",
                unit="share",
                bar=MIN_PLANTED_FOUND,
                controls=_controls(metrics, GROUPS_FOUND.name, (COUNTING, REWIRED, SHUFFLED)),
            )
        )
    if friends := pick(metrics, FRIENDS.name, control=DATA):
        judged.append(
            Claim.of(
                "members of a group who never write to each other are friends",
                friends,
                setting=setting,
                paper="-",
                unit="share",
                bar=MIN_SILENT_FRIENDS,
                controls=_controls(metrics, FRIENDS.name, (REWIRED, STRANGERS)),
                note="friendships are not used to find the groups",
            )
        )
    return judged


def _controls(
    metrics: Sequence[Metric], measure: str, names: Sequence[str]
) -> dict[str, list[Metric]]:
    """Return the runs of each control; none of rewired posts, which may show no group at all."""
    return {name: pick(metrics, measure, control=name) for name in names}
