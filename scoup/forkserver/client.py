"""``python -I -S client.py ADDRESS PYTHON SCRIPT``: run a script in a fork of the server.

Snakemake starts this file for every job, so it imports almost nothing: with ``socket``, which
needs ``enum`` and ``selectors``, it would take twice as long.
"""

import _socket
import os
import signal
import sys
import time

STREAMS = (0, 1, 2)


def main() -> None:
    """Have the server run the script, or become the Python that the command names."""
    address, *command = sys.argv[1:]
    # Ctrl-C reaches the fork too, which may have something to clean up.
    inherited = signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = _request(address, command, inherited is signal.SIG_IGN)
    if connection is None or not _receive(connection, 1):  # no fork was made
        signal.signal(signal.SIGINT, inherited)
        os.execvp(command[0], command)
    answer = _receive(connection, 4)
    if not answer:
        sys.exit("scoup: the fork server was killed, and this job with it; run again.")
    _end_as(int.from_bytes(answer, sys.byteorder))


def _request(address: str, command: list[str], uninterrupted: bool) -> _socket.socket | None:
    """Send the job to the server; None if there is none, or if it is no job for this Python."""
    if len(command) != 2 or command[0] != sys.executable:
        return None
    words = [str(time.process_time()), str(int(uninterrupted)), command[1], os.getcwd()]
    words += [f"{name}={value}" for name, value in os.environ.items()]
    body = b"\0".join(map(os.fsencode, words))
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in STREAMS)
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.connect(address)
        head = len(body).to_bytes(8, sys.byteorder)
        connection.sendmsg([head], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
        connection.sendall(body)
    except OSError:
        return None
    return connection


def _receive(connection: _socket.socket, size: int) -> bytes:
    """Wait for an answer; nothing if the server ended."""
    try:
        return connection.recv(size)
    except ConnectionResetError:
        return b""


def _end_as(status: int) -> None:
    """End as the fork has ended: with its exit code, or by its signal."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()
