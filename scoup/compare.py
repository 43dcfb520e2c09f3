"""Compare two result folders, number by number: two commits, two machines, or real data against simulated.

python -m scoup.compare results other/results --html comparison.html
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from scoup import report, results, store
from scoup.errors import ScoupError
from scoup.measures import Metric

Place = tuple[Any, ...]
WORDS = ("better", "worse", "same", "other", "only first", "only second")
_ALIKE = 1e-9  # relative difference that is rounding


@dataclass(frozen=True)
class Difference:
    """One number in two folders: medians over seeds, and whether the second is better, by the measure's direction.

    ``clear`` says that both folders have several seeds and that their ranges over them do not overlap.
    """

    experiment: str
    measure: str
    where: str
    unit: str
    direction: str
    first: float | None
    second: float | None
    seeds: tuple[int, int]
    data: tuple[str, str]
    verdict: str
    clear: bool


def compare(first: Iterable[Metric], second: Iterable[Metric]) -> list[Difference]:
    """Set the metrics of two folders side by side, each place on the axes of an experiment once.

    >>> one = Metric("cost", 2.0, "", "lower", (None, None), "", "accuracy", "d", "whole", "p", 0, "real", {})
    >>> from dataclasses import replace
    >>> [found.verdict for found in compare([one], [replace(one, value=1.0)])]
    ['better']
    """
    left, right = _places(first), _places(second)
    return [
        _difference(place, left.get(place, []), right.get(place, []))
        for place in dict.fromkeys([*left, *right])
    ]


def _places(metrics: Iterable[Metric]) -> dict[Place, list[Metric]]:
    """Metrics by everything but their seed."""
    found: dict[Place, list[Metric]] = defaultdict(list)
    for metric in metrics:
        at = tuple(sorted((part, str(value)) for part, value in metric.at.items()))
        found[
            (metric.experiment, metric.name, metric.dataset, metric.variant, metric.plan, at)
        ].append(metric)
    return dict(sorted(found.items()))


def _difference(place: Place, left: Sequence[Metric], right: Sequence[Metric]) -> Difference:
    experiment, name, dataset, variant, plan, at = place
    one = (left or right)[0]
    words = [
        dataset,
        *([variant] if variant != "whole" else []),
        plan,
        *(f"{part} {value}" for part, value in at),
    ]
    a, b = ([metric.value for metric in group] for group in (left, right))
    marks = tuple(
        " and ".join(sorted({metric.provenance for metric in group})) for group in (left, right)
    )
    apart = min(len(a), len(b)) > 1 and (min(a) > max(b) or max(a) < min(b))
    middle = [median(values) if values else None for values in (a, b)]
    return Difference(
        experiment, name, ", ".join(words), one.unit, one.direction, middle[0], middle[1],
        (len(a), len(b)), (marks[0], marks[1]), _verdict(middle[0], middle[1], one.direction), apart,
    )  # fmt: skip


def _verdict(first: float | None, second: float | None, direction: str) -> str:
    if first is None or second is None:
        return "only second" if first is None else "only first"
    if abs(second - first) <= _ALIKE * max(abs(first), abs(second)):
        return "same"
    if direction == "none":
        return "other"
    return "better" if (second > first) == (direction == "higher") else "worse"


def read(folder: str | Path) -> list[Metric]:
    """Read every metrics file of a results folder."""
    paths = sorted(Path(folder, "experiments").rglob("*.json"))
    if not paths:
        hint = "name the folder that holds experiments/, such as results"
        raise ScoupError.expected(
            str(folder), "a results folder", "one without metrics files", hint
        )
    return results.read_metrics(*paths)


def table(found: Sequence[Difference]) -> str:
    """Return the comparison as text, a line a number."""
    rows = [["experiment", "measure", "where", "first", "second", "should be", "second is", ""]]
    rows += [
        [
            d.experiment,
            d.measure,
            d.where,
            _short(d.first),
            _short(d.second),
            _wish(d),
            d.verdict,
            _sure(d),
        ]
        for d in found
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([*lines, "", summary(found)]) + "\n"


def summary(found: Sequence[Difference]) -> str:
    """Count the verdicts in one sentence."""
    counts = {word: sum(d.verdict == word for d in found) for word in WORDS}
    clear = sum(d.clear for d in found if d.verdict in ("better", "worse"))
    words = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return f"{len(found)} numbers: {words}; of those better or worse {clear} are clear of the spread over seeds."


def page(found: Sequence[Difference], names: tuple[str, str]) -> str:
    """Return the comparison as a page that sorts and filters."""
    columns = [
        "experiment",
        "measure",
        "where",
        *names,
        "unit",
        "should be",
        "second is",
        "clear",
        "seeds",
        "data",
    ]
    rows = [
        [d.experiment, d.measure, d.where, _blank(d.first), _blank(d.second), d.unit, _wish(d), d.verdict, _sure(d),
         f"{d.seeds[0]}, {d.seeds[1]}", d.data[0] if d.data[0] == d.data[1] else " against ".join(d.data)]
        for d in found
    ]  # fmt: skip
    marks = [mark for d in found for marks in d.data for mark in marks.split(" and ") if mark]
    table = report.Table(columns, rows, "medians over seeds")
    section = report.Section(text=summary(found), tables=[table])
    return report.page(f"{names[0]} against {names[1]}", [section], marks)


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.5g}"


def _blank(value: float | None) -> Any:
    return "" if value is None else value


def _wish(found: Difference) -> str:
    return "" if found.direction == "none" else found.direction


def _sure(found: Difference) -> str:
    return "clear" if found.clear else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, compare, and print the table or write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m scoup.compare", description="Compare two result folders."
    )
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument(
        "--html", type=Path, help="write a page that sorts and filters here, in place of text"
    )
    parser.add_argument("--changed", action="store_true", help="leave out what is the same in both")
    asked = parser.parse_args(arguments)
    try:
        found = compare(read(asked.first), read(asked.second))
    except ScoupError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    shown = [d for d in found if d.verdict != "same"] if asked.changed else found
    if asked.html:
        store.write_text(asked.html, page(shown, (str(asked.first), str(asked.second))))
        print(f"{summary(found)} See {asked.html}")
    else:
        sys.stdout.write(table(shown))
    return 0


if __name__ == "__main__":
    sys.exit(main())
