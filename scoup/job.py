"""The frame of every job: its log, its threads, its facts, and what it says on failure."""

import errno
import logging
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from scoup.errors import DamagedFileError, ScoupError
from scoup.machine import keep_memory, peak_megabytes, threads
from scoup.store import PathLike, digests, read_json, write_json

log = logging.getLogger(__name__)
_LOGGERS = ("scoup", "py.warnings")


@contextmanager
def job(snakemake: Any) -> Iterator[dict[str, Any]]:
    """Run the body of an adapter with a log file and with as many threads as the rule has.

    ``snakemake`` is the object that Snakemake gives to a script; only ``rule``, ``log``,
    ``threads``, ``input`` and ``wildcards`` are read. The threads of BLAS and of the kernels are
    those of the rule, not of the machine, so that parallel jobs do not compete and results do not
    depend on the machine.

    The body gets the facts of the job (when, where and by which code it ran) and may add to them.
    They are written to ``log.facts``, or next to the log as ``.json``: results hold no times and no
    names of machines, so that equal seeds give equal bytes. Without ``ended`` a job is running or
    has failed. ``outputs`` are the checksums of all that the job wrote: of the rule's outputs, and
    of the paths that the body lists as ``other_outputs``. :mod:`scoup.verify` compares them when
    the next run starts.

    Bad input and a full disk end the job with one sentence, anything else with its traceback in the
    log. A damaged input is named and removed, so that the next run rebuilds it.
    """
    handler = _open_log(snakemake.log[0])
    default = Path(snakemake.log[0]).with_suffix(".json")
    facts, facts_path = _facts(snakemake), getattr(snakemake.log, "facts", default)
    try:
        write_json(facts_path, facts)
        keep_memory()
        with threads(max(1, int(snakemake.threads))):
            yield facts
        facts |= {"ended": time.time(), "processor": _processor_seconds()}
        facts["memory_mb"] = peak_megabytes()
        paths = [*getattr(snakemake, "output", ()), *facts.pop("other_outputs", ())]
        facts["outputs"] = {str(path): digests(path) for path in paths}
        write_json(facts_path, facts)
        log.info("%s done in %.1f s", snakemake.rule, facts["ended"] - facts["started"])
    except (ScoupError, MemoryError, OSError) as error:
        log.exception("%s failed", snakemake.rule)
        _stop(snakemake, _sentence(error) + _remove_damaged(snakemake, error))
    except Exception:
        log.exception("%s failed", snakemake.rule)
        raise
    finally:
        handler.close()
        for name in _LOGGERS:
            logging.getLogger(name).removeHandler(handler)


def note_scheduling(path: str | Path, started: float, server_seconds: float = 0.0) -> None:
    """Write what Snakemake and its fork server took as the facts of a job that was all start-up."""
    seconds = time.process_time() + server_seconds
    facts = {"started": started, "ended": time.time(), "startup": seconds, "processor": seconds}
    write_json(path, {"rule": "scheduling", **facts})


def read_facts(path: str | Path) -> dict[str, Any]:
    """Return the facts of a job; {} if there is no such file."""
    return read_json(path) if Path(path).exists() else {}


def record_of(path: PathLike) -> Path:
    """Return the file with the facts of the job that wrote a result.

    >>> record_of("results/holdout/brainq/whole/seed0.truth.npz").as_posix()
    'results/logs/holdout/brainq/whole/seed0.json'
    """
    folder, *rest = Path(path).parts
    return Path(folder, "logs", *rest).with_name(rest[-1].split(".")[0] + ".json")


def check_recorded(paths: Iterable[PathLike]) -> None:
    """Refuse results that differ from the record of the job that wrote them.

    For formats without a checksum inside: figures, tables of text, pages.
    """
    for path in map(str, paths):
        record = record_of(path)
        recorded = read_facts(record).get("outputs", {}).get(path)
        if recorded and digests(path) != recorded:
            raise DamagedFileError(path, "result", f"not as recorded in {record}")


def describe_code() -> str:
    """Name the version and the commit of the running code."""
    return f"scoup {_version()}, revision {_revision()}"


def _facts(snakemake: Any) -> dict[str, Any]:
    return {
        "rule": snakemake.rule,
        "started": time.time(),
        "startup": _processor_seconds(),
        "host": platform.node(),
        "threads": int(snakemake.threads),
        "version": _version(),
        "revision": _revision(),
        "python": platform.python_version(),
    }


def _processor_seconds() -> float:
    """Return the processor time of this job, with that of the client whose fork it is."""
    return time.process_time() + float(os.environ.get("SCOUP_CLIENT_SECONDS", "0"))


@cache
def _version() -> str:
    try:
        return version("scoup")
    except PackageNotFoundError:
        return "unknown"


@cache
def _revision() -> str:
    """Return the commit of the code, with ``-dirty`` if files differ from it.

    Forks of one process, which run the code that it has imported, ask once.
    """
    git = ["git", "-C", str(Path(__file__).parent)]
    describe = [*git, "describe", "--always", "--dirty", "--exclude", "*"]
    try:
        answer = subprocess.run(describe, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return answer.stdout.strip()


def _open_log(path: str) -> logging.Handler:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(path, mode="w")
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s", "%H:%M:%S"))
    for name in _LOGGERS:
        logging.getLogger(name).addHandler(handler)
    logging.getLogger("scoup").setLevel(logging.INFO)
    logging.captureWarnings(True)
    return handler


def _sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        name = error.filename or "the results"
        return f"no space left on the disk of {name}; free some and run again."
    if isinstance(error, MemoryError):
        return f"out of memory ({error}); give the job more (mem_mb) or take a smaller sample."
    return str(error)


def _remove_damaged(snakemake: Any, error: BaseException) -> str:
    """Remove a damaged input that another job made, and no other file, and say so."""
    if not isinstance(error, DamagedFileError):
        return ""
    damaged = Path(error.path)
    inputs = map(Path, map(str, getattr(snakemake, "input", ())))
    made = next((path for path in inputs if path in (damaged, *damaged.parents)), None)
    if made is None:
        return ""
    remove(made.resolve())  # a link is no copy: its target is what is damaged
    remove(made)
    log.info("removed %s", made)
    return " It was removed: the next run rebuilds it."


def remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it; the target of a link stays."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _stop(snakemake: Any, sentence: str) -> None:
    wildcards = " ".join(f"{key}={value}" for key, value in dict(snakemake.wildcards).items())
    sys.stderr.write(f"{snakemake.rule} {wildcards}: {sentence}\n")
    raise SystemExit(1)
