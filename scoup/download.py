"""Put the raw files of a data set into a folder: the user's own, cached, fetched, or simulated; and say which."""

from __future__ import annotations

import logging
import os
import shutil
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from scoup import datasets, store
from scoup.datasets import DataSource, RemoteFile
from scoup.errors import ScoupError, ScoupWarning
from scoup.fetch import UnreachableError, fetch, sha256_of, wrong_checksum
from scoup.formats.tns import parse_tns
from scoup.raw import brainq, facebook
from scoup.records import Provenance, SourceFile
from scoup.simulate import simulate

log = logging.getLogger(__name__)
POLICIES = ("auto", "local", "download", "simulate")
PROVENANCE_FILE = "provenance.json"
CACHE, DATA = "SCOUP_CACHE", "SCOUP_DATA"

_STRUCTURE: dict[str, Callable[[Path], object]] = {
    "subject": brainq.read_subject,
    "excerpt": lambda path: brainq.load_npz(path, ("nouns",)),
    "wall": facebook.read_wall,
    "links": facebook.read_links,
    "tns": parse_tns,
}


@dataclass(frozen=True)
class _Found:
    """A raw file that is at hand: where it lies and what it is."""

    path: Path
    source: str
    record: SourceFile


def obtain(
    name: str,
    policy: str,
    folder: str | os.PathLike[str],
    size: str = "full",
    seed: int = 0,
    local: str | os.PathLike[str] | None = None,
    *,
    files: Sequence[str] = (),
) -> Provenance:
    """Put the raw files of data set ``name`` into ``folder``, with ``provenance.json`` beside them as the last.

    ``policy``: ``local`` takes the user's own copies from ``local`` or from the folder in the environment variable
    SCOUP_DATA (``local:FOLDER`` names it at once); ``download`` fetches (through the cache in SCOUP_CACHE) or fails;
    ``simulate`` writes a stand-in of ``size`` and ``seed``; ``auto`` takes local files, the cache, a download, and
    only when no host that has a needed file can be reached, a stand-in. A wrong checksum or a malformed file is an
    error under every policy. Of a data set of the user's own ``files`` they stay where they are, and are recorded.
    """
    word, _, place = policy.partition(":")
    if word not in POLICIES or (place and word != "local"):
        raise ScoupError.expected(
            "source", f"one of {', '.join(POLICIES)} or local:FOLDER", repr(policy)
        )
    source = datasets.get(name)
    given = place or local or os.environ.get(DATA)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    (target / PROVENANCE_FILE).unlink(missing_ok=True)
    if name == "files":
        return _record_own(source, files, target)
    if word == "simulate" or not _has_addresses(source, given):
        return _simulate(
            source,
            target,
            size,
            seed,
            "asked for" if word == "simulate" else "it is always simulated",
        )
    try:
        found = _find_all(source, word, Path(given) if given else None)
    except UnreachableError as error:
        if word != "auto" or not source.simulated:
            raise
        warnings.warn(f"{name}: simulated data is used, since {error}", ScoupWarning, stacklevel=2)
        return _simulate(source, target, size, seed, str(error))
    return _deliver(source, found, target, _reason(word))


def _record_own(source: DataSource, files: Sequence[str], target: Path) -> Provenance:
    """Record files that the user named one by one; they may be large and are read where they are."""
    for file in files:
        if not Path(file).is_file():
            raise ScoupError.expected(str(file), "a file", "no such file")
    records = tuple(_record(Path(file), str(file)) for file in files)
    about = Provenance(
        source.name, "local", "named in the configuration", records, "full", None, source.licence
    )
    return _write(target, about)


def _has_addresses(source: DataSource, given: object) -> bool:
    """Tell whether real files can exist; random data without a user's own folder is drawn by the program."""
    return bool(given) or not source.simulated or any(file.addresses for file in source.files)


