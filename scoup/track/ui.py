"""UI: MLflow's own server on the local store, reachable from this machine only."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from scoup.errors import ScoupError
from scoup.track.local import ARTIFACTS, DATABASE

HOST = "127.0.0.1"


def command(folder: Path, port: int) -> list[str]:
    """Return the call of a server that shows the store in ``folder``, wherever that folder lies now."""
    return [
        sys.executable, "-m", "mlflow", "server", "--host", HOST, "--port", str(port), "--workers", "1",
        "--backend-store-uri", f"sqlite:///{folder.absolute() / DATABASE}",
        "--artifacts-destination", str(folder.absolute() / ARTIFACTS),
    ]  # fmt: skip


def environment() -> dict[str, str]:
    """Return the settings of the server: no telemetry, no job runner, and the file opened anew for each request.

    The last lets a server that is up show a store that was rebuilt meanwhile.
    """
    ours = {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "MLFLOW_SQLALCHEMYSTORE_POOLCLASS": "NullPool",
    }
    return {
        name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"
    } | ours


def page(port: int) -> str:
    """Return the address of the table of runs, in the mode for training and not the one for language models.

    >>> page(5000)
    'http://127.0.0.1:5000/#/experiments/1/runs?workflowType=machine_learning'
    """
    return f"http://{HOST}:{port}/#/experiments/1/runs?workflowType=machine_learning"


def serve(folder: Path, port: int) -> int:
    """Serve the store until interrupted, and print the address of its runs once it answers."""
    if not (folder / DATABASE).exists():
        hint = "run `make reproduce` first, or `snakemake --cores 4 --forcerun track` if it was deleted"
        raise ScoupError.expected(
            str(folder / DATABASE), "the store that the rule track builds", "no such file", hint
        )
    if _taken(port):
        raise ScoupError.expected(
            "port", "a free one", f"{port}, which is in use", f"try `make ui PORT={port + 1}`"
        )
    signal.signal(signal.SIGTERM, _end)  # a plain kill would leave the server behind
    server = subprocess.Popen(command(folder, port), env=environment())
    try:
        if wait(server, port):
            print(f"\n    MLflow shows the runs at  {page(port)}    (Ctrl-C ends it)\n", flush=True)
        return server.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        server.terminate()
        server.wait()


def wait(server: subprocess.Popen[bytes], port: int, seconds: float = 120.0) -> bool:
    """Wait until the server answers; False if it ended or never did."""
    limit = time.monotonic() + seconds
    while server.poll() is None and time.monotonic() < limit:
        try:
            with urllib.request.urlopen(f"http://{HOST}:{port}/health", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    return False


def _end(*_: Any) -> None:
    raise KeyboardInterrupt


def _taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return True
    return False
