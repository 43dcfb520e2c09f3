"""Log experiments and runs to any MLflow store or server."""

import json
from collections.abc import Mapping

from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param
from mlflow.tracking import MlflowClient

from scoup.track.edits import KEY_TAG, with_record
from scoup.track.runs import FIRST_RUN, TrackedDataset, TrackedExperiment, TrackedRun
from scoup.track.views import VIEW_TAG, address

DIGEST_TAG = "scoup.digest"
NOTE_TAG, RUN_NAME_TAG = "mlflow.note.content", "mlflow.runName"
# Makes MLflow open an experiment on its table of runs, not on its pages for language models.
EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}
MAX_PARAMS, MAX_POINTS = 100, 900  # per request to MLflow
MAX_SOURCE_CHARACTERS = 65000


def run_tags(run: TrackedRun) -> dict[str, str]:
    """Return all tags of a run; MLflow keeps its name as one of them."""
    tags = {**run.tags, RUN_NAME_TAG: run.name, KEY_TAG: run.key, DIGEST_TAG: run.digest}
    return with_record(tags)


def log_run(client: MlflowClient, experiment: str, run: TrackedRun, kept: Mapping[str, str]) -> str:
    """Create a run with everything but its files and return its id; it stays unfinished.

    ``kept`` are tags that a person gave to an earlier version of the run.
    """
    created = client.create_run(experiment, run.started, {**run_tags(run), **kept})
    run_id = created.info.run_id
    params = [Param(key, value) for key, value in run.params.items()]
    points = [Metric(point.name, point.value, run.ended, point.step) for point in run.points]
    while params or points:
        client.log_batch(run_id, metrics=points[:MAX_POINTS], params=params[:MAX_PARAMS])
        params, points = params[MAX_PARAMS:], points[MAX_POINTS:]
    if run.dataset:
        client.log_inputs(run_id, [dataset_input(run.dataset)])
    return run_id


def mark_finished(client: MlflowClient, run_id: str, run: TrackedRun) -> None:
    """Mark a run as complete, once its files are there: an unfinished run is replaced next time."""
    client.set_terminated(run_id, status="FINISHED", end_time=run.ended)


def experiment_tags(
    experiment: TrackedExperiment, experiment_id: str, first_run: str
) -> dict[str, str]:
    """Return the description of an experiment, its prepared view and its key, as tags."""
    artifacts = f"#/experiments/{experiment_id}/runs/{first_run}/artifacts"
    question, *rest = experiment.description.replace(FIRST_RUN, artifacts).split("\n\n")
    # MLflow's list leads to its own view, and a team's server prints no links.
    note = "\n\n".join([f"{question} [Prepared view]({address(experiment_id)})", *rest])
    tags = {NOTE_TAG: note, VIEW_TAG: experiment.view}
    return with_record({**EXPERIMENT_TAGS, **tags, KEY_TAG: experiment.name})


def dataset_input(dataset: TrackedDataset) -> DatasetInput:
    """Return a data set as MLflow knows it."""
    origin = dataset.provenance
    files = [
        {"name": file.name, "address": file.address, "sha256": file.sha256, "bytes": file.bytes}
        for file in origin.files
    ]
    source = {"source": origin.source, "reason": origin.reason, "files": files}
    origin_facts = {"data": origin.mark, "size": origin.size, "seed": origin.seed}
    entity = Dataset(
        name=dataset.name,
        digest=dataset.digest,
        source_type=origin.source,
        source=json.dumps(source)[:MAX_SOURCE_CHARACTERS],
        profile=json.dumps({"shapes": dataset.shapes, **origin_facts}),
    )
    return DatasetInput(
        entity, [InputTag("mlflow.data.context", "training"), InputTag("data", origin.mark)]
    )
