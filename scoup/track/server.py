"""The same runs on a team's MLflow server, each exactly once, even after an interruption."""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import requests
from mlflow.entities import Run
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from scoup.errors import ScoupError
from scoup.track import without_secrets
from scoup.track.log import DIGEST_TAG, EXPERIMENT_TAGS, KEY_TAG, log_run, mark_finished
from scoup.track.runs import TrackedRun

PAGE_RUNS = 1000  # runs per request to MLflow


def send(runs: Sequence[TrackedRun], address: str, name: str) -> dict[str, Any]:
    """Log the runs that the server lacks; a run that they replace is deleted afterwards."""
    server = without_secrets(address)
    try:
        experiment, sent = _send(runs, MlflowClient(address), name)
    except (MlflowException, requests.RequestException, OSError) as error:
        reason = str(error).splitlines()[0][:160]
        answer = f"the MLflow server {server} to answer"
        hint = (
            "the results are safe: start it and run snakemake again, or unset MLFLOW_TRACKING_URI"
        )
        raise ScoupError.expected("MLFLOW_TRACKING_URI", answer, reason, hint) from None
    digest = hashlib.sha256("\n".join(run.digest for run in runs).encode()).hexdigest()
    store = {"store": server, "experiment": name, "experiment_id": experiment}
    return {**store, "runs": len(runs), "sent": sent, "digest": digest}


def _send(runs: Sequence[TrackedRun], client: MlflowClient, name: str) -> tuple[str, int]:
    experiment, sent = _experiment(client, name), 0
    logged = _logged_runs(client, experiment)
    for run in runs:
        digest, versions = run.digest, logged.get(run.key, [])
        current = [version for version in versions if _is_current(version, digest)]
        if not current:
            _log(client, experiment, run, digest)
            sent += 1
        for version in versions:
            if version not in current[:1]:
                client.delete_run(version.info.run_id)
    return experiment, sent


def _is_current(run: Run, digest: str) -> bool:
    return run.data.tags.get(DIGEST_TAG) == digest and run.info.status == "FINISHED"


def _log(client: MlflowClient, experiment: str, run: TrackedRun, digest: str) -> None:
    run_id = log_run(client, experiment, run, digest)
    for folder, path in run.artifacts:
        client.log_artifact(run_id, path, folder or None)
    mark_finished(client, run_id, run)


def _experiment(client: MlflowClient, name: str) -> str:
    """Return the id of the experiment, created if needed."""
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        return client.create_experiment(name, tags=EXPERIMENT_TAGS)
    if experiment.lifecycle_stage != "active":
        hint = "restore it on the server, or choose another name by MLFLOW_EXPERIMENT_NAME"
        raise ScoupError.expected(
            "experiment", f"an active experiment {name}", "a deleted one", hint
        )
    return experiment.experiment_id


def _logged_runs(client: MlflowClient, experiment: str) -> dict[str, list[Run]]:
    """Return the active runs that scoup has logged to the server, by key."""
    runs: dict[str, list[Run]] = defaultdict(list)
    token: str | None = None
    while True:
        page = client.search_runs([experiment], max_results=PAGE_RUNS, page_token=token)
        for run in page:
            if KEY_TAG in run.data.tags:
                runs[run.data.tags[KEY_TAG]].append(run)
        token = page.token
        if not token:
            return runs
