"""The rows of a new store, written in bulk into the tables that MLflow has created.

MLflow's client takes 25 to 50 ms per run, one transaction per call; a whole run of the project has
more than a thousand. A new store has no other readers or writers, so its rows go in at once. A test
compares what MLflow reads from such a store with what its client logs.
"""

import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from mlflow.store.tracking.dbmodels import models
from sqlalchemy import insert
from sqlalchemy.orm import Session

from scoup.track.log import dataset_input, run_tags
from scoup.track.runs import Point, TrackedDataset, TrackedRun

Row = dict[str, Any]
_NAMES = uuid.uuid5(uuid.NAMESPACE_DNS, "scoup")


def identify(*words: str) -> str:
    """Return an id that depends on the words alone: equal results give equal stores.

    >>> identify("accuracy", "seed0") == identify("accuracy", "seed0")
    True
    """
    return uuid.uuid5(_NAMES, "\n".join(words)).hex


def run_id_of(run: TrackedRun) -> str:
    """Return the id of a run: another one as soon as anything in the run differs."""
    return identify(run.key, run.digest)


def insert_runs(session: Session, experiment_id: str, runs: Sequence[TrackedRun]) -> None:
    """Insert finished runs with all that they hold but their files."""
    tables: dict[Any, list[Row]] = defaultdict(list)
    datasets = {run.dataset.digest: run.dataset for run in runs if run.dataset}
    tables[models.SqlDataset] = [_dataset_row(one, experiment_id) for one in datasets.values()]
    for run in runs:
        for table, row in _rows(run, run_id_of(run), experiment_id):
            tables[table].append(row)
    # One statement per table: MLflow's objects, one per row, would take ten times as long.
    for model, rows in tables.items():
        if rows:
            session.execute(insert(model.__table__), rows)


def _rows(run: TrackedRun, run_id: str, experiment_id: str) -> Iterator[tuple[Any, Row]]:
    """Yield the rows of a run, each with its table: tags, params, metrics and the data set."""
    yield models.SqlRun, _run_row(run, run_id, experiment_id)
    for key, value in run_tags(run).items():
        yield models.SqlTag, {"run_uuid": run_id, "key": key, "value": value}
    for key, value in run.params.items():
        yield models.SqlParam, {"run_uuid": run_id, "key": key, "value": value}
    latest: dict[str, Point] = {}
    for point in dict.fromkeys(run.points):
        yield models.SqlMetric, _metric_row(run, run_id, point)
        latest[point.name] = max(latest.get(point.name, point), point, key=lambda p: p.step)
    for point in latest.values():
        yield models.SqlLatestMetric, _metric_row(run, run_id, point)
    if run.dataset:
        input_id = identify("input", run_id)
        yield (
            models.SqlInput,
            {
                "input_uuid": input_id,
                "source_type": "DATASET",
                "source_id": _dataset_id(run.dataset, experiment_id),
                "destination_type": "RUN",
                "destination_id": run_id,
            },
        )
        for tag in dataset_input(run.dataset).tags:
            row = {"input_uuid": input_id, "name": tag.key, "value": tag.value}
            yield models.SqlInputTag, row


def _run_row(run: TrackedRun, run_id: str, experiment_id: str) -> Row:
    return {
        "run_uuid": run_id,
        "name": run.name,
        "source_type": "UNKNOWN",
        "source_name": "",
        "entry_point_name": "",
        "user_id": "unknown",
        "status": "FINISHED",
        "start_time": run.started,
        "end_time": run.ended,
        "source_version": "",
        "lifecycle_stage": "active",
        "artifact_uri": f"mlflow-artifacts:/{experiment_id}/{run_id}/artifacts",
        "experiment_id": int(experiment_id),
    }


def _metric_row(run: TrackedRun, run_id: str, point: Point) -> Row:
    return {
        "run_uuid": run_id,
        "key": point.name,
        "value": point.value,
        "timestamp": run.ended,
        "step": point.step,
        "is_nan": False,
    }


def _dataset_id(dataset: TrackedDataset, experiment_id: str) -> str:
    return identify("dataset", experiment_id, dataset.name, dataset.digest)


def _dataset_row(dataset: TrackedDataset, experiment_id: str) -> Row:
    entity = dataset_input(dataset).dataset
    return {
        "dataset_uuid": _dataset_id(dataset, experiment_id),
        "experiment_id": int(experiment_id),
        "name": entity.name,
        "digest": entity.digest,
        "dataset_source_type": entity.source_type,
        "dataset_source": entity.source,
        "dataset_schema": entity.schema,
        "dataset_profile": entity.profile,
    }
