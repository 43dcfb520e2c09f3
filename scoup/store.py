"""Files that appear whole or not at all: archives of arrays, JSON, and the frame for any other file.

An archive is a zip file that holds ``meta.json`` and one ``.npy`` member an array; ``numpy.load`` opens it too.
``meta.json`` has the keys ``format`` ("scoup"), ``version`` (1), ``kind`` (what the archive is), ``meta`` (plain
JSON) and ``arrays`` (the shape and type of each member). Members come in the order of their names, with fixed
times, so the same content is the same bytes. They are stored as they are unless compression is asked for, each
starting at a multiple of 64 bytes, so that a large array is mapped into memory and not read.
"""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import struct
import uuid
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from scoup.errors import DamagedFileError, ScoupError

Array = NDArray[Any]
PathLike = str | os.PathLike[str]

FORMAT, VERSION = "scoup", 1
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip can hold
_ALIGN, _LOCAL_HEADER, _ZIP64_EXTRA, _PAD_ID = 64, 30, 20, 0xD935
_MAP_FROM = 1 << 20
_NOT_A_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
)
_BROKEN = (*_NOT_A_ZIP, ValueError, KeyError, TypeError, OverflowError)


@contextmanager
def atomic(path: PathLike, need: int = 0) -> Iterator[Path]:
    """Give a temporary path beside ``path`` that takes its place at the end, or is removed on any failure.

    ``need`` is the number of bytes about to be written, if known: a disk that is too full is refused beforehand.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    # The ending stays, since some writers (matplotlib, gzip) choose their format by it.
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
    """Return the error for a disk without room for ``path``, naming the bytes needed where they are known."""
    free = shutil.disk_usage(path.parent).free
    wanted = f"needs {need / 1e6:.1f} MB and " if need else ""
    return ScoupError(
        f"{path}: {wanted}the disk has {free / 1e6:.1f} MB free; make room or choose another folder."
    )


def write_bytes(path: PathLike, content: bytes) -> None:
    """Write a whole file, atomically."""
    with atomic(path, len(content)) as temporary:
        temporary.write_bytes(content)


def write_text(path: PathLike, text: str) -> None:
    """Write a whole UTF-8 text file, atomically."""
    write_bytes(path, text.encode())


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


def _to_json(value: Any) -> str:
    return (
        json.dumps(plain(value), sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
        + "\n"
    )


def write_json(path: PathLike, value: Any) -> None:
    """Write JSON with sorted keys, atomically; numbers that are not finite become null."""
    write_text(path, _to_json(value))


def read_json(path: PathLike) -> Any:
    """Read a JSON file, or say which file is damaged."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ScoupError.expected(str(path), "a JSON file", "no such file") from None
    except ValueError as error:
        raise DamagedFileError(str(path), "JSON", error) from None


def write_archive(
    path: PathLike,
    kind: str,
    meta: Mapping[str, Any],
    arrays: Mapping[str, Any],
    compress: bool = False,
) -> None:
    """Write ``meta`` and the named arrays as one archive of the given kind.

    ``compress`` deflates every member: smaller for arrays full of zeros, but such members cannot be mapped.
    """
    blocks = _plain_arrays(path, arrays)
    head = {
        name: {"dtype": array.dtype.str, "shape": list(array.shape)}
        for name, array in blocks.items()
    }
    document = {"format": FORMAT, "version": VERSION, "kind": kind, "meta": meta, "arrays": head}
    need = sum(array.nbytes + 512 for array in blocks.values()) if not compress else 0
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with atomic(path, need) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        archive.writestr(zipfile.ZipInfo("meta.json", _EPOCH), _to_json(document))
        _write_members(archive, blocks, method)


