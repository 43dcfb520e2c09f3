"""Runs: what the metrics files, logs and models of a results folder become in a tracker. No tracker is needed here."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from scoup import results, store
from scoup.job import read_facts
from scoup.measures import Metric
from scoup.records import Provenance
from scoup.track.names import Point, name_points

SUMMARY = "scorecard"
_NOTE = 500  # characters of a setting that is still shown as a parameter
_FILES = 40  # checksums that are still shown as tags; all are in the input


@dataclass(frozen=True)
class Sources:
    """The files that runs are made from: paths of one results folder, relative to where the workflow ran.

    ``figures`` lists the figure files of each experiment, ``settings`` is the configuration.
    """

    metrics: Sequence[str]
    data: Sequence[str] = ()
    figures: Mapping[str, Sequence[str]] = field(default_factory=dict)
    scorecard: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Input:
    """A data set that a run was measured on."""

    name: str
    digest: str
    provenance: Provenance
    shapes: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Run:
    """One run: everything a tracker is told about it. Times are milliseconds since 1970."""

    key: str
    name: str
    params: Mapping[str, str]
    tags: Mapping[str, str]
    points: tuple[Point, ...]
    artifacts: tuple[tuple[str, str], ...] = ()
    started: int = 0
    ended: int = 0
    input: Input | None = None

    @property
    def digest(self) -> str:
        """Checksum of all that the run says, its files included: runs of equal digest need not be logged again."""
        files = [(folder, Path(path).name, _sha256(path)) for folder, path in self.artifacts]
        said = json.dumps(asdict(replace(self, artifacts=())), sort_keys=True, default=str)
        return hashlib.sha256(json.dumps([said, files]).encode()).hexdigest()


def collect(sources: Sources) -> list[Run]:
    """Return one run for each (experiment, data set, variant, plan, seed), and the scorecard first."""
    inputs = {entry.name: entry for entry in map(_input, sources.data)}
    files, grouped = _group(sources.metrics)
    points = {key: name_points(group) for key, group in _by_experiment(grouped).items()}
    runs = [
        _run(metrics, files[address], points[metrics[0].experiment][address], sources, inputs)
        for address, metrics in grouped.items()
    ]
    return [*_summary(sources, runs), *runs]


Address = tuple[str, str, str, str, int]


def _group(paths: Iterable[str]) -> tuple[dict[Address, list[str]], dict[Address, list[Metric]]]:
    """Gather metrics by address; a file may hold several runs, and a run may lie in several files."""
    files: dict[Address, list[str]] = defaultdict(list)
    grouped: dict[Address, list[Metric]] = defaultdict(list)
    for path in sorted(paths):
        for metric in results.read_metrics(path):
            address = (metric.experiment, metric.dataset, metric.variant, metric.plan, metric.seed)
            grouped[address].append(metric)
            if path not in files[address]:
                files[address].append(path)
    return files, dict(sorted(grouped.items()))


def _by_experiment(
    grouped: Mapping[Address, list[Metric]],
) -> dict[str, dict[Address, list[Metric]]]:
    found: dict[str, dict[Address, list[Metric]]] = defaultdict(dict)
    for address, metrics in grouped.items():
        found[address[0]][address] = metrics
    return found


def _run(
    metrics: Sequence[Metric], files: Sequence[str], named: tuple[list[Point], dict[str, Any]], sources: Sources,
    inputs: Mapping[str, Input],
) -> Run:  # fmt: skip
    one = metrics[0]
    points, constants = named
    logs = [_log_of(path) for path in files]
    facts = [read_facts(log) or _facts_of(path) for log, path in zip(logs, files, strict=True)]
    fits, models = _models(one, [name for fact in facts for name in fact.get("input", [])])
    pictures = [path for path in sources.figures.get(one.experiment, []) if path.endswith(".png")]
    kept = {"metrics": files, "log": [log for log in logs if Path(log).exists()]}
    kept |= {"factors": [*fits, *models], "figures": pictures}
    given = inputs.get(one.dataset)
    return Run(
        key=f"{one.experiment}/{one.dataset}/{one.variant}/{one.plan}/seed{one.seed}",
        name=_name(one),
        params=_params(one, sources.settings, constants, files),
        tags=_tags(one, facts, given) | {"mlflow.note.content": _note(metrics, given)},
        points=(*points, *_losses(fits)),
        artifacts=tuple(
            placed
            for kind, paths in {**kept, "figures": pictures}.items()
            for placed in _place(kind, paths)
        ),
        started=round(1000 * min(fact["started"] for fact in facts)),
        ended=round(1000 * max(fact["ended"] for fact in facts)),
        input=given,
    )


def _name(one: Metric) -> str:
    """What tells runs apart comes first, since tables cut names short."""
    variant = one.variant if one.variant != "whole" else ""
    return " ".join(
        part for part in (one.experiment, variant, one.plan, f"seed{one.seed}", one.dataset) if part
    )


def _place(kind: str, paths: Sequence[str]) -> list[tuple[str, str]]:
    """Give each file its folder among the artifacts: its own folders too where two files bear one name."""
    alike = len({Path(path).name for path in paths}) < len(paths)
    return [(f"{kind}/{Path(path).parent}" if alike else kind, path) for path in paths]


def _log_of(path: str) -> str:
    """The log of the job that wrote a metrics file: results/experiments/x/y.json has results/logs/x/y.log."""
    return str(Path(path.replace("/experiments/", "/logs/", 1)).with_suffix(".log"))


def _facts_of(path: str) -> dict[str, Any]:
    """What the metrics file itself tells of its job where the log is lost: when it was written."""
    written = Path(path).stat().st_mtime
    return {"started": written, "ended": written}


def _models(one: Metric, read: Iterable[str]) -> tuple[list[str], list[str]]:
    """Of the files that a job read, the fits and the merged model of this very run."""
    place = f"/{one.dataset}/{one.variant}/{one.plan}/seed{one.seed}"
    fits, models = dict[str, None](), dict[str, None]()
    for path in read:
        for stage in ("/fit", "/times"):  # the job that wrote the times wrote the fit
            if stage + place + "/" in path:
                fits[
                    str(Path(path.replace(stage + place, "/fit" + place, 1)).with_suffix(".npz"))
                ] = None
        if "/merge" + place + "." in path:
            models[path] = None
    return [path for path in fits if Path(path).exists()], [
        path for path in models if Path(path).exists()
    ]


def _losses(fits: Iterable[str]) -> list[Point]:
    """The loss of each fit, sweep by sweep."""
    return [
        Point(f"loss/{Path(path).stem}", float(loss), step)
        for path in fits
        for step, loss in enumerate(results.read_fit(path).report.losses, start=1)
    ]


def _params(
    one: Metric, settings: Mapping[str, Any], constants: Mapping[str, Any], files: Iterable[str]
) -> Any:
    """What was asked for: the address, the plan, the variant, the data set and the experiment's own settings."""
    found: dict[str, Any] = {
        "experiment": one.experiment,
        "dataset": one.dataset,
        "variant": one.variant,
    }
    found |= {"plan": one.plan, "seed": one.seed, **constants}
    found |= settings.get("variants", {}).get(one.variant, {}) | settings.get("plans", {}).get(
        one.plan, {}
    )
    asked = settings.get("datasets", {}).get(one.dataset, {})
    found |= {f"dataset.{name}": value for name, value in asked.items()}
    for path in files:
        notes = store.read_json(path)["notes"]
        found |= {
            f"{one.experiment}.{name}": value
            for name, value in notes.items()
            if len(_text(value)) <= _NOTE
        }
    return {name: _text(value) for name, value in found.items()}


