"""What the results become in a tracker, as plain records: no tracker is needed here."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from scoup import results, store
from scoup.job import read_facts
from scoup.records import Metric, Provenance
from scoup.track.names import NamedPoints, Point, name_points
from scoup.track.sources import Job, Sources

SUMMARY = "scorecard"
MAX_NOTE_CHARACTERS = 500  # longer settings are not shown as parameters
MAX_CHECKSUM_TAGS = 40  # further checksums are only in the data set of the run


class Address(NamedTuple):
    """What identifies a run."""

    experiment: str
    dataset: str
    variant: str
    plan: str
    seed: int

    @property
    def key(self) -> str:
        """The address as one word."""
        return "/".join([*self[:-1], f"seed{self.seed}"])

    @property
    def name(self) -> str:
        """The address as a name; what varies most comes first, since tables truncate names."""
        variant = [self.variant] if self.variant != "whole" else []
        return " ".join([self.experiment, *variant, self.plan, f"seed{self.seed}", self.dataset])


@dataclass(frozen=True)
class TrackedDataset:
    """The data set that a run was measured on."""

    name: str
    digest: str
    provenance: Provenance
    shapes: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class TrackedRun:
    """All that a tracker is told about one run. Times are milliseconds since 1970.

    ``artifacts`` are pairs of a folder among the run's artifacts and the path of a file to put
    there.
    """

    key: str
    name: str
    params: Mapping[str, str]
    tags: Mapping[str, str]
    points: tuple[Point, ...]
    artifacts: tuple[tuple[str, str], ...] = ()
    started: int = 0
    ended: int = 0
    dataset: TrackedDataset | None = None

    @property
    def digest(self) -> str:
        """Checksum of the run with its files: runs with equal digests need not be logged again."""
        files = [(folder, Path(path).name, _sha256(path)) for folder, path in self.artifacts]
        record = json.dumps(asdict(replace(self, artifacts=())), sort_keys=True, default=str)
        return hashlib.sha256(json.dumps([record, files]).encode()).hexdigest()


def collect(sources: Sources) -> list[TrackedRun]:
    """Return one run per (experiment, data set, variant, plan, seed), preceded by the scorecard."""
    datasets = {name: _dataset(name, path) for name, path in sources.data.items()}
    jobs, groups = _group(sources.jobs)
    named = _name_by_experiment(groups)
    runs = [
        _run(
            address, metrics, named[address], jobs[address], sources, datasets.get(address.dataset)
        )
        for address, metrics in groups.items()
    ]
    return [*_summary(sources, runs), *runs]


def _group(jobs: Iterable[Job]) -> tuple[dict[Address, Job], dict[Address, list[Metric]]]:
    """Sort metrics by the run they belong to; one job may have measured several."""
    owners: dict[Address, Job] = {}
    groups: dict[Address, list[Metric]] = defaultdict(list)
    for job in jobs:
        for metric in results.read_metrics(job.metrics):
            address = Address(
                metric.experiment, metric.dataset, metric.variant, metric.plan, metric.seed
            )
            owners[address] = job
            groups[address].append(metric)
    return owners, dict(sorted(groups.items()))


def _name_by_experiment(groups: Mapping[Address, list[Metric]]) -> dict[Address, NamedPoints]:
    named: dict[Address, NamedPoints] = {}
    for experiment in {address.experiment for address in groups}:
        named |= name_points(
            {
                address: group
                for address, group in groups.items()
                if address.experiment == experiment
            }
        )
    return named


def _run(
    address: Address,
    metrics: Sequence[Metric],
    named: NamedPoints,
    job: Job,
    sources: Sources,
    dataset: TrackedDataset | None,
) -> TrackedRun:
    points, constants = named
    facts = _facts(job)
    fits = {fit.rep: fit.path for fit in job.fits if _belongs(fit, address)}
    merged = [model.path for model in job.merged if _belongs(model, address)]
    files = {
        "metrics": [job.metrics],
        "log": [path for path in (job.log, job.facts) if path and Path(path).exists()],
        "factors": [*fits.values(), *merged],
        "figures": [p for p in sources.figures.get(address.experiment, []) if p.endswith(".png")],
    }
    return TrackedRun(
        key=address.key,
        name=address.name,
        params=_params(address, job, sources.settings, constants),
        tags=_tags(address, metrics[0].provenance, facts, dataset)
        | {"mlflow.note.content": _description(metrics, dataset)},
        points=(*points, *_losses(fits)),
        artifacts=tuple((folder, path) for folder, paths in files.items() for path in paths),
        started=round(1000 * facts["started"]),
        ended=round(1000 * facts["ended"]),
        dataset=dataset,
    )


def _belongs(model: Any, address: Address) -> bool:
    return (model.plan, model.variant) == (address.plan, address.variant)


def _facts(job: Job) -> dict[str, Any]:
    """Return the facts of a job; if they are lost, at least when its metrics were written."""
    written = Path(job.metrics).stat().st_mtime
    return {"started": written, "ended": written} | read_facts(job.facts)


def _losses(fits: Mapping[int, str]) -> list[Point]:
    """Return the loss curve of each fit, one step per sweep."""
    return [
        Point(f"loss/rep{repetition}", float(loss), step)
        for repetition, path in fits.items()
        for step, loss in enumerate(results.read_fit(path).report.losses, start=1)
    ]


def _params(
    address: Address, job: Job, settings: Mapping[str, Any], constants: Mapping[str, Any]
) -> dict[str, str]:
    """Return the settings of a run: its address, its plan, its variant, its data and the notes."""

    def section(name: str, key: str) -> dict[str, Any]:
        return settings.get(name, {}).get(key, {})

    params = {**address._asdict(), **constants}
    params |= section("variants", address.variant) | section("plans", address.plan)
    for name, value in section("datasets", address.dataset).items():
        params[f"dataset.{name}"] = value
    for name, value in results.read_notes(job.metrics).items():
        if len(_text(value)) <= MAX_NOTE_CHARACTERS:
            params[f"{address.experiment}.{name}"] = value
    return {name: _text(value) for name, value in params.items()}


def _tags(
    address: Address, mark: str, facts: Mapping[str, Any], dataset: TrackedDataset | None
) -> dict[str, str]:
    """Return what a reader filters by, and where the run came from."""
    tags = {name: str(value) for name, value in address._asdict().items()}
    tags |= {"data": mark, "scoup.parent": SUMMARY}
    for name in ("host", "threads", "version", "revision", "python"):
        tags[name] = str(facts.get(name, "unknown"))
    tags |= {
        "mlflow.source.git.commit": tags["revision"].split("-")[0],
        "mlflow.source.type": "JOB",
        "mlflow.source.name": "workflow/scripts/experiment.py",
    }
    if dataset:
        origin = dataset.provenance
        tags |= {"source": origin.source, "source.reason": origin.reason}
        tags |= {f"sha256/{file.name}": file.sha256 for file in origin.files[:MAX_CHECKSUM_TAGS]}
    return {name: value for name, value in tags.items() if value}


def _description(metrics: Sequence[Metric], dataset: TrackedDataset | None) -> str:
    """Say what the data is and what each metric means, in Markdown."""
    sentence = f"**{metrics[0].provenance.capitalize()} data.** "
    if dataset and dataset.provenance.simulated:
        reason = dataset.provenance.reason or "as asked"
        sentence += f"Stand-in for {dataset.provenance.dataset} ({reason}). "
    rows = {
        metric.name: f"| {metric.name} | {metric.unit} | {metric.direction} | {metric.text} |"
        for metric in metrics
    }
    header = ["| metric | unit | better | meaning |", "|---|---|---|---|"]
    return "\n".join([sentence, "", *header, *rows.values()])


def _summary(sources: Sources, runs: Sequence[TrackedRun]) -> list[TrackedRun]:
    """Return the scorecard as a run: how many claims hold, and each claim as a metric."""
    if not sources.scorecard:
        return []
    claims = results.read_claims(sources.scorecard.claims)
    marks = " and ".join(sorted({claim["provenance"] for claim in claims}))
    note = f'**{marks.capitalize()} data.** Filter the runs by `tags.experiment = "accuracy"`.\n\n'
    note += Path(sources.scorecard.table).read_text()
    figures = [("figures", path) for paths in sources.figures.values() for path in paths]
    return [
        TrackedRun(
            key=SUMMARY,
            name=SUMMARY,
            params={"experiment": SUMMARY, "runs": str(len(runs))},
            tags={"experiment": SUMMARY, "data": marks, "mlflow.note.content": note},
            points=tuple(_claim_points(claims)),
            artifacts=(("", sources.scorecard.claims), ("", sources.scorecard.table), *figures),
            started=min(run.started for run in runs),
            ended=max(run.ended for run in runs),
        )
    ]


def _claim_points(claims: Sequence[Mapping[str, Any]]) -> list[Point]:
    return [
        Point("claims", len(claims)),
        Point("claims_hold", sum(claim["verdict"] == "holds" for claim in claims)),
        *(
            Point(f"claim/{number:02d} {claim['experiment']}", float(claim["ours"]))
            for number, claim in enumerate(claims, start=1)
        ),
    ]


def _dataset(name: str, path: str) -> TrackedDataset:
    meta = results.read_dataset_meta(path)
    digest = hashlib.sha256(json.dumps(meta, sort_keys=True).encode()).hexdigest()[:16]
    shapes = tuple(tuple(block["shape"]) for block in meta["blocks"])
    return TrackedDataset(name, digest, Provenance(**meta["provenance"]), shapes)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(store.plain(value))


def _sha256(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
