"""Report: pages, each whole in one file without a network, for Snakemake to gather."""

import html
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import quantiles
from typing import Any

from scoup.measures import Metric
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
    "Section", "Table", "chapters", "downloads", "experiment_page", "front", "harmless", "inline",
    "numbers", "page", "provenance", "render", "scorecard",
]  # fmt: skip

Claims = Sequence[Mapping[str, Any]]
SOURCES = {
    "simulate": "simulated stand-in for",
    "download": "downloaded",
    "cache": "cached copy of",
    "local": "local copy of",
}
# Fields of a claim on the front page and in the scorecard, and the heads of columns that differ.
FRONT_FIELDS = ("experiment", "claim", "paper", "ours", "holds")
CLAIM_FIELDS = (*FRONT_FIELDS[:4], "low", "high", "unit", "runs", "provenance", "holds")
HEADS = {"ours": "here (median)", "provenance": "data"}


def chapters(experiments: Iterable[str]) -> dict[str, str]:
    """Return the headings of the report, which Snakemake sorts by name.

    >>> chapters(["accuracy", "leave_two_out"])["leave_two_out"]
    '2 leave two out'
    >>> list(chapters(f"e{n}" for n in range(9)).values())[::5]
    ['00 scorecard', '05 e4', '10 provenance']
    """
    names = ["scorecard", *experiments, "provenance"]
    width = len(str(len(names) - 1))
    return {name: f"{n:0{width}} {name.replace('_', ' ')}" for n, name in enumerate(names)}


def scorecard(claims: Claims) -> str:
    """Return the page that compares each claim of the paper with what was measured."""
    table = _claims_table(claims, CLAIM_FIELDS, "low and high are quartiles over runs")
    return page("Scorecard", [Section(tables=[table])], [claim["provenance"] for claim in claims])


def _claims_table(claims: Claims, fields: Sequence[str], caption: str = "") -> Table:
    rows = [["no number given" if c[f] is None else c[f] for f in fields] for c in claims]
    return Table([HEADS.get(field, field) for field in fields], rows, caption)


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


def front(
    methods: str,
    claims: Claims,
    origins: Mapping[str, Provenance],
    code: str,
    left_out: Iterable[str] = (),
) -> str:
    """Return the front page: banner, scorecard, what was left out and why, provenance, methods.

    Snakemake renders it as Jinja2 and then as reStructuredText. Only ``methods``, our own text, is
    written in these; the rest is HTML with escaped braces, which neither looks into. Sentences of
    ``left_out`` may have passed :func:`harmless`.
    """
    verdicts = [claim["holds"] for claim in claims if claim["holds"] is not None]
    body = render(
        "front.html",
        marks={origin.mark for origin in origins.values()},
        scorecard=_claims_table(claims, FRONT_FIELDS),
        held=sum(verdicts),
        judged=len(verdicts),
        left_out=[html.unescape(sentence) for sentence in left_out],
        origins={name: _origin(origin) for name, origin in origins.items()},
        code=code,
    )
    inert = body.replace("{", "&#123;").replace("}", "&#125;")
    return "\n\n".join([_raw(render("style.html")), _raw(inert), methods.strip()]) + "\n"


def _origin(origin: Provenance) -> str:
    if origin.dataset == "files":
        return f"your files, {origin.reason}: {', '.join(file.name for file in origin.files)}"
    seed = f", seed {origin.seed}" if origin.seed is not None and origin.simulated else ""
    why = f" ({origin.reason})" if origin.reason else ""
    files = f"{len(origin.files)} raw files"
    return f"{SOURCES[origin.source]} {origin.dataset}, size {origin.size}{seed}{why}; {files}"


def _raw(text: str) -> str:
    return ".. raw:: html\n\n" + "\n".join(f"   {line}" for line in text.splitlines())