def _reason(word: str) -> str:
    return "asked for" if word != "auto" else "the first source that had the files"


def cache_folder() -> Path:
    """Return the folder shared by all clones: SCOUP_CACHE, or ``scoup`` among the user's caches."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get(CACHE) or Path(base) / "scoup")


def _find_all(source: DataSource, word: str, local: Path | None) -> list[_Found]:
    """Find every file of a data set, or raise for the first that cannot be had."""
    dead: dict[str, str] = {}
    return [_find(source, file, word, local, dead) for file in source.files]


def _find(
    source: DataSource, file: RemoteFile, word: str, local: Path | None, dead: dict[str, str]
) -> _Found:
    if word in ("auto", "local") and local is not None:
        mine = _find_local(source, file, local)
        if mine:
            return mine
    if word == "local":
        where = (
            f"{local} or its folder {source.folder}"
            if local
            else f"a folder given by local:FOLDER or {DATA}"
        )
        raise ScoupError.expected(
            f"{source.name}: {file.name}", f"the file in {where}", "no such file"
        )
    if not file.addresses:
        hint = f"give the folder that holds it by source local:FOLDER or {DATA}"
        raise ScoupError.expected(
            f"{source.name}: {file.name}", "your own copy (it has no address)", "none", hint
        )
    cache = cache_folder() / source.folder
    record, old = fetch(file, cache, _STRUCTURE.get(file.structure, lambda _: None), dead)  # type: ignore[arg-type]
    return _Found(cache / file.name, "cache" if old else "download", record)


def _find_local(source: DataSource, file: RemoteFile, local: Path) -> _Found | None:
    """Look for a user's own copy, in the folder itself or in one named after the data set."""
    for folder in (local / source.name, local / source.folder, local):
        path = folder / file.name
        if path.is_file():
            record = _record(path, str(path))
            if file.sha256 and record.sha256 != file.sha256:
                raise wrong_checksum(
                    str(path), file.sha256, record.sha256, "replace it by the published file"
                )
            if not file.sha256:
                _STRUCTURE[file.structure](path)
            return _Found(path, "local", record)
    return None


def _record(path: Path, address: str, timed: bool = True) -> SourceFile:
    status = path.stat()
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(status.st_mtime)) if timed else ""
    return SourceFile(path.name, address, sha256_of(path), status.st_size, when)


def _deliver(source: DataSource, found: list[_Found], target: Path, reason: str) -> Provenance:
    """Bring files that are at hand into the folder, and write down where they came from."""
    for item in found:
        with store.atomic(target / item.path.name, item.record.bytes) as temporary:
            _link_or_copy(item, temporary)
    kinds = [item.source for item in found]
    worst = next(kind for kind in ("download", "cache", "local") if kind in kinds)
    records = tuple(item.record for item in found)
    return _write(
        target,
        Provenance(
            source.name, worst, reason, records, "full", None, source.licence, source.citation
        ),
    )


def _link_or_copy(item: _Found, temporary: Path) -> None:
    """Link what lies in our own cache; copy a user's file, lest something done here be done to it."""
    if item.source != "local":
        try:
            os.link(item.path, temporary)
            return
        except OSError:
            log.info("%s cannot be linked, so it is copied", item.path)
    shutil.copyfile(item.path, temporary)


def _simulate(source: DataSource, target: Path, size: str, seed: int, reason: str) -> Provenance:
    simulate(source.name, target, size, seed)
    records = tuple(
        _record(target / name, f"simulated with seed {seed}", timed=False)
        for name in source.file_names
    )
    made = Provenance(
        source.name, "simulate", reason, records, size, seed, source.licence, source.citation
    )
    return _write(target, made)


def _write(target: Path, provenance: Provenance) -> Provenance:
    store.write_json(target / PROVENANCE_FILE, asdict(provenance))
    log.info("%s: %s data (%s)", provenance.dataset, provenance.mark, provenance.reason)
    return provenance
