"""Verify: before a run starts, its results are compared with the records of the jobs.

Each job records the checksums of what it wrote (:func:`scoup.job.job`). A file that differs from
its record was damaged, or changed by hand: it is removed with the other outputs of its job, so that
the run that starts rebuilds them. A record that is damaged vouches for nothing, and goes with them.
"""

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scoup.errors import ScoupError
from scoup.job import read_facts, record_of, remove
from scoup.store import digests

KEPT_SUFFIX = ".replaced"


def remove_damaged() -> list[str]:
    """Remove every damaged file under ``results``, and say in a sentence what was wrong."""
    records = sorted(Path("results", "logs").rglob("*.json"))
    with ThreadPoolExecutor() as pool:  # hashlib releases the GIL
        return [sentence for found in pool.map(_verify, records) for sentence in found]


def _verify(record: Path) -> list[str]:
    try:
        outputs = read_facts(record).get("outputs", {})
    except ScoupError as error:
        outputs = _outputs_of(record)
        for path in (record, *map(Path, outputs)):
            remove(path)
        return [f"{error} It was removed with its results, which are rebuilt."]
    if not any(os.path.lexists(path) for path in outputs):
        return []
    damaged = [name for path, recorded in outputs.items() for name in _damaged(path, recorded)]
    if damaged:
        for path in map(Path, outputs):
            _remove(path)
    return [f"{name}: it is not as recorded in {record}, and is rebuilt." for name in damaged]


def _damaged(path: str, recorded: Mapping[str, str]) -> list[str]:
    """Return the files of an output that are gone or differ from its record, or are new."""
    try:
        current = digests(path)
    except OSError:
        return [path]
    names = current.keys() | recorded.keys()
    return [
        os.path.join(path, name).rstrip(os.sep)
        for name in sorted(names)
        if current.get(name) != recorded.get(name)
    ]


def _outputs_of(record: Path) -> list[str]:
    """Return the results whose record is at a given path, by their names."""
    root, _, *rest = record.parts
    folder = Path(root, *rest).parent
    return [str(path) for path in folder.glob(f"{record.stem}*") if record_of(path) == record]


def _remove(path: Path) -> None:
    """Remove an output; a database is kept under another name, as users may have added notes."""
    if path.suffix == ".db" and path.exists():
        os.replace(path, f"{path}{KEPT_SUFFIX}")
    else:
        remove(path)
