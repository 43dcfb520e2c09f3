"""Server: the same runs on a team's MLflow server, each there once whatever was logged before or broken off."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import requests
from mlflow.entities import Run as Logged
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from scoup.errors import ScoupError
from scoup.track import without_secrets
from scoup.track.log import DIGEST, KEY, KIND, finish, log_run
from scoup.track.runs import Run


def send(runs: Sequence[Run], address: str, name: str) -> dict[str, Any]:
    """Log the runs that the server does not have yet; what they replace is deleted once they are whole."""
    shown = without_secrets(address)
    try:
        identity, sent = _send(runs, MlflowClient(address), name)
    except (MlflowException, requests.RequestException, OSError) as error:
        reason = str(error).splitlines()[0][:160]
        hint = (
            "the results are safe: start it and run snakemake again, or unset MLFLOW_TRACKING_URI"
        )
        wanted = f"the MLflow server {shown} to answer"
        raise ScoupError.expected("MLFLOW_TRACKING_URI", wanted, reason, hint) from None
    whole = hashlib.sha256("\n".join(run.digest for run in runs).encode()).hexdigest()
    place = {"store": shown, "experiment": name, "experiment_id": identity}
    return {**place, "runs": len(runs), "sent": sent, "digest": whole}


def _send(runs: Sequence[Run], client: MlflowClient, name: str) -> tuple[str, int]:
    identity, sent = _experiment(client, name), 0
    known = _known(client, identity)
    for run in runs:
        digest, there = run.digest, known.get(run.key, [])
        same = [
            old
            for old in there
            if old.data.tags.get(DIGEST) == digest and old.info.status == "FINISHED"
        ]
        if not same:
            _log(client, identity, run, digest)
            sent += 1
        for old in there:
            if old not in same[:1]:
                client.delete_run(old.info.run_id)
    return identity, sent


def _log(client: MlflowClient, experiment: str, run: Run, digest: str) -> None:
    made = log_run(client, experiment, run, digest)
    for place, path in run.artifacts:
        client.log_artifact(made, path, place or None)
    finish(client, made, run)


def _experiment(client: MlflowClient, name: str) -> str:
    """Return the id of the experiment, made if need be."""
    found = client.get_experiment_by_name(name)
    if found is None:
        return client.create_experiment(name, tags=KIND)
    if found.lifecycle_stage != "active":
        hint = "restore it on the server, or choose another name by MLFLOW_EXPERIMENT_NAME"
        raise ScoupError.expected(
            "experiment", f"an active experiment {name}", "a deleted one", hint
        )
    return found.experiment_id


def _known(client: MlflowClient, experiment: str) -> dict[str, list[Logged]]:
    """The active runs of ours that the server has, by key."""
    found: dict[str, list[Logged]] = defaultdict(list)
    token: str | None = None
    while True:
        page = client.search_runs([experiment], max_results=1000, page_token=token)
        for run in page:
            if KEY in run.data.tags:
                found[run.data.tags[KEY]].append(run)
        token = page.token
        if not token:
            return found
