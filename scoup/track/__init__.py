"""Tracking: an MLflow store built from the metrics files, which stay the truth.

Jobs never touch the store. One stage reads what they left and builds ``mlflow.db`` anew beside the results, or brings
a team's server up to date where ``MLFLOW_TRACKING_URI`` names one. Nothing else of scoup imports mlflow.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scoup.track.runs import Sources, collect

# Set before mlflow is imported: it asks the network otherwise, and waits for minutes on a server that is down.
for _name, _value in {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
}.items():
    os.environ.setdefault(_name, _value)

EXPERIMENT = "scoup"


def track(sources: Sources, folder: str | Path) -> dict[str, Any]:
    """Bring the store up to date with the results, and return where the runs are and how many.

    ``MLFLOW_TRACKING_URI`` names a server to send them to; without it they go to ``folder/mlflow.db``.
    """
    runs = collect(sources)
    name = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
    address = os.environ.get("MLFLOW_TRACKING_URI", "")
    if address:
        from scoup.track.server import send

        return send(runs, address, name)
    from scoup.track.local import build

    return build(runs, Path(folder), name)


def target(environment: Mapping[str, str]) -> list[str]:
    """Say where :func:`track` would go: a change of it makes the stage run again."""
    address = environment.get("MLFLOW_TRACKING_URI", "")
    return [without_secrets(address), environment.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)]


def without_secrets(address: str) -> str:
    """Return an address without the name and password in it.

    >>> without_secrets("https://me:secret@runs.example.org")
    'https://runs.example.org'
    """
    scheme, mark, rest = address.partition("://")
    return scheme + mark + rest.rpartition("@")[2]
