"""From the result files to the experiments of the tracker, one per experiment of the project."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from scoup import experiments
from scoup.evidence import Metric
from scoup.evidence.files import read_claims, read_metrics, read_notes
from scoup.experiments._view import View
from scoup.track import claims, models, views
from scoup.track.points import Measured, measure_name, names, split, varying
from scoup.track.runs import FIRST_RUN, Origin, TrackedDataset, TrackedExperiment, TrackedRun
from scoup.track.sources import Job, Sources

MAX_NOTE_CHARACTERS = 500  # longer settings are not shown as parameters
Row = Mapping[str, Any]


def collect(sources: Sources) -> list[TrackedExperiment]:
    """Return the scorecard, then the experiments, then fits and merged models."""
    datasets = {name: TrackedDataset.read(name, path) for name, path in sources.data.items()}
    rows = read_claims(sources.scorecard.claims) if sources.scorecard else []
    jobs: dict[str, list[Job]] = defaultdict(list)
    for job in sources.jobs:
        jobs[job.experiment].append(job)
    collected = [
        *_scorecard(sources, rows),
        *(_experiment(name, jobs[name], sources, datasets, rows) for name in sorted(jobs)),
        *(_stage(stage, sources, datasets) for stage in models.QUESTIONS),
    ]
    return [experiment for experiment in collected if experiment.runs]


def _scorecard(sources: Sources, rows: Sequence[Row]) -> Iterator[TrackedExperiment]:
    """Yield the scorecard with one run per claim, if there is one."""
    if sources.scorecard:
        files = {"": [sources.scorecard.claims, sources.scorecard.table]}
        facts = sources.scorecard.facts
        origin = Origin.read(sources.scorecard.claims, facts, None, files)
        runs = claims.runs(rows, sources.figures, origin)
        description = f"**Asked.** {claims.QUESTION}\n\n{_table(claims.MEANINGS)}"
        columns = ("verdict", "paper", "here", "controls", "data", "note")
        state = views.state(View(), ("experiment", "setting"), runs, {}, columns)
        yield TrackedExperiment("scorecard", description, state, tuple(runs))


def _experiment(
    name: str,
    jobs: Sequence[Job],
    sources: Sources,
    datasets: Mapping[str, TrackedDataset],
    rows: Sequence[Row],
) -> TrackedExperiment:
    """Return an experiment of the project, with one run per thing measured."""
    view = getattr(experiments.declared(name), "VIEW", View())
    metrics = [read_metrics(job.metrics) for job in jobs]
    things = [split(group, view) for group in metrics]
    every_thing, every_metric = list(chain(*things)), list(chain(*metrics))
    run_names, figures = iter(names(every_thing)), sources.figures.get(name, [])
    runs = [
        run
        for job, group in zip(jobs, things, strict=True)
        for run in _job_runs(job, group, run_names, sources, datasets.get(job.dataset))
    ]
    rows = [row for row in rows if row["experiment"] == name]
    description = _description(name, every_metric, rows, figures)
    directions = {measure_name(metric): metric.direction for metric in reversed(every_metric)}
    state = views.state(view, varying(every_thing), runs, directions)
    return TrackedExperiment(name, description, state, tuple(runs))


def _job_runs(
    job: Job,
    things: Sequence[Measured],
    run_names: Iterator[str],
    sources: Sources,
    dataset: TrackedDataset | None,
) -> Iterator[TrackedRun]:
    """Yield the runs of one job, each with the settings that it was measured with."""
    figures = sources.figures.get(job.experiment, [])
    files = {"metrics": [job.metrics], "log": [job.log, job.facts], "figures": figures}
    origin = Origin.read(job.metrics, job.facts, dataset, files)
    notes = {
        f"{job.experiment}.{name}": value
        for name, value in read_notes(job.metrics).items()
        if len(str(value)) <= MAX_NOTE_CHARACTERS
    }
    for order, thing in enumerate(things):
        params = thing.params | models.settings_of(thing.place, sources.settings) | notes
        yield origin.run(thing.key, next(run_names), params, thing.points, order)


def _stage(
    stage: str, sources: Sources, datasets: Mapping[str, TrackedDataset]
) -> TrackedExperiment:
    """Return the fits or the merged models."""
    things, runs = models.runs(stage, sources, datasets)
    used = {point.name for run in runs for point in run.points}
    table = _table(models.MEANINGS[name] for name in models.MEANINGS if name in used)
    description = f"**Asked.** {models.QUESTIONS[stage]}\n\n{table}"
    state = views.state(View(), varying(things), runs, {})
    return TrackedExperiment(stage, description, state, tuple(runs))


def _description(
    name: str, metrics: Sequence[Metric], rows: Sequence[Row], figures: Sequence[str]
) -> str:
    """Return what was asked, what was found and what the metrics mean, in Markdown."""
    marks = " and ".join(sorted({metric.provenance for metric in metrics}))
    captions = experiments.declared(name).CAPTIONS
    links = [
        f"- [{Path(path).stem}]({FIRST_RUN}/figures/{Path(path).name}): {captions[Path(path).stem]}"
        for path in figures
        if path.endswith(".png")
    ]
    meanings = {
        measure_name(metric): f"{metric.unit} | {metric.direction} | {metric.text}"
        for metric in reversed(metrics)
    }
    parts = [
        f"**Asked.** {experiments.summary(name)}",
        f"**Found**, on {marks} data:\n\n{claims.findings(rows)}" if rows else "",
        "\n".join(["**Figures**\n", *links]) if links else "",
        _table(f"| {name} | {meaning} |" for name, meaning in reversed(meanings.items())),
    ]
    return "\n\n".join(filter(None, parts))


def _table(rows: Iterable[str]) -> str:
    return "\n".join(["| metric | unit | better | meaning |", "|---|---|---|---|", *rows])
