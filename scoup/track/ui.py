"""MLflow's own server on the local store, reachable from this machine only."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from shlex import quote
from typing import Any

from scoup.errors import ScoupError
from scoup.layout import command_name
from scoup.track.local import ARTIFACTS, DATABASE, experiments
from scoup.track.views import address

HOST = "127.0.0.1"


def command(folder: Path, port: int) -> list[str]:
    """Return the command of a server that shows the store in ``folder``."""
    return [
        sys.executable, "-m", "mlflow", "server",
        "--host", HOST, "--port", str(port), "--workers", "1",
        "--backend-store-uri", f"sqlite:///{folder.absolute() / DATABASE}",
        "--artifacts-destination", str(folder.absolute() / ARTIFACTS),
    ]  # fmt: skip


def environment() -> dict[str, str]:
    """Return the environment of the server: no telemetry, no job runner, no pool of connections.

    Without a pool every request opens the database, so that a running server shows a rebuilt store.
    """
    settings = {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "MLFLOW_SQLALCHEMYSTORE_POOLCLASS": "NullPool",
    }
    inherited = {key: value for key, value in os.environ.items() if key != "MLFLOW_TRACKING_URI"}
    return inherited | settings


def pages(folder: Path, port: int) -> dict[str, str]:
    """Return the address of the prepared view of each experiment, by its name."""
    return {
        name: f"http://{HOST}:{port}/{address(experiment_id)}"
        for experiment_id, name in experiments(folder)
    }


def serve(folder: Path, port: int) -> int:
    """Serve the store until interrupted; print the address of its runs once it answers."""
    if not (folder / DATABASE).exists():
        hint = f"{command_name()} run builds it, and with --forcerun track again if it was deleted"
        raise ScoupError.expected(
            str(folder / DATABASE), "the store that the rule track builds", "no such file", hint
        )
    if _in_use(port):
        hint = f"try `{command_name()} ui --results {quote(str(folder))} --port {port + 1}`"
        raise ScoupError.expected("port", "a free one", f"{port}, which is in use", hint)
    signal.signal(signal.SIGTERM, _interrupt)  # a plain kill would leave the server running
    server = subprocess.Popen(command(folder, port), env=environment())
    try:
        if wait(server, port):
            lines = [f"    {name:22} {page}" for name, page in pages(folder, port).items()]
            print("\nMLflow shows the runs of each experiment (Ctrl-C stops it):\n", flush=True)
            print("\n".join(lines), end="\n\n", flush=True)
        return server.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        server.terminate()
        server.wait()


def wait(server: subprocess.Popen[bytes], port: int, seconds: float = 120.0) -> bool:
    """Wait until the server answers; return False if it ended or did not."""
    limit = time.monotonic() + seconds
    while server.poll() is None and time.monotonic() < limit:
        try:
            with urllib.request.urlopen(f"http://{HOST}:{port}/health", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    return False


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _in_use(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return True
    return False
