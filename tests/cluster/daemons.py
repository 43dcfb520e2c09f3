"""What the schedulers of the tests share: packages, and processes to wait for and to end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path


def missing(commands: Sequence[str]) -> list[str]:
    """Return the commands that are not installed."""
    return [command for command in commands if shutil.which(command) is None]


def why_not(name: str, commands: Sequence[str], module: str) -> str:
    """Return why a scheduler cannot be started here, or an empty string."""
    if os.geteuid() != 0:
        return "starting a cluster needs root"
    if absent := missing(commands):
        return f"{name} is not installed ({', '.join(absent)} missing): python -m {module} install"
    return ""


def install(name: str, packages: Sequence[str], commands: Sequence[str]) -> None:
    """Install packages with apt, or print why the tests will be skipped."""
    if not missing(commands):
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        print(f"{name} needs root and apt-get to be installed. Its tests will be skipped.")
        return
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
        command = ["apt-get", "--quiet", *words]
        process = subprocess.run(command, env=quiet, check=False, stdout=subprocess.DEVNULL)
        if process.returncode:
            print(f"apt-get {words[0]} failed. Tests of {name} will be skipped.")


def until(condition: Callable[[], object], what: str, logs: Path, seconds: float = 60) -> None:
    """Wait until ``condition`` returns something true."""
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            raise SystemExit(f"Waited {seconds:.0f} s for {what}; see the logs in {logs}.")
        time.sleep(0.1)


def end(pid: int | None, number: signal.Signals, logs: Path) -> None:
    """Send a signal to a process and wait until it has ended."""
    if pid is None:
        return
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
    until(lambda: _state(pid) == "Z", f"the end of process {pid}", logs)


def program(pid: int) -> str:
    """Return the program name of a process; nothing if it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def environment(pid: int) -> list[str]:
    """Return the variables of a process as ``NAME=value``; none if it has ended."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def processes() -> list[int]:
    """Return the ids of all processes."""
    return [int(folder.name) for folder in Path("/proc").glob("[0-9]*")]


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "Z"
