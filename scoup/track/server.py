"""The same runs on a team's MLflow server, each exactly once, even after an interruption.

A run is known by its key and by the revision of the code that measured it: results of other code
stay, so that they can be compared.
"""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import requests
from mlflow.entities import Experiment, Run
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from scoup.errors import ScoupError
from scoup.track import without_secrets
from scoup.track.edits import KEY_TAG, edits
from scoup.track.log import DIGEST_TAG, experiment_tags, log_run, mark_finished
from scoup.track.runs import TrackedExperiment, TrackedRun

PAGE_RUNS = 1000  # runs per request to MLflow
Versions = dict[tuple[str, str], list[Run]]


def send(experiments: Sequence[TrackedExperiment], address: str, name: str) -> dict[str, Any]:
    """Log the runs that the server lacks; a run that they replace is deleted afterwards."""
    server, client = without_secrets(address), MlflowClient(address)
    try:
        sent = sum(_send(experiment, client, name) for experiment in experiments)
    except (MlflowException, requests.RequestException, OSError) as error:
        reason = str(error).splitlines()[0][:160]
        answer = f"the MLflow server {server} to answer"
        hint = "the results are safe: start it and run again, or unset MLFLOW_TRACKING_URI"
        raise ScoupError.expected("MLFLOW_TRACKING_URI", answer, reason, hint) from None
    digests = [experiment.digest for experiment in experiments]
    digest = hashlib.sha256("\n".join([name, *digests]).encode()).hexdigest()
    count = sum(len(experiment.runs) for experiment in experiments)
    return {"store": server, "experiments": name, "runs": count, "sent": sent, "digest": digest}


def _send(experiment: TrackedExperiment, client: MlflowClient, name: str) -> int:
    """Bring one experiment up to date and return how many of its runs were logged."""
    there = _experiment(client, f"{name}/{experiment.name}")
    logged, sent, first_run = _logged_runs(client, there.experiment_id), 0, ""
    for run in experiment.runs:
        versions = logged[run.key, run.tags.get("revision", "")]
        current = [version for version in versions if _is_current(version, run.digest)]
        run_id = current[0].info.run_id if current else _log(client, there, run, versions)
        sent += not current
        for version in versions:
            if version.info.run_id != run_id:
                client.delete_run(version.info.run_id)
        first_run = first_run or run_id
    kept = edits(there.tags)
    for key, value in experiment_tags(experiment, there.experiment_id, first_run).items():
        if key not in kept and there.tags.get(key) != value:
            client.set_experiment_tag(there.experiment_id, key, value)
    return sent


def _is_current(run: Run, digest: str) -> bool:
    return run.data.tags.get(DIGEST_TAG) == digest and run.info.status == "FINISHED"


def _log(client: MlflowClient, there: Experiment, run: TrackedRun, versions: Sequence[Run]) -> str:
    """Log a run with what a person added to earlier versions of it; return its id."""
    kept: dict[str, str] = {}
    for version in versions:
        kept |= edits(version.data.tags)
    run_id = log_run(client, there.experiment_id, run, kept)
    for folder, path in run.artifacts:
        client.log_artifact(run_id, path, folder or None)
    mark_finished(client, run_id, run)
    return run_id


def _experiment(client: MlflowClient, name: str) -> Experiment:
    """Return an experiment of the server, created if needed."""
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        return client.get_experiment(client.create_experiment(name))
    if experiment.lifecycle_stage != "active":
        hint = "restore it on the server, or choose another name by MLFLOW_EXPERIMENT_NAME"
        raise ScoupError.expected(
            "experiment", f"an active experiment {name}", "a deleted one", hint
        )
    return experiment


def _logged_runs(client: MlflowClient, experiment: str) -> Versions:
    """Return the active runs that scoup has logged to the server, by key and revision."""
    runs: Versions = defaultdict(list)
    token: str | None = None
    while True:
        page = client.search_runs([experiment], max_results=PAGE_RUNS, page_token=token)
        for run in page:
            tags = run.data.tags
            if KEY_TAG in tags:
                runs[tags[KEY_TAG], tags.get("revision", "")].append(run)
        token = page.token
        if not token:
            return runs
