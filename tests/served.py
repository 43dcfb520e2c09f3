"""A real MLflow server on loopback for tests."""

import socket
import subprocess
from contextlib import contextmanager
from pathlib import Path

from scoup.track import ui


def free_port():
    """Return a free port."""
    with socket.socket() as probe:
        probe.bind((ui.HOST, 0))
        return probe.getsockname()[1]


def start(folder, port):
    """Start a server on the store in ``folder`` and wait until it answers."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "server.log").open("ab") as log:
        server = subprocess.Popen(
            ui.command(folder, port), env=ui.environment(), stdout=log, stderr=log
        )
    assert ui.wait(server, port), (folder / "server.log").read_text()[-3000:]
    return server


def stop(server):
    """Stop a server and wait for it."""
    server.terminate()
    server.wait(timeout=60)


@contextmanager
def serving(folder):
    """Serve a store while the body runs; yield the port."""
    port = free_port()
    server = start(folder, port)
    try:
        yield port
    finally:
        stop(server)
