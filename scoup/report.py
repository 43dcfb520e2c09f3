"""Report: pages that open without a network, each whole in one file, to be gathered in Snakemake's report.

Every page says on top what the data is; every table can be sorted by a click on its head and filtered by a word.
"""

from __future__ import annotations

import base64
import mimetypes
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from statistics import quantiles
from typing import Any

from scoup.measures import Metric
from scoup.records import Provenance

VERDICTS = {True: "yes", False: "no", None: "no number given"}
_SOURCES = {
    "simulate": "simulated stand-in for",
    "download": "downloaded",
    "cache": "from the cache:",
    "local": "own copy of",
}
BETTER = {"higher": "higher is better", "lower": "lower is better", "none": ""}

_STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; color: #1a1a1a; margin: 1rem 1.5rem 3rem; background: #fff; }
.banner { padding: .6rem .9rem; border-left: 6px solid; margin: 0 0 1rem; }
.simulated { border-color: #b00000; background: #fdecec; } .real { border-color: #00734f; background: #e8f5ef; }
.scroll { overflow-x: auto; } input.filter { padding: .3rem .5rem; margin: .4rem 0; width: 18rem; font: inherit; }
table.sortable { border-collapse: collapse; }
table.sortable caption { text-align: left; color: #555; padding: .2rem 0; }
table.sortable th { position: sticky; top: 0; background: #f1f3f5; text-align: left; }
table.sortable th button { all: unset; cursor: pointer; }
table.sortable th button:focus-visible { outline: 2px solid; }
table.sortable th button::after { content: " \\2195"; color: #888; }
table.sortable th[aria-sort=ascending] button::after { content: " \\2191"; color: #000; }
table.sortable th[aria-sort=descending] button::after { content: " \\2193"; color: #000; }
table.sortable th, table.sortable td { padding: .25rem .6rem; border-bottom: 1px solid #ddd; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
td.no { color: #b00000; font-weight: 600; } td.yes { color: #00734f; font-weight: 600; }
"""

_SCRIPT = """
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0], rows = [...body.rows];
  const value = (row, n) => row.cells[n].dataset.value ?? row.cells[n].textContent;
  const compare = (a, b) => isNaN(a) || isNaN(b) ? a.localeCompare(b) : a - b;
  heads.forEach((head, n) => head.querySelector("button").addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const full = rows.filter(row => value(row, n) !== ""), empty = rows.filter(row => value(row, n) === "");
    full.sort((a, b) => compare(value(a, n), value(b, n)));
    body.append(...(down ? full.reverse() : full), ...empty);
  }));
  const filter = table.closest("section").querySelector("input.filter");
  filter.addEventListener("input", () => {
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(filter.value.toLowerCase());
  });
}
"""


def page(title: str, body: str, marks: Iterable[str]) -> str:
    """Return a whole page: banner, heading, body, and what its tables need."""
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><link rel="icon" href="data:,"><style>{_STYLE}</style>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{banner(marks)}<h1>{escape(title)}</h1>\n'
        f"{body}\n<script>{_SCRIPT}</script></body></html>\n"
    )


def banner(marks: Iterable[str]) -> str:
    """Say what the data is: ``simulated``, ``real``, or both.

    >>> "stand-ins" in banner(["simulated"]), "stand-ins" in banner(["real"])
    (True, False)
    """
    kinds = sorted(set(marks))
    if "simulated" not in kinds:
        return '<p class="banner real">Real data.</p>\n'
    some = "Some of the data is simulated" if "real" in kinds else "All data is simulated"
    words = f"<b>{some}:</b> numbers and figures marked so come from stand-ins and say nothing about people or brains."
    return f'<p class="banner simulated">{words}</p>\n'


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """Return a table that sorts by a click on its head; numbers are shown short and sorted by their full value."""
    heads = "".join(
        f'<th scope="col"><button type="button">{escape(name)}</button></th>' for name in columns
    )
    body = "\n".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    words = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        '<section><input class="filter" type="search" aria-label="show rows with" placeholder="show rows with ...">'
        f'<div class="scroll"><table class="sortable">{words}<thead><tr>{heads}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div></section>\n"
    )


def _cell(value: Any) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f'<td class="number" data-value="{value!r}">{value:.4g}</td>'
    text = escape(str(value))
    return (
        f'<td class="{text}">{text}</td>'
        if value in VERDICTS.values() and " " not in text
        else f"<td>{text}</td>"
    )


def scorecard(claims: Sequence[Mapping[str, Any]]) -> str:
    """Return the page of the scorecard."""
    return page("Scorecard", scorecard_table(claims), [claim["provenance"] for claim in claims])


def numbers(experiment: str, metrics: Iterable[Metric]) -> str:
    """Return the page with every number of one experiment."""
    mine = [metric for metric in metrics if metric.experiment == experiment]
    return page(
        experiment.replace("_", " "), metrics_table(mine), [metric.provenance for metric in mine]
    )


def provenance(origins: Mapping[str, Provenance]) -> str:
    """Return the page of all raw files."""
    return page(
        "Provenance", provenance_table(origins), [origin.mark for origin in origins.values()]
    )


def scorecard_table(claims: Sequence[Mapping[str, Any]]) -> str:
    """Return each claim of the paper beside what was measured."""
    columns = [
        "experiment",
        "claim",
        "paper",
        "here (median)",
        "low",
        "high",
        "unit",
        "runs",
        "data",
        "holds",
    ]
    rows = [
        [c["experiment"], c["claim"], c["paper"], c["ours"], c["low"], c["high"], c["unit"], c["runs"],
         c["provenance"], VERDICTS[c["holds"]]]
        for c in claims
    ]  # fmt: skip
    return table(columns, rows, "low and high are quartiles over runs")


def metrics_table(metrics: Sequence[Metric]) -> str:
    """Return every number of an experiment: median and quartiles over seeds, with unit, direction and meaning."""
    places = list(dict.fromkeys(part for metric in metrics for part in metric.at))
    columns = [
        "measure",
        "data set",
        "variant",
        "plan",
        *places,
        "median",
        "low",
        "high",
        "seeds",
        "unit",
        "better",
    ]
    return table(
        [*columns, "data", "meaning"],
        _rows(metrics, places),
        "low and high are quartiles over seeds",
    )


def _rows(metrics: Iterable[Metric], places: Sequence[str]) -> list[list[Any]]:
    groups: dict[tuple[Any, ...], list[Metric]] = defaultdict(list)
    for metric in metrics:
        where = tuple(metric.at.get(part, "") for part in places)
        groups[(metric.name, metric.dataset, metric.variant, metric.plan, *where)].append(metric)
    rows = []
    for place, group in groups.items():
        one, seeds = group[0], len({metric.seed for metric in group})
        low, middle, high = _quartiles([metric.value for metric in group])
        rows.append(
            [
                *place,
                middle,
                low,
                high,
                seeds,
                one.unit,
                BETTER[one.direction],
                one.provenance,
                one.text,
            ]
        )
    return rows


def _quartiles(values: Sequence[float]) -> list[float]:
    return quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3


def provenance_table(origins: Mapping[str, Provenance]) -> str:
    """Return every raw file of every data set, with where it came from, why, and its checksum."""
    columns = [
        "data set",
        "data",
        "stands for",
        "source",
        "why",
        "file",
        "bytes",
        "sha256",
        "address",
        "licence",
    ]
    rows = []
    for name, origin in origins.items():
        facts = [name, origin.mark, origin.dataset, origin.source, origin.reason]
        for file in origin.files:
            rows.append([*facts, file.name, file.bytes, file.sha256, file.address, origin.licence])
        if not origin.files:
            rows.append([*facts, "", "", "", "", origin.licence])
    return table(columns, rows)


def front(
    methods: str,
    claims: Sequence[Mapping[str, Any]],
    origins: Mapping[str, Provenance],
    code: str,
    left_out: Sequence[str] = (),
) -> str:
    """Return the front page as reStructuredText: banner, scorecard, what was left out and why, methods, provenance."""
    top = f"<style>{_FRONT}</style>" + banner(origin.mark for origin in origins.values())
    held = [claim["holds"] for claim in claims if claim["holds"] is not None]
    parts = [
        _raw(top), _title("Scorecard"), f"{sum(held)} of {len(held)} claims that give a number hold on this data.",
        _raw(_plain_scorecard(claims)), *map("- {}".format, left_out), _title("Methods"), methods.strip(),
        _title("Provenance"), f"Code: {code}.", *(f"- **{name}**: {_origin(one)}" for name, one in origins.items()),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


# Without the first rule the top of a long front page could not be reached: Snakemake's style centres it.
_FRONT = """
.h-screen.items-center { align-items: flex-start !important; } .prose { max-width: 68rem !important; }
.banner { padding: .6rem .9rem; border-left: 6px solid; }
.simulated { border-color: #b00000; background: #fdecec; } .real { border-color: #00734f; background: #e8f5ef; }
table.scoup { font-size: .8rem; } td.number { text-align: right; }
td.no { color: #b00000; font-weight: 600; } td.yes { color: #00734f; font-weight: 600; }
"""


def _plain_scorecard(claims: Sequence[Mapping[str, Any]]) -> str:
    """The scorecard where no script runs: the essential columns."""
    essential = [
        [c["experiment"], c["claim"], c["paper"], c["ours"], VERDICTS[c["holds"]]] for c in claims
    ]
    rows = "".join("<tr>" + "".join(map(_cell, cells)) + "</tr>" for cells in essential)
    heads = "".join(
        f"<th>{name}</th>" for name in ("experiment", "claim", "paper", "here", "holds")
    )
    return f'<table class="scoup"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'


def _origin(origin: Provenance) -> str:
    if origin.dataset == "files":
        return (
            f"files of your own, {origin.reason}: {', '.join(file.name for file in origin.files)}"
        )
    how = _SOURCES[origin.source]
    seed = f", seed {origin.seed}" if origin.seed is not None and origin.simulated else ""
    why = f" ({origin.reason})" if origin.reason else ""
    return f"{how} {origin.dataset}, size {origin.size}{seed}{why}; {len(origin.files)} raw files"


def _title(words: str) -> str:
    return f"{words}\n{'-' * len(words)}"


def _raw(html: str) -> str:
    return ".. raw:: html\n\n" + "\n".join(f"   {line}" for line in html.splitlines())


def inline(html: str, files: Mapping[str, bytes]) -> str:
    """Put the files that a page refers to by name into the page itself.

    >>> inline('<img src="a.png">', {"a.png": b"x"})
    '<img src="data:image/png;base64,eA==">'
    """

    def embed(found: re.Match[str]) -> str:
        attribute, quote, name = found.groups()
        if name not in files:
            return found.group(0)
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        saved = f" download={quote}{escape(name)}{quote}" if attribute == "href" else ""
        return f"{attribute}={quote}data:{kind};base64,{base64.b64encode(files[name]).decode()}{quote}{saved}"

    return re.sub(r"""\b(src|href)=(["'])([^"':#]+)\2""", embed, html)
