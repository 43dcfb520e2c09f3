"""HTML pages from records: escaped by Jinja2, each whole in one file, with sortable tables."""

import base64
import csv
import html
import io
import json
import mimetypes
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from scoup import palette
from scoup.extras import extra

Records = Sequence[Mapping[str, Any]]
# Where a spreadsheet would see a formula.
FORMULA = re.compile(r"[=@\t\r]|[+-](?![\d.]+$)")


@dataclass(frozen=True)
class Table:
    """A table of text, truth values and numbers, shown short and sorted by their full value."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str = ""

    @classmethod
    def of(cls, records: Records) -> "Table":
        """Return a table of records that have the same keys."""
        return cls(list(records[0]) if records else [], [list(r.values()) for r in records])


@dataclass(frozen=True)
class Section:
    """Part of a page, in this order; ``files`` are files next to it, ``picture`` is a PNG."""

    heading: str = ""
    warning: str = ""
    points: Sequence[str] = ()
    text: str = ""
    picture: bytes = b""
    files: Sequence[str] = ()
    tables: Sequence[Table] = ()


def page(title: str, sections: Iterable[Section], marks: Iterable[str], lead: str = "") -> str:
    """Return a whole page that says on top whether its data is ``simulated``, ``real`` or both.

    >>> "All data is simulated" in page("1 < 2", [Section(text="<b>")], ["simulated"])
    True
    """
    return render("page.html", title=title, sections=list(sections), marks=set(marks), lead=lead)


def experiment_page(title: str, sections: Iterable[Section], facts: Mapping[str, Any]) -> bytes:
    """Return the page of one data set and seed of an experiment, whose ``facts`` name them."""
    lead = f"Data set {facts['dataset']} ({facts['provenance']} data), seed {facts['seed']}."
    return page(title, sections, [facts["provenance"]], lead).encode()


def render(template: str, **context: Any) -> str:
    """Fill in a template of this package; whatever ``context`` holds is shown as typed."""
    return _plain(_environment().get_template(template).render(context))


def _plain(text: str) -> str:
    """Return text that can be written: names of files may hold bytes that are no text."""
    return text.encode(errors="backslashreplace").decode()


@cache
def _environment() -> Any:
    with extra("workflow"):
        from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("scoup.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["palette"] = palette
    environment.filters["base64"] = _base64
    return environment


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def inline(page: str, files: Mapping[str, bytes]) -> str:
    """Put the files that a page links by name into the page.

    >>> inline('<a href="a.csv" download>', {"a.csv": b"x"})
    '<a href="data:text/csv;base64,eA==" download="a.csv">'
    """

    def embed(link: re.Match[str]) -> str:
        name = html.unescape(link[1])
        if name not in files:
            return link[0]
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        return f'<a href="data:{kind};base64,{_base64(files[name])}" download="{link[1]}">'

    return re.sub(r'<a href="([^"]+)" download>', embed, page)


def harmless(text: str) -> str:
    """Return text that Snakemake may put into its report: no tag, no template, no wildcard.

    :func:`html.unescape` gives the text back.

    >>> harmless("</script> {{ 7 * 7 }}")
    '&lt;/script&gt; &#123;&#123; 7 * 7 &#125;&#125;'
    """
    return html.escape(text).replace("{", "&#123;").replace("}", "&#125;")


def downloads(records: Records) -> dict[str, bytes]:
    """Return records as ``table.csv`` and ``table.json``.

    In the CSV file an apostrophe marks text that a spreadsheet would take for a formula.

    >>> downloads([{"label": "=1+1", "loading": -0.5}])["table.csv"]
    b"label,loading\\n'=1+1,-0.5\\n"
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    if records:
        writer.writerow(map(_quoted, records[0]))
    writer.writerows(map(_quoted, record.values()) for record in records)
    text = json.dumps(list(records), indent=1)
    return {"table.csv": _plain(buffer.getvalue()).encode(), "table.json": text.encode()}


def _quoted(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value
