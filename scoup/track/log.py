"""Log: one run, told to any MLflow store or server. It is finished last, so that a broken one can be known."""

from __future__ import annotations

import json

from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param
from mlflow.tracking import MlflowClient

from scoup.track.runs import Input, Run

KEY, DIGEST = "scoup.key", "scoup.digest"
# By this MLflow opens an experiment on its table of runs, not on its pages for language models.
KIND = {"mlflow.experimentKind": "custom_model_development"}
_PARAMS, _POINTS = 100, 900  # MLflow takes no more at once


def log_run(client: MlflowClient, experiment: str, run: Run, digest: str) -> str:
    """Create a run and tell everything but its files; return its id. The caller ends it by :func:`finish`."""
    tags = {**run.tags, KEY: run.key, DIGEST: digest}
    made = client.create_run(experiment, start_time=run.started, tags=tags, run_name=run.name)
    name = made.info.run_id
    params = [Param(key, value) for key, value in run.params.items()]
    points = [Metric(point.name, point.value, run.ended, point.step) for point in run.points]
    while params or points:
        client.log_batch(name, metrics=points[:_POINTS], params=params[:_PARAMS])
        params, points = params[_PARAMS:], points[_POINTS:]
    if run.input:
        client.log_inputs(name, [_input(run.input)])
    return name


def finish(client: MlflowClient, name: str, run: Run) -> None:
    """Mark a run as whole, with the time at which its job ended."""
    client.set_terminated(name, status="FINISHED", end_time=run.ended)


def _input(given: Input) -> DatasetInput:
    origin = given.provenance
    files = [
        {"name": f.name, "address": f.address, "sha256": f.sha256, "bytes": f.bytes}
        for f in origin.files
    ]
    source = {"source": origin.source, "reason": origin.reason, "files": files}
    dataset = Dataset(
        name=given.name,
        digest=given.digest,
        source_type=origin.source,
        source=json.dumps(source)[:65000],
        profile=json.dumps(
            {"shapes": given.shapes, "data": origin.mark, "size": origin.size, "seed": origin.seed}
        ),
    )
    return DatasetInput(
        dataset, [InputTag("mlflow.data.context", "training"), InputTag("data", origin.mark)]
    )