def _tags(one: Metric, facts: Sequence[Mapping[str, Any]], given: Input | None) -> dict[str, str]:
    """By what a reviewer filters, and where the run came from."""
    found = {
        "experiment": one.experiment,
        "dataset": one.dataset,
        "variant": one.variant,
        "plan": one.plan,
    }
    found |= {"seed": str(one.seed), "data": one.provenance, "scoup.parent": SUMMARY}
    for name in ("host", "threads", "version", "revision", "python"):
        found[name] = ", ".join(sorted({str(fact.get(name, "unknown")) for fact in facts}))
    found |= {
        "mlflow.source.git.commit": found["revision"].split("-")[0],
        "mlflow.source.type": "JOB",
    }
    found["mlflow.source.name"] = f"workflow/scripts/{one.experiment}.py"
    if given:
        found |= {"source": given.provenance.source, "source.reason": given.provenance.reason}
        found |= {f"sha256/{file.name}": file.sha256 for file in given.provenance.files[:_FILES]}
    return {name: value for name, value in found.items() if value}


def _note(metrics: Sequence[Metric], given: Input | None) -> str:
    """The description that a tracker shows: what the data is, and what each number means."""
    one = metrics[0]
    words = f"**{one.provenance.capitalize()} data.** "
    if given and given.provenance.simulated:
        words += (
            f"Stand-in for {given.provenance.dataset} ({given.provenance.reason or 'as asked'}). "
        )
    rows = {
        metric.name: f"| {metric.name} | {metric.unit} | {metric.direction} | {metric.text} |"
        for metric in metrics
    }
    return "\n".join(
        [words, "", "| metric | unit | better | meaning |", "|---|---|---|---|", *rows.values()]
    )


