"""Download: put the raw files of a data set into a folder, with a record of where they came from.

They are local copies, cached, downloaded or simulated.
"""

import logging
import os
import shutil
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

from pooch import file_hash

from scoup import datasets, store
from scoup._fetch import UnreachableError, check_sha256, fetch
from scoup.datasets import PROVENANCE_FILE, DatasetSpec, DataSource, RemoteFile
from scoup.errors import ScoupError, ScoupWarning
from scoup.listing import load
from scoup.records import Provenance, SourceFile
from scoup.simulate import simulate

log = logging.getLogger(__name__)
CACHE_VARIABLE, DATA_VARIABLE = "SCOUP_CACHE", "SCOUP_DATA"


@dataclass(frozen=True)
class _RawFile:
    """A raw file at hand: where it is, by which way it came, and its record."""

    path: Path
    source: str
    record: SourceFile


def obtain(spec: DatasetSpec, folder: str | os.PathLike[str]) -> Provenance:
    """Put the raw files of a data set into ``folder``; ``provenance.json`` is written last.

    With source ``local`` they are copied from the folder in the environment variable SCOUP_DATA
    (``local:FOLDER`` names another); ``download`` fetches them through the cache in SCOUP_CACHE;
    ``simulate`` writes a stand-in of ``size`` and ``seed``. ``auto`` tries local copies, the cache
    and a download, and simulates only if no host that has a needed file can be reached. A wrong
    checksum is always an error. User-supplied files stay where they are and are only recorded.
    """
    source = datasets.kind(spec.kind).SOURCE
    policy, _, named = spec.source.partition(":")
    local = named or os.environ.get(DATA_VARIABLE)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    (target / PROVENANCE_FILE).unlink(missing_ok=True)
    if paths := datasets.paths(spec):
        return _record_in_place(spec.kind, paths, target)
    if policy == "simulate":
        return _simulate(spec, target, "requested")
    can_simulate = spec.kind in datasets.simulated_kinds()
    if can_simulate and not local and not any(file.addresses for file in source.files):
        return _simulate(spec, target, "always simulated")
    try:
        files = _locate_all(spec.kind, policy, Path(local) if local else None)
    except UnreachableError as error:
        if policy != "auto" or not can_simulate:
            raise
        message = f"{spec.kind}: simulated data is used, since {error}"
        warnings.warn(message, ScoupWarning, stacklevel=2)
        return _simulate(spec, target, str(error))
    reason = "the first source that had the files" if policy == "auto" else "requested"
    return _deliver(spec.kind, files, target, reason)


def cache_folder() -> Path:
    """Return the folder shared by all clones: SCOUP_CACHE, or ``scoup`` among the user's caches."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get(CACHE_VARIABLE) or Path(base) / "scoup")


def _record_in_place(kind: str, paths: list[str], target: Path) -> Provenance:
    """Record user-supplied files, which may be large and are read where they are."""
    for path in paths:
        if not Path(path).is_file():
            raise ScoupError.expected(path, "a file", "no such file")
    records = tuple(_record(Path(path), path) for path in paths)
    return _write(target, kind, "local", "named in the configuration", records)


def _locate_all(kind: str, policy: str, local: Path | None) -> list[_RawFile]:
    """Locate every file of a kind, or raise for the first that cannot be had."""
    dead_hosts: dict[str, str] = {}
    return [
        _locate(kind, file, policy, local, dead_hosts) for file in datasets.kind(kind).SOURCE.files
    ]


def _locate(
    kind: str, file: RemoteFile, policy: str, local: Path | None, dead_hosts: dict[str, str]
) -> _RawFile:
    source: DataSource = datasets.kind(kind).SOURCE
    name = f"{kind}: {file.name}"
    if policy in ("auto", "local") and local is not None:
        for folder in (local / kind, local / source.folder, local):
            if (folder / file.name).is_file():
                return _local_file(folder / file.name, file.sha256)
    if policy == "local":
        expected = (
            f"the file in {local} or its folder {source.folder}"
            if local
            else f"the file in a folder named by local:FOLDER or {DATA_VARIABLE}"
        )
        raise ScoupError.expected(name, expected, "no such file")
    if not file.addresses:
        hint = f"name the folder that holds it by source local:FOLDER or {DATA_VARIABLE}"
        raise UnreachableError.expected(name, "a local copy (it has no address)", "none", hint)
    cache = cache_folder() / source.folder
    readers = load(f"scoup.datasets.{kind}", "read") if file.reader else None
    check = getattr(readers, file.reader, None)
    record, cached = fetch(file, cache, check, dead_hosts)
    return _RawFile(cache / file.name, "cache" if cached else "download", record)


def _local_file(path: Path, sha256: str) -> _RawFile:
    record = _record(path, str(path))
    check_sha256(str(path), record.sha256, sha256, "replace it with the published file")
    return _RawFile(path, "local", record)


def _record(path: Path, address: str, timed: bool = True) -> SourceFile:
    status = path.stat()
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(status.st_mtime)) if timed else ""
    return SourceFile(path.name, address, file_hash(path), status.st_size, when)


def _deliver(kind: str, files: list[_RawFile], target: Path, reason: str) -> Provenance:
    """Bring files at hand into the folder, and record where they came from."""
    for file in files:
        with store.atomic(target / file.path.name, file.record.bytes) as temporary:
            _link_or_copy(file, temporary)
    sources = {file.source for file in files}
    farthest = next(source for source in ("download", "cache", "local") if source in sources)
    return _write(target, kind, farthest, reason, tuple(file.record for file in files))


def _link_or_copy(file: _RawFile, temporary: Path) -> None:
    """Link what is in the cache; copy a user's file, so that nothing done here can change it."""
    if file.source != "local":
        try:
            os.link(file.path, temporary)
            return
        except OSError:
            log.info("%s cannot be linked and is copied", file.path)
    shutil.copyfile(file.path, temporary)


def _simulate(spec: DatasetSpec, target: Path, reason: str) -> Provenance:
    simulate(spec.kind, target, spec.size, spec.seed)
    address = f"simulated with seed {spec.seed}"
    names = datasets.kind(spec.kind).SOURCE.file_names
    records = tuple(_record(target / name, address, timed=False) for name in names)
    return _write(target, spec.kind, "simulate", reason, records, size=spec.size, seed=spec.seed)


def _write(
    target: Path,
    kind: str,
    way: str,
    reason: str,
    records: tuple[SourceFile, ...],
    *,
    size: str = "full",
    seed: int | None = None,
) -> Provenance:
    source = datasets.kind(kind).SOURCE
    provenance = Provenance(kind, way, reason, records, size, seed, source.licence, source.citation)
    store.write_json(target / PROVENANCE_FILE, asdict(provenance))
    log.info("%s: %s data (%s)", kind, provenance.mark, reason)
    return provenance
