"""The scorecard as runs, one per claim, and what was found in words."""

from collections.abc import Mapping, Sequence
from typing import Any

from scoup.track.points import Point
from scoup.track.runs import Origin, TrackedRun

Row = Mapping[str, Any]
KEY = ("experiment", "claim", "setting")  # what identifies a row
QUESTION = "Which claims of the paper hold here? One run per claim."
MEANINGS = (
    "| ours | see the tag unit | see the bar | median over the runs |",
    "| bar | as ours | | what the median must reach |",
    "| control | as ours | | what the null or control nearest to the bar reaches |",
)


def runs(
    claims: Sequence[Row],
    figures: Mapping[str, Sequence[str]],
    origin: Origin,
) -> list[TrackedRun]:
    """Return one run per claim, with the figures of its experiment and the files of all."""
    milliseconds = round(1000 * origin.facts["ended"])
    return [
        TrackedRun(
            key="/".join(["scorecard", *(claim[word] for word in KEY), claim["provenance"]]),
            name=f"{claim['claim']} ({claim['setting']})",
            params={"experiment": claim["experiment"], "setting": claim["setting"]},
            tags=_tags(claim),
            points=(*_points(claim), *origin.system_points()),
            artifacts=(
                *origin.artifacts,
                *(("figures", path) for path in figures.get(claim["experiment"], [])),
            ),
            started=milliseconds - order,
            ended=milliseconds,
        )
        for order, claim in enumerate(claims)
    ]


def _tags(claim: Row) -> dict[str, str]:
    tags = {
        "verdict": claim["verdict"],
        "paper": claim["paper"],
        "here": spread(claim),
        "controls": controls(claim),
        "data": claim["provenance"],
        "unit": claim["unit"],
        "runs": str(claim["runs"]),
        "note": claim["note"],
    }
    return {name: value for name, value in tags.items() if value}


def _points(claim: Row) -> list[Point]:
    closest = max if claim["higher"] else min
    control = closest(claim["controls"].values(), default=None)
    values = {"ours": claim["ours"], "bar": claim["bar"], "control": control}
    return [Point(name, float(value)) for name, value in values.items() if value is not None]


def spread(claim: Row) -> str:
    """Return the median with its quartiles and the unit.

    >>> spread({"ours": 0.5, "low": 0.25, "high": 0.75, "unit": "share"})
    '0.5 [0.25, 0.75] share'
    """
    return f"{claim['ours']:.3g} [{claim['low']:.3g}, {claim['high']:.3g}] {claim['unit']}"


def controls(claim: Row) -> str:
    """Return what each control reaches.

    >>> controls({"controls": {"ridge": 0.72, "chance": 0.5}})
    'ridge 0.72, chance 0.5'
    """
    return ", ".join(f"{name} {value:.3g}" for name, value in claim["controls"].items())


def findings(claims: Sequence[Row]) -> str:
    """Return what was found, one line per claim, in Markdown."""
    return "\n".join(
        f"- {claim['claim']} ({claim['setting']}): **{claim['verdict']}**, {spread(claim)}; "
        f"paper: {claim['paper']}; {controls(claim)}"
        for claim in claims
    )
