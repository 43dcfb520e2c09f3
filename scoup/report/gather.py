"""Read the files that the report shows."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scoup import report
from scoup.evidence import Metric
from scoup.report import Chapter, Document, Figure

FIGURE_ENDINGS = (".svg", ".pdf", ".png")


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


def links_of(files: Any, models: Iterable[str]) -> dict[str, list[str]]:
    """Return the files that the report links, by what they are, from the folder of the report.

    ``files`` are the inputs of the report's rule.
    """
    pages = [
        path
        for folder in files.pages
        for path in sorted(Path(folder).iterdir())
        if not path.name.startswith(".")  # Snakemake's own
    ]
    figures = [Path(path).with_suffix(end) for path in files.figures for end in FIGURE_ENDINGS]
    groups = {
        "pages": [path for path in pages if path.suffix == ".html"],
        "tables and images of pages": [path for path in pages if path.suffix != ".html"],
        "figures": figures,
        "numbers of experiments": files.metrics,
        "models": models,
        "data": files.data,
    }
    top = Path(files.scorecard).parent
    linked = {
        title: [Path(path).relative_to(top).as_posix() for path in paths]
        for title, paths in groups.items()
    }
    return {title: paths for title, paths in linked.items() if paths}


def read_text(path: str) -> str:
    """Return a text of ours without its few marks of reStructuredText."""
    return Path(path).read_text().replace("``", "").replace("*", "")
