"""The fits and the merged models as runs: loss curves, and the factors themselves."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scoup import results
from scoup.records import FitReport, MergeReport
from scoup.track.points import Measured, Place, Point, names
from scoup.track.runs import Origin, TrackedDataset, TrackedRun
from scoup.track.sources import FitFile, Job, ModelFile, Sources

QUESTIONS = {
    "fit": "How does the loss of each fit fall? One run per fit, with its factors.",
    "merge": "What did the repetitions become? One run per merged model, with its factors.",
}
# Numbers of a model that no experiment measures; the others have the names that experiments use.
MEANINGS = {
    "loss": "| loss | weighted squared error | lower | objective after each sweep; of the merged "
    "model on all the data |",
    "sweeps": "| sweeps | sweeps | none | sweeps until the fit stopped |",
    "seconds": "| seconds | s | lower | processor time of the fit |",
    "match": "| match | score | higher | match of each repetition with the reference |",
    "rejected": "| rejected | repetitions | none | repetitions left out of the merge |",
    "output_size": "| output_size | non-zeros | lower | non-zeros of all factors |",
}


def runs(
    stage: str, sources: Sources, datasets: Mapping[str, TrackedDataset]
) -> tuple[list[Measured], list[TrackedRun]]:
    """Return one run per fit, or per merged model; several experiments may read the same one."""
    models = {
        model.path: (_thing(stage, job, model), model)
        for job in sources.jobs
        for model in (job.fits if stage == "fit" else job.merged)
    }
    things = [thing for thing, _ in models.values()]
    tracked = []
    for order, (name, (thing, model)) in enumerate(
        zip(names(things), models.values(), strict=True)
    ):
        log = str(Path(model.facts).with_suffix(".log"))
        files = {"factors": [model.path], "log": [log, model.facts]}
        origin = Origin.read(model.path, model.facts, datasets.get(thing.place.dataset), files)
        points = _fit_points(model, origin.facts) if stage == "fit" else _merge_points(model)
        params = thing.params | settings_of(thing.place, sources.settings)
        tracked.append(origin.run(thing.key, name, params, points, order))
    return things, tracked


def _thing(stage: str, job: Job, model: ModelFile) -> Measured:
    at = {"repetition": model.rep} if isinstance(model, FitFile) else {}
    return Measured(Place(stage, job.dataset, model.variant, model.plan, job.seed), at, ())


def _fit_points(model: ModelFile, facts: Mapping[str, Any]) -> list[Point]:
    report: FitReport = results.read_fit(model.path).report
    points = [Point("loss", float(loss), step) for step, loss in enumerate(report.losses, start=1)]
    points.append(Point("sweeps", report.iterations))
    return points + ([Point("seconds", facts["fit_seconds"])] if "fit_seconds" in facts else [])


def _merge_points(model: ModelFile) -> list[Point]:
    report: MergeReport = results.read_merged(model.path).report
    return [
        Point("loss", float(report.cost)),
        Point("output_size", report.output_size),
        Point("rejected", len(report.rejected)),
        *(Point("match", float(score), rep) for rep, score in enumerate(report.scores)),
    ]


def settings_of(place: Place, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a plan, a variant and a data set, each named by its section.

    >>> place = Place("fit", "brainq", "whole", "full", 0)
    >>> settings_of(place, {"plans": {"full": {"rank": 5}}})
    {'plan.rank': 5}
    """
    sections = {"plan": place.plan, "variant": place.variant, "dataset": place.dataset}
    return {
        f"{section}.{name}": value
        for section, member in sections.items()
        for name, value in settings.get(f"{section}s", {}).get(member, {}).items()
    }
