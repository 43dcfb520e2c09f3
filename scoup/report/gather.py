"""Read the files that the report shows."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scoup import report
from scoup.records import Metric
from scoup.report import Chapter, Document, Figure


def read_chapters(
    entries: Sequence[Mapping[str, Any]],
    metrics: Sequence[Metric],
    figures: Iterable[str],
    folders: Iterable[str],
) -> list[Chapter]:
    """Return one chapter per entry: its experiment, text, captions, and data sets with a page.

    ``figures`` and ``folders`` are the files of all captions and pages, in the order of entries.
    """
    svg, pages = iter(figures), iter(folders)
    return [
        Chapter(
            entry["experiment"],
            entry["text"],
            [Figure(caption, Path(next(svg)).read_bytes()) for caption in entry["captions"]],
            [
                *(
                    Document(f"components of {name}", read_page(next(pages)))
                    for name in entry["pages"]
                ),
                Document("every number", report.numbers(entry["experiment"], metrics)),
            ],
        )
        for entry in entries
    ]


def read_page(folder: str) -> str:
    """Return the page in ``folder`` as one document, with the files that it links to in it."""
    files = {path.name: path.read_bytes() for path in Path(folder).iterdir() if path.is_file()}
    return report.inline(files.pop("index.html").decode(), files)


def read_text(path: str) -> str:
    """Return a text of ours without its few marks of reStructuredText."""
    return Path(path).read_text().replace("``", "").replace("*", "")