def _summary(sources: Sources, runs: Sequence[Run]) -> list[Run]:
    """The scorecard as a run of its own: how many claims hold, and each of them as a metric."""
    if not sources.scorecard:
        return []
    claims = next(
        store.read_json(path)["claims"] for path in sources.scorecard if path.endswith(".json")
    )
    tables = [Path(path).read_text() for path in sources.scorecard if path.endswith(".md")]
    marks = " and ".join(sorted({claim["provenance"] for claim in claims}))
    banner = (
        f'**{marks.capitalize()} data.** Filter the runs by `tags.experiment = "accuracy"`.\n\n'
    )
    tags = {"experiment": SUMMARY, "data": marks, "mlflow.note.content": banner + "\n".join(tables)}
    figures = [path for paths in sources.figures.values() for path in paths]
    return [
        Run(
            key=SUMMARY,
            name=SUMMARY,
            params={"experiment": SUMMARY, "runs": str(len(runs))},
            tags=tags,
            points=tuple(_claim_points(claims)),
            artifacts=(*(("", path) for path in sources.scorecard), *_place("figures", figures)),
            started=min(run.started for run in runs),
            ended=max(run.ended for run in runs),
        )
    ]


def _claim_points(claims: Sequence[Mapping[str, Any]]) -> list[Point]:
    held = [bool(claim["holds"]) for claim in claims if claim["holds"] is not None]
    counts = [
        Point("claims", len(claims)),
        Point("claims_judged", len(held)),
        Point("claims_hold", sum(held)),
    ]
    names = [
        f"claim/{number:02d} {claim['experiment']}" for number, claim in enumerate(claims, start=1)
    ]
    return counts + [
        Point(name, float(claim["ours"])) for name, claim in zip(names, claims, strict=True)
    ]


def _input(path: str) -> Input:
    meta, _ = store.read_archive(path, results.DATA)
    provenance = Provenance(**meta["provenance"])
    digest = hashlib.sha256(json.dumps(meta, sort_keys=True).encode()).hexdigest()[:16]
    return Input(
        Path(path).stem,
        digest,
        provenance,
        tuple(tuple(block["shape"]) for block in meta["blocks"]),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(store.plain(value))


def _sha256(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
