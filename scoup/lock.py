"""Lock: one run at a time in a folder.

Two runs in one folder would remove files that the other one is about to read. The operating system
releases the lock when the process that holds it ends, even if it is killed, so that no lock is left
behind for the user to remove; the profiles switch off that of Snakemake, which is a file.
"""

import fcntl
import os
import time
from pathlib import Path
from socket import gethostname
from typing import TextIO

from scoup.errors import ScoupError

LOCK = Path(".snakemake", "scoup.lock")
# Whoever only looks holds the lock for a moment, so it is tried more than once.
ATTEMPTS, PAUSE_SECONDS = 5, 0.1

_held: dict[Path, TextIO] = {}


def claim(folder: Path) -> None:
    """Keep other processes from running in a folder until this one ends.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     claim(Path(folder))
    """
    path = (folder / LOCK).resolve()
    if path in _held:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a+")
    for attempt in range(ATTEMPTS):
        time.sleep(PAUSE_SECONDS if attempt else 0.0)
        if _is_free(file, fcntl.LOCK_EX):
            file.truncate(0)
            file.write(f"process {os.getpid()} on {gethostname()}")
            file.flush()
            _held[path] = file
            return
    with file:
        raise _refusal(file)


def _leave_to_parent() -> None:
    """Close the locks in a process that was forked: it may outlive the run that holds them."""
    for file in _held.values():
        file.close()
    _held.clear()


os.register_at_fork(after_in_child=_leave_to_parent)


def require_free(folder: Path) -> None:
    """Refuse to go on if another process has claimed the folder."""
    path = folder / LOCK
    if path.exists():
        with path.open() as file:
            if not _is_free(file, fcntl.LOCK_SH):
                raise _refusal(file)


def _is_free(file: TextIO, kind: int) -> bool:
    """Lock an open file unless another process has; where there are no locks, all are free."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some network disks have no locks
        return True
    return True


def _refusal(file: TextIO) -> ScoupError:
    file.seek(0)
    holder = f"another one ({file.read() or 'just started'})"
    hint = "wait until it has ended, or use another folder"
    return ScoupError.expected("results", "one run at a time in a folder", holder, hint)
