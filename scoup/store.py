"""Text, JSON and archives of arrays that appear whole or not at all, and are verified when read.

An archive is a zip file with one ``.npy`` member per array, which ``numpy.load`` opens too, and a
``meta.json`` with the keys ``format`` ("scoup"), ``version`` (1), ``kind`` (what the archive is),
``meta`` (plain JSON) and ``arrays`` (their names). Members are sorted by name and bear a fixed
time, so equal content gives equal bytes. Nothing is pickled.
"""

import errno
import gzip
import hashlib
import io
import json
import os
import shutil
import struct
import uuid
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from scoup.errors import DamagedFileError, ScoupError
from scoup.records import Array

PathLike = str | os.PathLike[str]

FORMAT, VERSION = "scoup", 1
CHECKSUM_KEY = "content_sha256"
MIN_MAPPED_BYTES = 1 << 20
VERIFIED_FOLDER = "SCOUP_VERIFIED"  # environment: where jobs of one run mark what they verified
_CHUNK_BYTES = 1 << 20
_ALIGNMENT_BYTES = 64
_LOCAL_HEADER_BYTES, _ZIP64_FIELD_BYTES, _FIELD_HEADER_BYTES = 30, 20, 4
_PADDING_FIELD = 0xD935  # the id that Android's zipalign gave to padding
_GZIP_SYSTEM_BYTE, _UNKNOWN_SYSTEM = 9, 255
_FIRST_ZIP_TIME = (1980, 1, 1, 0, 0, 0)


