"""Report: one file that opens without a network, and the pages in it."""

import html
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import Any

from scoup.evidence import VERDICTS, Metric, controls_text
from scoup.records import Provenance
from scoup.report.document import (
    Section,
    Table,
    downloads,
    experiment_page,
    harmless,
    inline,
    page,
    render,
)

__all__ = [
    "Chapter", "Document", "Figure", "Findings", "Section", "Table", "downloads", "experiment_page",
    "harmless", "inline", "numbers", "page", "provenance", "render", "whole",
]  # fmt: skip

Claims = Sequence[Mapping[str, Any]]
SOURCES = {
    "simulate": "simulated stand-in for",
    "download": "downloaded",
    "cache": "cached copy of",
    "local": "local copy of",
}
CLAIM_FIELDS = (
    "experiment", "claim", "setting", "verdict", "ours", "unit", "paper", "controls", "low", "high",
    "runs", "provenance", "note",
)  # fmt: skip
HEADS = {"ours": "here (median)", "provenance": "data", "controls": "null or control"}


@dataclass(frozen=True)
class Figure:
    """A figure of the report: its caption, and the content of its SVG file."""

    caption: str
    content: bytes


@dataclass(frozen=True)
class Document:
    """A whole page that the report shows in a frame."""

    title: str
    content: str


@dataclass(frozen=True)
class Findings:
    """What an experiment found in one user-supplied data set."""

    experiment: str
    dataset: str
    section: Section


@dataclass(frozen=True)
class Chapter:
    """What the report says of one experiment."""

    name: str
    text: str
    figures: Sequence[Figure] = ()
    documents: Sequence[Document] = ()

    @property
    def title(self) -> str:
        """The name as a heading."""
        return self.name.replace("_", " ")


def whole(
    claims: Claims,
    chapters: Sequence[Chapter],
    origins: Mapping[str, Provenance],
    methods: str,
    code: str,
    left_out: Sequence[str] = (),
    *,
    found: Sequence[Findings] = (),
    links: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Return the report: findings, scorecard, one chapter per experiment, provenance and methods.

    What was ``found`` in user-supplied data comes first; without claims there is no scorecard.
    ``links`` are files next to the report by what they are. Pages are shown in frames, each with
    its own script. Every text is escaped by the template.
    """
    verdicts = Counter(claim["verdict"] for claim in claims)
    return render(
        "report.html",
        marks={origin.mark for origin in origins.values()},
        scorecard=_claims_table(claims),
        verdicts=[f"{verdict}: {verdicts[verdict]}" for verdict in VERDICTS],
        left_out=[html.unescape(sentence) for sentence in left_out],
        chapters=chapters,
        openings=_openings(chapters, found),
        links=links or {},
        origins={name: _origin(origin) for name, origin in origins.items()},
        files=Document("every raw file", provenance(origins)),
        methods=methods,
        code=code,
    )


def _openings(
    chapters: Sequence[Chapter], found: Sequence[Findings]
) -> list[tuple[Chapter, list[Findings]]]:
    """Return the chapters that have findings, each with them."""
    pairs = [
        (chapter, [entry for entry in found if entry.experiment == chapter.name])
        for chapter in chapters
    ]
    return [(chapter, entries) for chapter, entries in pairs if entries]


def _claims_table(claims: Claims) -> Table:
    rows = [
        [claim[field] if field != "controls" else controls_text(claim) for field in CLAIM_FIELDS]
        for claim in claims
    ]
    return Table([HEADS.get(field, field) for field in CLAIM_FIELDS], rows)


def numbers(experiment: str, metrics: Iterable[Metric]) -> str:
    """Return the page with every number of one experiment: median and quartiles over seeds."""
    chosen = [metric for metric in metrics if metric.experiment == experiment]
    coordinates = list(dict.fromkeys(name for metric in chosen for name in metric.at))
    columns = [
        "measure", "data set", "variant", "plan", *coordinates, "median", "low", "high", "seeds",
        "unit", "better", "data", "meaning",
    ]  # fmt: skip
    table = Table(columns, _rows(chosen, coordinates), "low and high are quartiles over seeds")
    marks = [metric.provenance for metric in chosen]
    return page(f"Numbers of {experiment.replace('_', ' ')}", [Section(tables=[table])], marks)


def _rows(metrics: Iterable[Metric], coordinates: Sequence[str]) -> list[list[Any]]:
    groups: dict[tuple[Any, ...], list[Metric]] = defaultdict(list)
    for metric in metrics:
        where = [metric.at.get(name, "") for name in coordinates]
        groups[(metric.name, metric.dataset, metric.variant, metric.plan, *where)].append(metric)
    return [[*key, *_summary(group)] for key, group in groups.items()]


def _summary(group: Sequence[Metric]) -> list[Any]:
    values, first = [metric.value for metric in group], group[0]
    low, median, high = (
        quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    )
    seeds = len({metric.seed for metric in group})
    better = "" if first.direction == "none" else first.direction
    return [median, low, high, seeds, first.unit, better, first.provenance, first.text]


def provenance(origins: Mapping[str, Provenance]) -> str:
    """Return the page of all raw files: where each came from, why, and its checksum."""
    columns = [
        "data set", "data", "stands for", "source", "why", "file", "bytes", "sha256", "address",
        "licence",
    ]  # fmt: skip
    rows = []
    for name, origin in origins.items():
        facts = [name, origin.mark, origin.dataset, origin.source, origin.reason]
        files = [[file.name, file.bytes, file.sha256, file.address] for file in origin.files]
        rows += [[*facts, *file, origin.licence] for file in files or [[""] * 4]]
    marks = [origin.mark for origin in origins.values()]
    return page("Provenance", [Section(tables=[Table(columns, rows)])], marks)


def _origin(origin: Provenance) -> str:
    if origin.dataset == "files":
        return f"your files, {origin.reason}: {', '.join(file.name for file in origin.files)}"
    seed = f", seed {origin.seed}" if origin.seed is not None and origin.simulated else ""
    why = f" ({origin.reason})" if origin.reason else ""
    files = f"{len(origin.files)} raw files"
    return f"{SOURCES[origin.source]} {origin.dataset}, size {origin.size}{seed}{why}; {files}"
