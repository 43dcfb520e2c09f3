"""The frame of every job of the workflow: its log, its threads, and what it says when it fails."""

from __future__ import annotations

import errno
import json
import logging
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from scoup.errors import DamagedFileError, ScoupError
from scoup.store import write_text
from scoup.threads import threads

log = logging.getLogger(__name__)
# Results hold no times and no names of machines, so that the same seed is the same bytes: the log holds them.
FACTS = f"{__name__}: facts "


@contextmanager
def job(snakemake: Any) -> Iterator[None]:
    """Run the body of an adapter with a log file and with the threads the rule asked for.

    ``snakemake`` is the object that Snakemake gives a script; only ``rule``, ``log``, ``threads``, ``input``
    and ``wildcards`` are read. BLAS and the kernels keep to the allocation, not to the machine, so that jobs side by
    side do not fight and results do not depend on the number of cores. Bad input and a full
    disk end the job with one sentence, anything else with its traceback in the log. A damaged input is
    named and removed: a file that is not there is what Snakemake makes again.
    """
    logger = _open_log(snakemake.log[0])
    started = time.perf_counter()
    try:
        log.info("facts %s", json.dumps(_facts(snakemake)))
        with threads(max(1, int(snakemake.threads))):
            yield
        log.info("facts %s", json.dumps({"ended": time.time(), "processor": time.process_time()}))
        log.info("%s done in %.1f s", snakemake.rule, time.perf_counter() - started)
    except (ScoupError, MemoryError, OSError) as error:
        log.exception("%s failed", snakemake.rule)
        _stop(snakemake, _sentence(error) + _remove_damaged(snakemake, error))
    except Exception:
        log.exception("%s failed", snakemake.rule)
        raise
    finally:
        logger.close()
        logging.getLogger("scoup").removeHandler(logger)


def note_scheduling(path: str | Path, started: float) -> None:
    """Leave a log as jobs do that says what it took to run them: processor time of this process, none of it work."""
    taken = time.process_time()
    facts = {"started": started, "ended": time.time(), "startup": taken, "processor": taken}
    write_text(path, f"{FACTS}{json.dumps(facts)}\n")


def read_facts(path: str | Path) -> dict[str, Any]:
    """Return what the log of a job says of when, where, by which code and from which files it ran; {} without a log."""
    if not Path(path).exists():
        return {}
    lines = Path(path).read_text(errors="replace").splitlines()
    found: dict[str, Any] = {}
    for line in lines:
        if FACTS in line:
            found |= json.loads(line.split(FACTS, 1)[1])
    return found


def describe_code() -> str:
    """Name the version and the commit of the code that runs."""
    return f"scoup {_version()}, revision {_revision()}"


def _facts(snakemake: Any) -> dict[str, Any]:
    return {
        "started": time.time(),
        "startup": time.process_time(),
        "host": platform.node(),
        "threads": int(snakemake.threads),
        "version": _version(),
        "revision": _revision(),
        "python": platform.python_version(),
        "input": [str(path) for path in getattr(snakemake, "input", ())],
    }


def _version() -> str:
    try:
        return version("scoup")
    except PackageNotFoundError:
        return "unknown"


def _revision() -> str:
    """The commit that the code is at, with ``-dirty`` where files differ from it."""
    describe = [
        "git",
        "-C",
        str(Path(__file__).parent),
        "describe",
        "--always",
        "--dirty",
        "--exclude",
        "*",
    ]
    try:
        return subprocess.run(
            describe, capture_output=True, text=True, check=True, timeout=10
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def _open_log(path: str) -> logging.Handler:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(path, mode="w")
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s", "%H:%M:%S"))
    for name in ("scoup", "py.warnings"):
        logging.getLogger(name).addHandler(handler)
    logging.getLogger("scoup").setLevel(logging.INFO)
    logging.captureWarnings(True)
    return handler


def _sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"no space left on the disk of {error.filename or 'the results'}; free some and run again."
    if isinstance(error, MemoryError):
        return f"out of memory ({error}); give the job more (mem_mb) or take a smaller sample."
    return str(error)


def _remove_damaged(snakemake: Any, error: BaseException) -> str:
    """Remove a damaged file that another job made (no other file is touched) and say so."""
    if not isinstance(error, DamagedFileError) or error.path not in map(
        str, getattr(snakemake, "input", ())
    ):
        return ""
    Path(error.path).unlink(missing_ok=True)
    log.info("removed %s", error.path)
    return " It was removed: the next run makes it again."


def _stop(snakemake: Any, sentence: str) -> None:
    where = " ".join(f"{key}={value}" for key, value in dict(snakemake.wildcards).items())
    sys.stderr.write(f"{snakemake.rule} {where}: {sentence}\n")
    raise SystemExit(1)
