"""Tracking: an MLflow store made from the result files, which remain the reference.

Jobs never touch the store. One stage reads the files they wrote and builds ``mlflow.db`` next to
the results, or updates a team's server if ``MLFLOW_TRACKING_URI`` names one. Nothing else of scoup
imports mlflow.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scoup.extras import require
from scoup.track.sources import Job, Sources

__all__ = ["Job", "Sources", "target", "track", "without_secrets"]

# Set before mlflow is imported: it reports its use otherwise, and waits minutes for a dead server.
for _name, _value in {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}.items():
    os.environ.setdefault(_name, _value)
require("mlflow", "workflow")

EXPERIMENT = "scoup"


def track(sources: Sources, folder: str | Path) -> dict[str, Any]:
    """Update the store from the results; return where the runs are and how many.

    They go to the server that ``MLFLOW_TRACKING_URI`` names, or else to ``folder/mlflow.db``.
    """
    # Snakemake imports this module for target(), so the readers of results are imported here.
    from scoup.track.collect import collect

    experiments = collect(sources)
    name = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
    address = os.environ.get("MLFLOW_TRACKING_URI", "")
    if address:
        from scoup.track.server import send

        return send(experiments, address, name)
    from scoup.track.local import build

    return build(experiments, Path(folder), name)


def target(environment: Mapping[str, str]) -> list[str]:
    """Return where :func:`track` would send runs: the stage is rerun when this changes."""
    address = environment.get("MLFLOW_TRACKING_URI", "")
    return [without_secrets(address), environment.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)]


def without_secrets(address: str) -> str:
    """Return an address without the user and password in it.

    >>> without_secrets("https://me:secret@runs.example.org")
    'https://runs.example.org'
    """
    scheme, mark, rest = address.partition("://")
    return scheme + mark + rest.rpartition("@")[2]