@contextmanager
def atomic(path: PathLike, need: int = 0) -> Iterator[Path]:
    """Give a temporary path that replaces ``path`` at the end, or is removed on any failure.

    ``need`` is the number of bytes about to be written, if known: a disk that is too full is
    refused beforehand.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    # The suffix stays, since some writers (matplotlib, gzip) choose their format by it.
    temporary = target.with_name(f".{target.stem}.{uuid.uuid4().hex}{target.suffix}")
    if need > shutil.disk_usage(target.parent).free:
        raise disk_full(target, need)
    try:
        yield temporary
        os.replace(temporary, target)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise disk_full(target, need) from None
        raise
    finally:
        temporary.unlink(missing_ok=True)


def disk_full(path: Path, need: int) -> ScoupError:
    """Return the error for a disk without room for ``path``; ``need`` is 0 if unknown."""
    free = shutil.disk_usage(path.parent).free
    needed = f"needs {need / 1e6:.1f} MB and " if need else ""
    state = f"{needed}the disk has {free / 1e6:.1f} MB free"
    return ScoupError(f"{path}: {state}; make room or choose another folder.")


def write_bytes(path: PathLike, content: bytes) -> None:
    """Write a whole file, atomically."""
    with atomic(path, len(content)) as temporary:
        temporary.write_bytes(content)


def packed(content: bytes, level: int = 9) -> bytes:
    """Compress as gzip does, to the same bytes whatever the version of Python.

    >>> packed(b"text")[:10].hex()
    '1f8b08000000000002ff'
    """
    stream = bytearray(gzip.compress(content, level, mtime=0))
    stream[_GZIP_SYSTEM_BYTE] = _UNKNOWN_SYSTEM  # Python 3.11 names the system, 3.13 does not
    return bytes(stream)


def write_text(path: PathLike, text: str) -> None:
    """Write a whole UTF-8 text file, atomically."""
    write_bytes(path, text.encode())


def link(source: PathLike, target: PathLike) -> None:
    """Give a file a second name, atomically: a relative link, which survives a move of both.

    Not a hard link: the two would share one time of change, by which Snakemake tells what is new.
    """
    with atomic(target) as temporary:
        os.symlink(os.path.relpath(source, Path(target).parent), temporary)


def digests(path: PathLike) -> dict[str, str]:
    """Return the sha256 of a file as ``{"": sha256}``, or of each file in a folder by its name.

    Of a link, what counts is where it points: the target is a result, too. Hidden files do not
    count: Snakemake leaves its time stamps in folders, and a killed writer its temporary file.
    """
    root = Path(path)
    if not root.is_dir() or root.is_symlink():
        return {"": _digest(root)}
    files = [file for file in sorted(root.rglob("*")) if file.is_symlink() or not file.is_dir()]
    files = [file for file in files if not file.name.startswith(".")]
    return {file.relative_to(root).as_posix(): _digest(file) for file in files}


def _digest(path: Path) -> str:
    if path.is_symlink():
        return f"link to {os.readlink(path)}"
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def plain(value: Any) -> Any:
    """Turn numpy values, tuples and mappings into what JSON knows; NaN and infinities become None.

    >>> plain({"a": (np.float32(0.5), float("nan")), 1: np.arange(2)})
    {'a': [0.5, None], '1': [0, 1]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def write_json(path: PathLike, value: Mapping[str, Any]) -> None:
    """Write JSON with sorted keys, atomically; numbers that are not finite become null.

    There is one more key, the checksum of the content, which :func:`read_json` verifies.
    """
    content = plain(value)
    content[CHECKSUM_KEY] = _checksum(content)
    write_text(path, _to_json(content))


def read_json(path: PathLike) -> dict[str, Any]:
    """Read what :func:`write_json` wrote, its checksum verified and removed."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        is_whole = isinstance(content, dict) and content.pop(CHECKSUM_KEY, "") == _checksum(content)
    except FileNotFoundError:
        raise ScoupError.expected(str(path), "a JSON file", "no such file") from None
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(str(path), "JSON", error) from None
    if not is_whole:
        raise DamagedFileError(str(path), "JSON", "wrong checksum")
    return content


def _to_json(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    return text + "\n"


def _checksum(content: Any) -> str:
    return hashlib.sha256(_to_json(content).encode()).hexdigest()


def write_archive(
    path: PathLike, kind: str, meta: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Write ``meta`` and the named arrays as one archive of the given kind."""
    document = {"format": FORMAT, "version": VERSION, "kind": kind, "meta": meta}
    _write_zip(path, arrays, _to_json(plain({**document, "arrays": sorted(arrays)})))


def write_npz(path: PathLike, arrays: Mapping[str, Any]) -> None:
    """Write a plain ``.npz`` for raw files in a published format; equal arrays give equal bytes."""
    _write_zip(path, arrays)


def _write_zip(path: PathLike, arrays: Mapping[str, Any], document: str = "") -> None:
    members = {name: np.asarray(arrays[name]) for name in sorted(arrays)}
    for name, array in members.items():
        if array.dtype.hasobject:
            raise ScoupError.expected(
                f"{path}: {name}", "numbers, booleans or text", f"dtype {array.dtype}"
            )
    need = sum(array.nbytes + 512 for array in members.values())
    with atomic(path, need) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        if document:
            archive.writestr(zipfile.ZipInfo("meta.json", _FIRST_ZIP_TIME), document)
        for name, array in members.items():
            info = _aligned_member(f"{name}.npy", archive.start_dir)
            with archive.open(info, "w", force_zip64=True) as member:
                npy.write_array(member, array, version=(1, 0), allow_pickle=False)


def _aligned_member(name: str, offset: int) -> zipfile.ZipInfo:
    """Describe an uncompressed member at ``offset`` whose data starts at a multiple of 64 bytes.

    Such a member can be mapped into memory: hundreds of jobs read the 336 MB of BrainQ, and share
    one copy of what they touch. An extra field of zeros in the member's header moves its data
    there.
    """
    info = zipfile.ZipInfo(name, _FIRST_ZIP_TIME)
    header = _LOCAL_HEADER_BYTES + len(name.encode()) + _ZIP64_FIELD_BYTES + _FIELD_HEADER_BYTES
    padding = -(offset + header) % _ALIGNMENT_BYTES
    info.extra = struct.pack("<HH", _PADDING_FIELD, padding) + bytes(padding)
    return info


def read_archive(
    path: PathLike, kind: str, prefix: str = ""
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the meta and the arrays of an archive of the given kind, checksums verified.

    The arrays are read-only. Large ones are mapped: they cost memory only where they are touched.
    With a ``prefix``, only arrays whose names begin with it are read.
    """
    with _opened(path, kind) as (file, archive, document):
        names = [name for name in document["arrays"] if name.startswith(prefix)]
        arrays = {name: _read_array(file, archive, name) for name in names}
    return document["meta"], arrays


def read_meta(path: PathLike, kind: str) -> dict[str, Any]:
    """Return the meta of an archive of the given kind without reading its arrays."""
    with _opened(path, kind) as (_, _, document):
        return document["meta"]


@contextmanager
def _opened(
    path: PathLike, kind: str
) -> Iterator[tuple[io.BufferedReader, zipfile.ZipFile, dict[str, Any]]]:
    """Open an archive and check what it is; whatever its bytes raise becomes a DamagedFileError."""
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            document = json.loads(archive.read("meta.json"))
            _check_document(str(path), document, kind)
            yield file, archive, document
    except FileNotFoundError:
        raise ScoupError.expected(str(path), f"a {kind} file", "no such file") from None
    except (ScoupError, MemoryError):
        raise
    except OSError as error:
        # A damaged offset or stream; other codes say that the disk failed, not the file.
        if error.errno in (None, errno.EINVAL):
            raise DamagedFileError(str(path), kind, error) from None
        raise
    except Exception as error:
        raise DamagedFileError(str(path), kind, error) from None


def _check_document(path: str, document: Any, kind: str) -> None:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ScoupError.expected(path, "an archive written by scoup", "another zip file")
    if document["version"] > VERSION:
        hint = "update scoup, or delete the file and run again"
        raise ScoupError.expected(
            path, f"format version {VERSION} or older", f"version {document['version']}", hint
        )
    if document["kind"] != kind:
        raise ScoupError.expected(
            path, f"a {kind} file", f"a {document['kind']} file", "give the path of the right file"
        )


def _read_array(file: io.BufferedReader, archive: zipfile.ZipFile, name: str) -> Array:
    info = archive.getinfo(f"{name}.npy")
    if info.file_size >= MIN_MAPPED_BYTES and info.compress_type == zipfile.ZIP_STORED:
        return _map_array(file, archive, info)
    array = npy.read_array(io.BytesIO(archive.read(info)), allow_pickle=False)
    array.setflags(write=False)
    return array


def _map_array(file: io.BufferedReader, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array:
    with archive.open(info) as member:
        npy.read_magic(member)
        shape, is_fortran, dtype = npy.read_array_header_1_0(member)
        header_bytes = member.tell()
        _verify_once(file, member, info)
    file.seek(info.header_offset)
    name_bytes, extra_bytes = struct.unpack("<26xHH", file.read(_LOCAL_HEADER_BYTES))
    offset = info.header_offset + _LOCAL_HEADER_BYTES + name_bytes + extra_bytes + header_bytes
    order = "F" if is_fortran else "C"
    return np.asarray(np.memmap(file, dtype, "r", offset, shape, order))  # type: ignore[call-overload]


def _verify_once(file: io.BufferedReader, member: IO[bytes], info: zipfile.ZipInfo) -> None:
    """Read a member to its end, unless a job of the same run has: most touch a small part of it.

    A file that is written again or changed in the meantime has another mark.
    """
    folder, state = os.environ.get(VERIFIED_FOLDER, ""), os.fstat(file.fileno())
    identity = (state.st_dev, state.st_ino, state.st_size, state.st_ctime_ns, info.header_offset)
    mark = Path(folder, "-".join(map(str, identity)))
    if folder and mark.exists():
        return
    while member.read(_CHUNK_BYTES):
        pass  # zipfile compares the checksum when it reaches the end
    if folder:
        with suppress(OSError):  # the next job verifies again
            mark.touch()
