"""How well unseen things are distinguished, next to ridge regression and chance."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from scoup.evidence import Metric, pick
from scoup.report import Section, Table

CONTENDERS = {
    "chosen": "coupled model",
    "ridge chosen": "ridge regression, same help",
    "ridge": "ridge regression",
    "shuffled": "coupled model, matrix shuffled",
}
DECISION = "cosine"


def findings(facts: Mapping[str, Any], metrics: Sequence[Metric]) -> Section:
    """Return what the top of the report says."""
    del facts
    shares = {name: _by_subject(metrics, name) for name in CONTENDERS}
    shares = {name: by_subject for name, by_subject in shares.items() if by_subject}
    means = {name: fmean(by_subject.values()) for name, by_subject in shares.items()}
    subjects = list(shares["chosen"])
    rows = [
        [CONTENDERS[name], *(by_subject[subject] for subject in subjects), means[name]]
        for name, by_subject in shares.items()
    ]
    bounds = [pick(metrics, name)[0].value for name in ("chance_low", "chance_high")]
    rivals = ", ".join(f"{CONTENDERS[name]} {share:.3f}" for name, share in means.items())
    return Section(
        f"{means['chosen']:.1%} of pairs decided correctly",
        points=[
            f"Mean over {len(subjects)} subjects: {rivals}; chance 0.5.",
            f"If pairs were independent, chance would stay between {bounds[0]:.3f} and "
            f"{bounds[1]:.3f} for one subject 19 times in 20.",
        ],
        tables=[Table(["share of pairs", *subjects, "mean"], rows)],
    )


def _by_subject(metrics: Sequence[Metric], contender: str) -> dict[str, float]:
    """Return the share of pairs decided correctly for each subject, a mean over runs."""
    runs = pick(metrics, "accuracy", contender=contender, decision=DECISION)
    subjects = dict.fromkeys(str(run.at["subject"]) for run in runs)
    return {
        subject: fmean(run.value for run in runs if str(run.at["subject"]) == subject)
        for subject in subjects
    }