def write_npz(path: PathLike, arrays: Mapping[str, Any]) -> None:
    """Write a plain ``.npz`` as numpy does, for raw files in a published format; same arrays, same bytes."""
    blocks = _plain_arrays(path, arrays)
    with atomic(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        _write_members(archive, blocks, zipfile.ZIP_STORED)


def _plain_arrays(path: PathLike, arrays: Mapping[str, Any]) -> dict[str, Array]:
    blocks = {name: np.asarray(arrays[name]) for name in sorted(arrays)}
    for name, array in blocks.items():
        if array.dtype.hasobject:
            raise ScoupError.expected(
                f"{path}: {name}", "numbers, booleans or text", f"dtype {array.dtype}"
            )
    return blocks


def _write_members(archive: zipfile.ZipFile, blocks: Mapping[str, Array], method: int) -> None:
    for name, array in blocks.items():
        info = _member(archive, f"{name}.npy", method)
        with archive.open(info, "w", force_zip64=True) as member:
            npy.write_array(member, array, allow_pickle=False)


def _member(archive: zipfile.ZipFile, name: str, method: int) -> zipfile.ZipInfo:
    """Describe a member whose data starts at a multiple of 64 bytes: an unused extra field pads the header."""
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = method
    start = archive.start_dir + _LOCAL_HEADER + len(name.encode()) + _ZIP64_EXTRA + 4
    pad = -start % _ALIGN
    info.extra = struct.pack("<HH", _PAD_ID, pad) + bytes(pad)
    return info


def read_archive(path: PathLike, kind: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the meta and the arrays of an archive of the given kind, each checked against its checksum.

    Large members that are not compressed are mapped read-only: they cost memory only where they are touched.
    """
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            document = json.loads(archive.read("meta.json"))
            _check_document(str(path), document, kind)
            arrays = {name: _read_member(file, archive, name) for name in document["arrays"]}
    except FileNotFoundError:
        raise ScoupError.expected(str(path), f"a {kind} file", "no such file") from None
    except ScoupError:
        raise
    except _BROKEN as error:
        raise DamagedFileError(str(path), kind, error) from None
    for name, head in document["arrays"].items():
        found = {"dtype": arrays[name].dtype.str, "shape": list(arrays[name].shape)}
        if found != head:
            raise DamagedFileError(str(path), kind, f"{name} is {found}, not {head}")
    return document["meta"], arrays


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


def _read_member(file: io.BufferedReader, archive: zipfile.ZipFile, name: str) -> Array:
    info = archive.getinfo(f"{name}.npy")
    if info.compress_type == zipfile.ZIP_STORED and info.file_size >= _MAP_FROM:
        return _map_member(file, archive, info)
    with archive.open(info) as member:
        array = npy.read_array(member, allow_pickle=False)
        if member.read(1):  # the checksum is compared when the end is reached
            raise ValueError(f"{info.filename} is longer than its header says")
    array.setflags(write=False)
    return array


def _map_member(file: io.BufferedReader, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array:
    archive.open(info).close()  # compares the local header with the directory
    file.seek(info.header_offset)
    name_size, extra_size = struct.unpack("<26xHH", file.read(_LOCAL_HEADER))
    start = info.header_offset + _LOCAL_HEADER + name_size + extra_size
    if _crc32(file, start, info.file_size) != info.CRC:
        raise zipfile.BadZipFile(f"wrong checksum of {info.filename}")
    file.seek(start)
    version = npy.read_magic(file)
    read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran, dtype = read_header(file)
    order = "F" if fortran else "C"
    return np.asarray(np.memmap(file, dtype, "r", file.tell(), shape, order))  # type: ignore[call-overload]


def _crc32(file: io.BufferedReader, start: int, size: int) -> int:
    """Return the checksum of ``size`` bytes, or -1 where the file is shorter than that."""
    file.seek(start)
    crc, buffer = 0, bytearray(1 << 20)
    while size:
        got = file.readinto(memoryview(buffer)[: min(size, len(buffer))])
        if not got:
            return -1
        crc, size = zlib.crc32(memoryview(buffer)[:got], crc), size - got
    return crc
