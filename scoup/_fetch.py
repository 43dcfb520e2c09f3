"""Download files into a cache that processes may share; they are checked before they get in."""

import fcntl
import logging
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from pooch import HTTPDownloader, file_hash
from requests.exceptions import ChunkedEncodingError, HTTPError, RequestException, Timeout

from scoup import store
from scoup.datasets import RemoteFile
from scoup.errors import ScoupError
from scoup.records import SourceFile

log = logging.getLogger(__name__)
TIMEOUT_SECONDS = 10.0  # for a connection, and for each piece of an answer
Check = Callable[[Path], object]
ROUNDS = 2  # how often all addresses are tried, since a transfer may break off


class UnreachableError(ScoupError):
    """No host that has the file could be reached."""


def fetch(
    remote: RemoteFile, cache: Path, check: Check | None, dead_hosts: dict[str, str]
) -> tuple[SourceFile, bool]:
    """Return the record of a file in ``cache``, and whether it was there before.

    A damaged file in the cache, or one whose note is damaged, is downloaded again. ``check``
    refuses a malformed file; it is called if no checksum is known. ``dead_hosts`` are the hosts
    that did not answer, and why, so that several files do not each wait for them.
    """
    path, note = cache / remote.name, cache / f"{remote.name}.json"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / f".{remote.name}.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until it is closed: one process downloads, others wait
        recorded = _read_note(note)
        expected = remote.sha256 or (recorded.sha256 if recorded else "")
        if recorded and path.exists() and file_hash(path) == expected:
            return recorded, True
        is_damaged = path.exists()
        try:
            return _fetch(remote, path, note, check, dead_hosts, expected), False
        except UnreachableError as error:
            if is_damaged:  # no reason to take simulated data instead
                raise ScoupError(f"{path}: it is damaged, and {error}") from None
            raise


def _read_note(note: Path) -> SourceFile | None:
    """Return the record of a cached file, if there is one and it is whole."""
    try:
        return SourceFile(**store.read_json(note)) if note.exists() else None
    except (ScoupError, TypeError) as error:
        log.info("%s: a damaged note is not used (%s)", note, error)
        return None


def _fetch(
    remote: RemoteFile,
    path: Path,
    note: Path,
    check: Check | None,
    dead_hosts: dict[str, str],
    expected: str,
) -> SourceFile:
    """Download a file, and put it into the cache with its record once it has been checked."""
    with store.atomic(path) as temporary:
        address = _download(remote, temporary, dead_hosts)
        name, sha256 = f"{remote.name} from {address}", file_hash(temporary)
        check_sha256(name, sha256, expected, "try again, or tell the maintainers of the data")
        if check and not expected:
            _check_structure(name, temporary, check)
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        record = SourceFile(remote.name, address, sha256, temporary.stat().st_size, now)
        store.write_json(note, vars(record))
    return record


def _check_structure(name: str, temporary: Path, check: Check) -> None:
    try:
        check(temporary)
    except ScoupError as error:
        raise ScoupError(str(error).replace(str(temporary), name)) from None


def check_sha256(name: str, sha256: str, expected: str, hint: str) -> None:
    """Refuse a file whose checksum is not the one that is ``expected``, if any is."""
    if expected and sha256 != expected:
        raise ScoupError.expected(name, f"sha256 {expected}", f"sha256 {sha256}", hint)


def _download(remote: RemoteFile, target: Path, dead_hosts: dict[str, str]) -> str:
    """Download from the first address that has the file, and return that address."""
    headers = {"Accept-Encoding": "identity"}  # or gzipped files might arrive unpacked
    download = HTTPDownloader(chunk_size=1 << 20, timeout=TIMEOUT_SECONDS, headers=headers)
    reasons: dict[str, str] = {}
    answered = False
    for address in remote.addresses * ROUNDS:
        host = "{0.scheme}://{0.netloc}".format(urlsplit(address))
        if host in dead_hosts:
            reasons[host] = dead_hosts[host]
            continue
        log.info("downloading %s", address)
        try:
            download(address, str(target), None)
            return address
        except (RequestException, ValueError) as error:
            reasons[host] = _reason(error)
            # A redirect to an address that is none is a ValueError.
            has_answered = isinstance(error, HTTPError | ChunkedEncodingError | ValueError)
            if has_answered or (target.exists() and target.stat().st_size > 0):
                answered = True
            else:
                dead_hosts[host] = reasons[host]
    listed = "; ".join(f"{host}: {reason}" for host, reason in reasons.items())
    if answered:
        problem, hint = "no address gave the file", "try again later"
        raise ScoupError(f"{remote.name}: {problem} ({listed}); {hint} or use a local copy.")
    problem, hint = "no host could be reached", "check the network"
    raise UnreachableError(f"{remote.name}: {problem} ({listed}); {hint} or use a local copy.")


def _reason(error: Exception) -> str:
    """Say in a few words why a download failed."""
    if isinstance(error, HTTPError) and error.response is not None:
        return f"HTTP {error.response.status_code} {error.response.reason}"
    if isinstance(error, Timeout):
        return f"no answer within {TIMEOUT_SECONDS:g} s"
    cause: BaseException = error
    while cause.__context__ is not None:
        cause = cause.__context__
    return getattr(cause, "strerror", None) or str(cause)
