"""The scorecard: each claim of the paper beside what was measured, for people and for the README."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from scoup import store
from scoup.errors import ScoupError
from scoup.measures import Metric

Row = Mapping[str, Any]
VERDICTS = {True: "yes", False: "**no**", None: "no number given"}


def judge(metrics: Sequence[Metric]) -> list[dict[str, Any]]:
    """Let the ``claims`` of each experiment judge its own metrics."""
    rows = []
    for experiment in sorted({metric.experiment for metric in metrics}):
        module = import_module(f"scoup.experiments.{experiment}")
        mine = [metric for metric in metrics if metric.experiment == experiment]
        rows += [asdict(claim) for claim in module.claims(mine)]
    return rows


def table(claims: Sequence[Row]) -> str:
    """Return the scorecard as a table of Markdown."""
    lines = [
        "| experiment | claim | paper | here: median [quartiles] | runs | data | holds |",
        "|---" * 7 + "|",
    ]
    for row in claims:
        spread = f"{row['ours']:.3g} [{row['low']:.3g}, {row['high']:.3g}] {row['unit']}"
        cells = [
            row["experiment"],
            row["claim"],
            row["paper"],
            spread,
            str(row["runs"]),
            row["provenance"],
        ]
        lines.append("| " + " | ".join([*cells, VERDICTS[row["holds"]]]) + " |")
    return "\n".join(lines) + "\n"


def insert(text: str, name: str, block: str) -> str:
    """Replace what stands between the markers ``<!-- name -->`` and ``<!-- /name -->``.

    >>> insert("<!-- t -->old<!-- /t -->", "t", "new")
    '<!-- t -->\\nnew\\n<!-- /t -->'
    """
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    if start not in text or end not in text:
        raise ScoupError.expected("README", f"the markers {start} and {end}", "a text without them")
    return text[: text.index(start) + len(start)] + f"\n{block.strip()}\n" + text[text.index(end) :]


def shown(path: Path) -> str:
    """Return a figure with its caption, which is what the module that draws it says of itself."""
    caption = (import_module(f"scoup.plot.{path.stem}").__doc__ or "").splitlines()[0]
    return f"**{path.stem.replace('_', ' ')}.** {caption}\n\n![{path.stem}]({path.as_posix()})"


def tidy(graph: str) -> str:
    """Keep of Snakemake's rule graph the names, and those arrows that no longer way implies.

    >>> print(tidy("id0[a]\\nid1[b]\\nid2[c]\\nid0 --> id1\\nid1 --> id2\\nid0 --> id2"))
    flowchart LR
        a --> b
        b --> c
    """
    names = dict(re.findall(r"(id\d+)\[(\w+)\]", graph))
    arrows = [
        (names[tail], names[head]) for tail, head in re.findall(r"(id\d+) --> (id\d+)", graph)
    ]
    after = {name: [head for tail, head in arrows if tail == name] for name in names.values()}

    def reaches(start: str, end: str) -> bool:
        return start == end or any(reaches(name, end) for name in after[start])

    kept = [
        f"    {tail} --> {head}"
        for tail, head in sorted(arrows)
        if not any(reaches(other, head) for other in after[tail] if other != head)
    ]
    return "\n".join(["flowchart LR", *kept])


def main(readme: str, results: str, graph: str) -> None:
    """Write the scorecard of a results folder, its figures and the rule graph into a README."""
    claims = store.read_json(Path(results) / "scorecard.json")["claims"]
    blocks = {
        "scorecard": table(claims),
        "figures": "\n\n".join(map(shown, sorted((Path(results) / "figures").glob("*.png")))),
        "rulegraph": f"```mermaid\n{tidy(Path(graph).read_text())}\n```",
    }
    text = Path(readme).read_text()
    for name, block in blocks.items():
        text = insert(text, name, block)
    store.write_text(readme, text)


if __name__ == "__main__":
    main(*sys.argv[1:4])
