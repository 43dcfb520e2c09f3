"""Fetch one remote file into a cache: resumed, checked, then renamed; never half a file under a good name."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import http.client
import logging
import os
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scoup import store
from scoup.datasets import RemoteFile
from scoup.errors import ScoupError
from scoup.records import SourceFile
from scoup.store import disk_full

log = logging.getLogger(__name__)

TIMEOUT = 10.0  # seconds, for a connection and for each answer
ATTEMPTS = 4  # transfers of one address that break off, each going on where the last one stopped
_BLOCK = 1 << 20
Check = Callable[[Path], None]


class UnreachableError(ScoupError):
    """No host that has the file could be reached."""


class _BrokenOffError(Exception):
    """A transfer that stopped before its end."""


def sha256_of(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file as hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(
    remote: RemoteFile, cache: Path, check: Check, dead: dict[str, str] | None = None
) -> tuple[SourceFile, bool]:
    """Return the record of the cached file and whether it was there already; fetch it where it is not.

    ``check`` looks at the structure of a file without a published checksum. ``dead`` remembers the hosts that
    did not answer, so that several files do not each wait for them. Two processes may ask at once: one fetches.
    """
    cache.mkdir(parents=True, exist_ok=True)
    with _locked(cache / f".{remote.name}.lock"):
        known = cached(remote, cache)
        if known:
            return known, True
        record, part = _fetch_new(remote, cache, check, {} if dead is None else dead)
        store.write_json(cache / f"{remote.name}.json", vars(record))
        os.replace(part, cache / remote.name)
        return record, False


def _fetch_new(
    remote: RemoteFile, cache: Path, check: Check, dead: dict[str, str]
) -> tuple[SourceFile, Path]:
    """Fetch and check; a file that was put together from an old part and is wrong gets a second chance."""
    part, note = cache / f".{remote.name}.part", cache / f"{remote.name}.json"
    noted = SourceFile(**store.read_json(note)).sha256 if note.exists() else ""
    expected = remote.sha256 or noted
    resumed = part.exists()
    address = _transfer(remote, part, dead)
    try:
        return _accept(remote.name, part, address, expected, check), part
    except ScoupError:
        if not resumed:
            raise
    address = _transfer(remote, part, dead)
    return _accept(remote.name, part, address, expected, check), part


def cached(remote: RemoteFile, cache: Path) -> SourceFile | None:
    """Return the record of a file in the cache, after comparing its checksum; None where it is not there."""
    path, note = cache / remote.name, cache / f"{remote.name}.json"
    if not path.exists() or not note.exists():
        return None
    record = SourceFile(**store.read_json(note))
    found = sha256_of(path)
    if found != (remote.sha256 or record.sha256):
        raise wrong_checksum(
            str(path), remote.sha256 or record.sha256, found, "delete it and run again"
        )
    return record


def wrong_checksum(name: str, expected: str, found: str, hint: str) -> ScoupError:
    """Return the error for a file whose content is not what it should be."""
    return ScoupError.expected(name, f"sha256 {expected}", f"sha256 {found}", hint)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with open(path, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            log.info("waiting for another process that fetches %s", path.name)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _accept(name: str, part: Path, address: str, expected: str, check: Check) -> SourceFile:
    """Check a whole transfer against its checksum (published, or noted when it first came) or by its structure."""
    try:
        found = sha256_of(part)
        if expected and found != expected:
            raise wrong_checksum(
                f"{name} from {address}",
                expected,
                found,
                "try again, or tell the keepers of the data",
            )
        if not expected:
            check(part)
    except ScoupError:
        _forget(part)
        raise
    _tag_file(part).unlink(missing_ok=True)
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return SourceFile(name, address, found, part.stat().st_size, when)


def _transfer(remote: RemoteFile, part: Path, dead: dict[str, str]) -> str:
    """Bring the whole file to ``part`` from the first address that gives it, and return that address."""
    reasons, answered = [], False
    for address in remote.addresses:
        host = _host(address)
        if host not in dead and not _uses_proxy(address):
            reason = _probe(address)
            if reason:
                dead[host] = reason
        if host in dead:
            reasons.append(f"{host}: {dead[host]}")
            continue
        reason, reached = _try_address(address, part, dead)
        if not reason:
            return address
        reasons.append(f"{host}: {reason}")
        answered |= reached
    said = "; ".join(dict.fromkeys(reasons)) or "it has no address"
    if answered:
        raise ScoupError(
            f"{remote.name}: no address gave the file ({said}); try again later or give your own copy."
        )
    raise UnreachableError(
        f"{remote.name}: no host could be reached ({said}); check the network or give your own copy."
    )


def _host(address: str) -> str:
    parts = urllib.parse.urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


def _uses_proxy(address: str) -> bool:
    parts = urllib.parse.urlsplit(address)
    return parts.scheme in urllib.request.getproxies() and not urllib.request.proxy_bypass(
        parts.hostname or ""
    )


def _probe(address: str) -> str:
    """Return why the host of ``address`` cannot be connected to, or nothing. Never waits longer than the time-out.

    Looking up a name, or trying each of a host's numbers in turn, can take minutes; hence the thread.
    """
    parts = urllib.parse.urlsplit(address)
    place = (parts.hostname or "", parts.port or {"https": 443, "http": 80}[parts.scheme])
    reasons: list[str] = []

    def connect() -> None:
        try:
            socket.create_connection(place, timeout=TIMEOUT).close()
            reasons.append("")
        except OSError as error:
            reasons.append(
                "time-out" if isinstance(error, TimeoutError) else (error.strerror or str(error))
            )

    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(TIMEOUT)
    return reasons[0] if reasons else "time-out"


def _try_address(address: str, part: Path, dead: dict[str, str]) -> tuple[str, bool]:
    """Fetch one address, going on after breaks; return why it failed (or nothing) and whether the host answered."""
    for _ in range(ATTEMPTS):
        try:
            _download(address, part)
        except _BrokenOffError as error:
            log.info("%s broke off (%s); going on at byte %d", address, error, part.stat().st_size)
            continue
        except urllib.error.HTTPError as error:
            return f"HTTP {error.code} {error.reason}", True
        except (
            urllib.error.URLError,
            TimeoutError,
            ConnectionError,
            http.client.HTTPException,
        ) as error:
            cause = getattr(error, "reason", error)
            late = isinstance(cause, TimeoutError)
            dead[_host(address)] = f"no answer within {TIMEOUT:g} s" if late else str(cause)
            return dead[_host(address)], False
        return "", True
    return f"the transfer broke off {ATTEMPTS} times", True


def _download(address: str, part: Path) -> None:
    """Transfer ``address`` to ``part``, asking only for what is missing when it is the same version as before."""
    start, tag = _partial(part)
    request = urllib.request.Request(
        address, headers={"User-Agent": "scoup", "Accept-Encoding": "identity"}
    )
    if start:
        request.add_header("Range", f"bytes={start}-")
        if tag:
            request.add_header("If-Range", tag)
    try:
        answer = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if start and error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            _forget(part)
            raise _BrokenOffError("the part is longer than the file") from None
        raise
    with answer:
        goes_on = answer.status == http.HTTPStatus.PARTIAL_CONTENT and _starts_at(answer, start)
        log.info("fetching %s%s", address, f" from byte {start}" if goes_on else "")
        _tag_file(part).write_text(
            answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
        )
        _receive(answer, part, goes_on)


def _receive(answer: Any, part: Path, goes_on: bool) -> None:
    """Write the body of an answer, and notice when less came than was announced."""
    expected, got = answer.headers.get("Content-Length"), 0
    with open(part, "ab" if goes_on else "wb") as file:
        try:
            while block := answer.read(_BLOCK):
                file.write(block)
                got += len(block)
        except http.client.IncompleteRead as error:
            file.write(error.partial)
            raise _BrokenOffError(str(error)) from None
        except (TimeoutError, ConnectionError) as error:
            raise _BrokenOffError(str(error) or "time-out") from None
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise disk_full(part, int(expected or 0)) from None
            raise
    if expected is not None and got < int(expected):
        raise _BrokenOffError(f"{got} of {expected} bytes came")


def _starts_at(answer: Any, start: int) -> bool:
    return str(answer.headers.get("Content-Range", "")).startswith(f"bytes {start}-")


def _tag_file(part: Path) -> Path:
    return part.with_name(part.name + ".tag")


def _partial(part: Path) -> tuple[int, str]:
    """Return where to go on, and the version that the part belongs to where the server gave one."""
    if not part.exists() or not _tag_file(part).exists():
        return 0, ""
    return part.stat().st_size, _tag_file(part).read_text()


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    _tag_file(part).unlink(missing_ok=True)
