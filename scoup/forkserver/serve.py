"""``python -m scoup.forkserver.serve LISTENER FIRST LATER``: import modules and fork into jobs.

``FIRST`` and ``LATER`` are names of modules, or ``module:function`` to be called, with commas in
between. Clients wait for the first; the others are imported while no client waits.

The server reads nothing that a client sends: each fork reads the request of its own client, as
plain bytes. The server ends with the process that started it, which holds the other end of its
standard input; a fork ends with the server, and with its client.
"""

import atexit
import ctypes
import gc
import os
import runpy
import select
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from pkgutil import resolve_name

PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of <sys/prctl.h>
STREAMS = (0, 1, 2)
libc = ctypes.CDLL(None)


def main() -> None:
    """Serve until standard input ends; a fork returns from :func:`serve` to run its job."""
    number, first, later = sys.argv[1:]
    # The terminal's Ctrl-C reaches the whole process group; the server ends after its forks.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if not all(map(prepare, first.split(","))):
        sys.exit(1)
    run_job(serve(socket.socket(fileno=int(number)), list(filter(None, later.split(",")))))


def prepare(name: str) -> bool:
    """Import a module, or call a function, for all forks to come; return whether forks are safe."""
    with suppress(Exception):  # a job that needs the module says what is wrong with it
        target = resolve_name(name)
        if callable(target):
            target()
    gc.freeze()  # a collection in a fork would copy the pages that it marks
    is_alone = len(os.listdir("/proc/self/task")) == 1
    if not is_alone:
        sys.stderr.write(f"scoup: {name} has started a thread, so further jobs are no forks.\n")
    return is_alone


def serve(listener: socket.socket, later: list[str]) -> socket.socket:
    """Fork for every client, and return its connection in the fork; the server never returns."""
    server, address, connections = os.getpid(), listener.getsockname(), dict[int, socket.socket]()
    child_ended, wakeup = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    poll = select.poll()
    for number in (sys.stdin.fileno(), child_ended, listener.fileno()):
        poll.register(number, select.POLLIN)
    while True:
        ready = {number for number, _ in poll.poll(0 if later else None)}
        if sys.stdin.fileno() in ready:
            _end(Path(address), connections)
        if child_ended in ready:
            os.read(child_ended, select.PIPE_BUF)
            _report_ended(connections, poll)
        _kill_forks_of_killed_clients(connections, ready)
        if listener.fileno() in ready and (connection := _accept(listener)):
            pid = os.fork()
            if not pid:
                _leave_server(server, [listener, *connections.values()])
                return connection
            connections[pid] = connection
            poll.register(connection, select.POLLRDHUP)
            _send(connection, b"\1")
        if later and not ready and not prepare(later.pop(0)):
            poll.unregister(listener)
            listener.close()
            later.clear()


def run_job(connection: socket.socket) -> None:
    """Run the script of a client as a Python that it had started would."""
    size, streams, *_ = socket.recv_fds(connection, 8, len(STREAMS))
    body = b""
    while len(body) < int.from_bytes(size, sys.byteorder):
        body += connection.recv(1 << 20) or sys.exit(1)
    connection.close()
    seconds, uninterrupted, script, folder, *environment = map(os.fsdecode, body.split(b"\0"))
    if uninterrupted == "0":
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for stream, number in zip(streams, STREAMS, strict=True):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(dict(entry.split("=", 1) for entry in environment))
    os.environ["SCOUP_CLIENT_SECONDS"] = seconds
    tempfile.tempdir = None  # TMPDIR may differ
    sys.argv = [script]
    sys.path.insert(0, str(Path(script).parent))
    runpy.run_path(script, run_name="__main__")
    _end_job()


def _end_job() -> None:
    """End a fork whose job is done as a Python ends, but leave its modules as they are.

    To clear them takes longer than most jobs: each is shared with the server, so copied first.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _leave_server(server: int, sockets: Iterable[socket.socket]) -> None:
    """Make a fork an ordinary process, which ends with the server."""
    libc.prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != server:
        os._exit(1)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for other in sockets:
        other.close()


def _report_ended(connections: dict[int, socket.socket], poll: select.poll) -> None:
    """Send the exit status of every fork that has ended to its client."""
    while connections:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        connection = connections.pop(pid)
        poll.unregister(connection)
        _send(connection, status.to_bytes(4, sys.byteorder))
        connection.close()


def _kill_forks_of_killed_clients(
    connections: Mapping[int, socket.socket], ready: Container[int]
) -> None:
    for pid, connection in connections.items():
        if connection.fileno() in ready:
            os.kill(pid, signal.SIGKILL)


def _send(connection: socket.socket, answer: bytes) -> None:
    with suppress(OSError):  # the client was killed
        connection.sendall(answer)


def _accept(listener: socket.socket) -> socket.socket | None:
    """Return the connection of a client, if it has the same user as the server."""
    connection, _ = listener.accept()
    if _is_own_user(connection):
        return connection
    connection.close()
    return None


def _is_own_user(connection: socket.socket) -> bool:
    """Whether the process at the other end runs as the same user."""
    layout = "3i"  # pid, uid, gid
    size = struct.calcsize(layout)
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    return struct.unpack(layout, credentials)[1] == os.getuid()


def _end(address: Path, connections: Iterable[int]) -> None:
    """Kill the forks, remove the socket and its folder, and say what the server itself took."""
    for pid in connections:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    with suppress(OSError):
        address.unlink()
        address.parent.rmdir()
    with suppress(OSError):  # nobody listens if the process that started this one was killed
        os.write(sys.stdout.fileno(), str(time.process_time()).encode())
    os._exit(0)


if __name__ == "__main__":
    main()
