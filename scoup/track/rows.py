"""The rows of a new store, written in bulk into the tables that MLflow has created.

MLflow's client takes 25 to 50 ms per run, one transaction per call; a whole run of the project has
more than a thousand. A new store has no other readers or writers, so its rows go in at once. A test
compares what MLflow reads from such a store with what its client logs.
"""

import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from mlflow.store.tracking.dbmodels import models
from sqlalchemy.orm import Session

from scoup.track.log import dataset_input, run_tags
from scoup.track.runs import Point, TrackedDataset, TrackedRun

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
    datasets = {run.dataset.digest: run.dataset for run in runs if run.dataset}
    for dataset in datasets.values():
        session.add(_dataset_row(dataset, experiment_id))
    session.flush()
    for run in runs:
        session.add(_run_row(run, experiment_id))
        session.add_all(_rows(run, experiment_id))


def _run_row(run: TrackedRun, experiment_id: str) -> Any:
    run_id = run_id_of(run)
    return models.SqlRun(
        run_uuid=run_id,
        name=run.name,
        source_type="UNKNOWN",
        source_name="",
        entry_point_name="",
        user_id="unknown",
        status="FINISHED",
        start_time=run.started,
        end_time=run.ended,
        source_version="",
        lifecycle_stage="active",
        artifact_uri=f"mlflow-artifacts:/{experiment_id}/{run_id}/artifacts",
        experiment_id=int(experiment_id),
    )


def _rows(run: TrackedRun, experiment_id: str) -> Iterator[Any]:
    """Yield tags, params, metrics and the data set of a run."""
    run_id = run_id_of(run)
    yield from (models.SqlTag(run_uuid=run_id, key=k, value=v) for k, v in run_tags(run).items())
    yield from (models.SqlParam(run_uuid=run_id, key=k, value=v) for k, v in run.params.items())
    latest: dict[str, Point] = {}
    for point in dict.fromkeys(run.points):
        yield _metric_row(models.SqlMetric, run, point)
        latest[point.name] = max(latest.get(point.name, point), point, key=lambda p: p.step)
    for point in latest.values():
        yield _metric_row(models.SqlLatestMetric, run, point)
    if run.dataset:
        source, input_id = _dataset_id(run.dataset, experiment_id), identify("input", run_id)
        yield models.SqlInput(
            input_uuid=input_id,
            source_type="DATASET",
            source_id=source,
            destination_type="RUN",
            destination_id=run_id,
        )
        for tag in dataset_input(run.dataset).tags:
            yield models.SqlInputTag(input_uuid=input_id, name=tag.key, value=tag.value)


def _metric_row(table: Any, run: TrackedRun, point: Point) -> Any:
    return table(
        run_uuid=run_id_of(run),
        key=point.name,
        value=point.value,
        timestamp=run.ended,
        step=point.step,
        is_nan=False,
    )


def _dataset_id(dataset: TrackedDataset, experiment_id: str) -> str:
    return identify("dataset", experiment_id, dataset.name, dataset.digest)


def _dataset_row(dataset: TrackedDataset, experiment_id: str) -> Any:
    entity = dataset_input(dataset).dataset
    return models.SqlDataset(
        dataset_uuid=_dataset_id(dataset, experiment_id),
        experiment_id=int(experiment_id),
        name=entity.name,
        digest=entity.digest,
        dataset_source_type=entity.source_type,
        dataset_source=entity.source,
        dataset_schema=entity.schema,
        dataset_profile=entity.profile,
    )
