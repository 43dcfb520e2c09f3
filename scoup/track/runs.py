"""What a tracker is told, as plain records: no tracker is needed here."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from scoup import results, store
from scoup.job import read_facts
from scoup.records import Provenance
from scoup.track.points import Point

FIRST_RUN = "FIRST-RUN"
FACT_TAGS = ("host", "threads", "version", "revision", "python")
# MLflow shows metrics with this prefix in a section of system metrics.
SYSTEM_PREFIX = "system/"
SYSTEM_FACTS = {
    f"{SYSTEM_PREFIX}processor_seconds": "processor",
    f"{SYSTEM_PREFIX}memory_mb": "memory_mb",
}


@dataclass(frozen=True)
class TrackedDataset:
    """The data set that a run was measured on."""

    name: str
    digest: str
    provenance: Provenance
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def read(cls, name: str, path: str) -> "TrackedDataset":
        """Read the description of a data set, and none of its values."""
        meta = results.read_dataset_meta(path)
        digest = hashlib.sha256(json.dumps(meta, sort_keys=True).encode()).hexdigest()[:16]
        shapes = tuple(tuple(block["shape"]) for block in meta["blocks"])
        return cls(name, digest, Provenance(**meta["provenance"]), shapes)


@dataclass(frozen=True)
class TrackedRun:
    """All that a tracker is told about one run. Times are milliseconds since 1970.

    ``key`` identifies the run from build to build. ``artifacts`` are pairs of a folder among the
    run's artifacts and the path of a file to put there.
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

    @cached_property
    def digest(self) -> str:
        """Checksum of the run with its files: runs with equal digests need not be logged again."""
        files = [(folder, Path(path).name, _sha256(path)) for folder, path in self.artifacts]
        record = json.dumps(replace(self, artifacts=()), sort_keys=True, default=_plain)
        return hashlib.sha256(json.dumps([record, files]).encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Return the fields of a record, not copied as by ``asdict``; anything else as text."""
    if not is_dataclass(value):
        return str(value)
    return {field.name: getattr(value, field.name) for field in fields(value)}


@dataclass(frozen=True)
class TrackedExperiment:
    """An experiment of the tracker: its runs, a description in Markdown, and a prepared view.

    In the description, ``FIRST_RUN`` stands for the address of the first run's artifacts, and
    ``view`` is the state that :func:`scoup.track.views.state` returns.
    """

    name: str
    description: str
    view: str
    runs: tuple[TrackedRun, ...]

    @cached_property
    def digest(self) -> str:
        """Checksum of all that the tracker is told."""
        record = [self.name, self.description, self.view, [run.digest for run in self.runs]]
        return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Origin:
    """Where the numbers of a job come from: its facts and files, and its data set."""

    facts: Mapping[str, Any]
    dataset: TrackedDataset | None
    artifacts: tuple[tuple[str, str], ...]

    @classmethod
    def read(
        cls, result: str, facts: str, dataset: TrackedDataset | None, files: Mapping[str, Sequence]
    ) -> "Origin":
        """Read the facts of a job; if they are lost, at least when its result was written."""
        written = Path(result).stat().st_mtime
        times = {"started": written, "ended": written}
        artifacts = [
            (folder, path)
            for folder, paths in files.items()
            for path in paths
            if path and Path(path).exists()
        ]
        return cls(times | read_facts(facts), dataset, tuple(artifacts))

    def run(
        self, key: str, name: str, params: Mapping[str, Any], points: Sequence[Point], order: int
    ) -> TrackedRun:
        """Return a run of this job.

        A table of runs shows the newest first. All runs of a job start together, so the one that
        comes first in ``order`` starts some milliseconds later.
        """
        started, ended = (round(1000 * self.facts[name]) for name in ("started", "ended"))
        return TrackedRun(
            key=key,
            name=name,
            params={name: text(value) for name, value in params.items()},
            tags=self._tags(),
            points=(*points, *self.system_points()),
            artifacts=self.artifacts,
            started=started - order,
            ended=ended,
            dataset=self.dataset,
        )

    def system_points(self) -> list[Point]:
        """Return what the job took of the machine, under the names that MLflow shows apart."""
        return [
            Point(name, float(self.facts[fact]))
            for name, fact in SYSTEM_FACTS.items()
            if fact in self.facts
        ]

    def _tags(self) -> dict[str, str]:
        """Return what a reader filters by, and where the run came from."""
        tags = {name: str(self.facts.get(name, "unknown")) for name in FACT_TAGS}
        tags |= {
            "mlflow.source.git.commit": tags["revision"].split("-")[0],
            "mlflow.source.type": "JOB",
            "mlflow.source.name": f"workflow/scripts/{self.facts.get('rule', 'experiments')}.py",
        }
        if self.dataset:
            origin = self.dataset.provenance
            tags |= {"data": origin.mark, "source": origin.source, "reason": origin.reason}
        return {name: value for name, value in tags.items() if value}


def text(value: Any) -> str:
    """Return a value as the text of a parameter.

    >>> text("joint"), text([3, 86, 1])
    ('joint', '[3, 86, 1]')
    """
    return value if isinstance(value, str) else json.dumps(store.plain(value))


def _sha256(path: str) -> str:
    status = Path(path).stat()
    return _sha256_of(path, status.st_mtime_ns, status.st_size)


@cache
def _sha256_of(path: str, modified: int, size: int) -> str:
    """Return the checksum of a file; many runs share the files of one job."""
    del modified, size
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
