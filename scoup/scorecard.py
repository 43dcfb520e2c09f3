"""The scorecard: each claim of the paper next to what was measured, also for the README."""

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from operator import itemgetter
from pathlib import Path
from typing import Any

from scoup import store
from scoup.errors import ScoupError
from scoup.evidence import VERDICTS, Metric, controls_text
from scoup.evidence.files import read_claims
from scoup.experiments import claims_of, declared, experiment_of

Row = Mapping[str, Any]
HEADER = (
    "experiment", "claim", "setting", "paper", "here: median [quartiles]", "null or control",
    "runs", "data", "verdict",
)  # fmt: skip
OVERVIEW_HEADER = (
    "experiment", "first claim: the paper's own setting", "paper", "here", "nearest control",
    "verdict", f"all claims: {' / '.join(VERDICTS)}",
)  # fmt: skip


def judge(metrics: Sequence[Metric], own: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Let each experiment judge its claims by its metrics.

    About ``own`` data sets, those of user-supplied files, the paper claims nothing.
    """
    by_experiment: dict[str, list[Metric]] = {}
    for metric in metrics:
        if metric.dataset not in own:
            by_experiment.setdefault(metric.experiment, []).append(metric)
    return [
        asdict(claim)
        for experiment in sorted(by_experiment)
        for claim in claims_of(experiment, by_experiment[experiment])
    ]


def table(claims: Sequence[Row]) -> str:
    """Return the scorecard as a Markdown table; a claim that does not hold stands out."""
    lines = [f"| {' | '.join(HEADER)} |", "|---" * len(HEADER) + "|"]
    for row in claims:
        spread = f"{row['ours']:.3g} [{row['low']:.3g}, {row['high']:.3g}] {row['unit']}"
        text = f"{row['claim']} ({row['note']})" if row["note"] else row["claim"]
        cells = [row["experiment"], text, row["setting"], row["paper"], spread]
        cells += [controls_text(row), str(row["runs"]), row["provenance"]]
        cells.append(_emphasized(row["verdict"]))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def overview(claims: Sequence[Row]) -> str:
    """Return one row per experiment, as Markdown: its first claim, and how many of all hold.

    Every experiment lists the paper's own setting first, so no row is picked for its verdict.
    """
    lines = [f"| {' | '.join(OVERVIEW_HEADER)} |", "|---" * len(OVERVIEW_HEADER) + "|"]
    for experiment in sorted({row["experiment"] for row in claims}):
        rows = [row for row in claims if row["experiment"] == experiment]
        verdicts = Counter(row["verdict"] for row in rows)
        first = rows[0]
        nearest = (max if first["higher"] else min)(first["controls"].items(), key=itemgetter(1))
        cells = [experiment, first["claim"], first["paper"], f"{first['ours']:.3g} {first['unit']}"]
        cells += [f"{nearest[0]}: {nearest[1]:.3g}", _emphasized(first["verdict"])]
        cells.append(" / ".join(str(verdicts[name]) for name in VERDICTS))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _emphasized(verdict: str) -> str:
    return verdict if verdict == "holds" else f"**{verdict}**"


def insert(text: str, name: str, block: str) -> str:
    """Replace what stands between the markers ``<!-- name -->`` and ``<!-- /name -->``.

    >>> insert("<!-- t -->old<!-- /t -->", "t", "new")
    '<!-- t -->\\nnew\\n<!-- /t -->'
    """
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    if start not in text or end not in text:
        raise ScoupError.expected("README", f"the markers {start} and {end}", "a text without them")
    return text[: text.index(start) + len(start)] + f"\n{block.strip()}\n" + text[text.index(end) :]


def captioned(path: Path) -> str:
    """Return a figure with its caption as Markdown, for a page in docs."""
    caption = declared(experiment_of(path.stem)).CAPTIONS[path.stem]
    return f"**{path.stem.replace('_', ' ')}.** {caption}\n\n![{path.stem}](../{path.as_posix()})"


def stages(graph: str) -> str:
    """Reduce a rule graph to its stages, without styles and arrows that a longer path implies.

    >>> print(stages("id0[a]\\nid1[b]\\nid2[c]\\nid0 --> id1\\nid1 --> id2\\nid0 --> id2"))
    flowchart LR
        a --> b
        b --> c
    """
    names = dict(re.findall(r"(id\d+)\[(\w+)\]", graph))
    followers: dict[str, set[str]] = {name: set() for name in names.values()}
    for tail, head in re.findall(r"(id\d+) --> (id\d+)", graph):
        followers[names[tail]].add(names[head])

    def beyond(name: str) -> set[str]:
        return followers[name].union(*map(beyond, followers[name]))

    arrows = [
        f"    {tail} --> {head}"
        for tail in sorted(followers)
        for head in sorted(followers[tail].difference(*map(beyond, followers[tail])))
    ]
    return "\n".join(["flowchart LR", *arrows])


def main(folder: str, graph: str, *pages: str) -> None:
    """Write scorecard, figures and rule graph of a results folder into the pages that mark them."""
    claims = read_claims(Path(folder, "scorecard.json"))
    blocks = {
        "scorecard": table(claims),
        "overview": overview(claims),
        "figures": "\n\n".join(map(captioned, sorted(Path(folder, "plot").glob("*.png")))),
        "rulegraph": f"```mermaid\n{stages(Path(graph).read_text())}\n```",
    }
    for page in pages:
        text = Path(page).read_text()
        for name, block in blocks.items():
            if f"<!-- {name} -->" in text:
                text = insert(text, name, block)
        store.write_text(page, text)


if __name__ == "__main__":
    main(*sys.argv[1:])
