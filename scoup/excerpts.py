"""What a run on the real excerpts found, as a small file and as a table for the pages.

    python -m scoup.excerpts build/real/results docs/real/leave_two_out.json README.md ...

reads the metrics of a run, writes the numbers of the table, and fills the pages. Without a run, the
pages are filled from the file.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scoup import store
from scoup.errors import ScoupError
from scoup.evidence import Metric, pick
from scoup.evidence.files import read_metrics
from scoup.scorecard import insert

MARKER = "real decoding"
DECISION = "cosine"
ROWS = {
    "chosen": "**coupled model, noise-normalised**",
    "ridge chosen": "ridge regression, noise-normalised",
    "chosen, perceptual": "coupled model, noise-normalised, with perceptual measures",
    "ridge chosen, perceptual": "ridge regression, noise-normalised, with perceptual measures",
    "chosen, not normalised": "coupled model, images as they are",
    "ridge": "ridge regression, published setting",
    "as printed": "the paper's procedure as printed",
    "shuffled": "coupled model, noise-normalised, answers shuffled",
    "shuffled, perceptual": "the same with perceptual measures, shuffled alike",
}
Numbers = dict[str, dict[str, dict[str, float]]]


def decoding(metrics: Sequence[Metric]) -> Numbers:
    """Return the shares of pairs decided correctly: contender, subject, then value and interval.

    Shuffled answers are a mean over shuffles, without an interval.
    """
    numbers: Numbers = {}
    for contender in ROWS:
        for subject in sorted({str(metric.at["subject"]) for metric in pick(metrics, "accuracy")}):
            at: dict[str, Any] = {
                "contender": contender, "subject": subject, "decision": DECISION,
            }  # fmt: skip
            ends = {"value": "accuracy", "low": "accuracy_low", "high": "accuracy_high"}
            shares = {
                end: round(float(np.mean([metric.value for metric in found])), 4)
                for end, name in ends.items()
                if (found := pick(metrics, name, **at))
            }
            if shares:
                numbers.setdefault(contender, {})[subject] = shares
    return numbers


def table(numbers: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """Return the shares as a Markdown table, one column per subject and their mean.

    >>> print(table({"ridge": {"P1": {"value": 0.848}, "P2": {"value": 0.525}}}))
    | | P1 | P2 | mean |
    |---|---|---|---|
    | ridge regression, published setting | .848 | .525 | .686 |
    """
    subjects = list(next(iter(numbers.values())))
    lines = [f"| | {' | '.join(subjects)} | mean |", "|---" * (len(subjects) + 2) + "|"]
    for contender, label in ROWS.items():
        if contender in numbers:
            shares = [numbers[contender][subject]["value"] for subject in subjects]
            cells = [f"{share:.3f}".lstrip("0") for share in (*shares, np.mean(shares))]
            lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(folder: str, file: str, *pages: str) -> None:
    """Keep the numbers of a run, if there is one, and write their table into the pages."""
    paths = sorted(Path(folder, "experiments", "leave_two_out").glob("*/seed*.json"))
    if paths:
        metrics = read_metrics(*paths)
        marks = {metric.provenance for metric in metrics}
        if marks != {"real"}:
            raise ScoupError.expected("results", "a run on real data", ", ".join(sorted(marks)))
        store.write_json(file, decoding(metrics))
    block = table(store.read_json(file))
    for page in pages:
        text = Path(page).read_text()
        if f"<!-- {MARKER} -->" in text:
            store.write_text(page, insert(text, MARKER, block))


if __name__ == "__main__":
    main(*sys.argv[1:])
