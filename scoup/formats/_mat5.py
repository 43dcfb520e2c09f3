"""Check the structure of a MATLAB 5 file before scipy reads it.

scipy trusts the sizes that a file states: a flipped bit there makes it ask for more memory than
there is, or end the process. So every tag is walked first: each part must lie within its parent,
have a known type, and hold as many numbers as its dimensions say.
"""

import struct
import zlib
from math import prod

import numpy as np

HEADER_BYTES = 128
MAX_DEPTH = 6
INT32, UINT32, MATRIX, COMPRESSED = 5, 6, 14, 15  # types of parts
CELL, STRUCT, CHAR, SPARSE = 1, 2, 4, 5  # classes of arrays
NUMBERS = range(6, 16)
COMPLEX = 0x800
ITEM_BYTES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8, 16: 1, 17: 2, 18: 4}


class DamagedError(Exception):
    """A part of the file is not what its tag says."""


def check(content: bytes, limit: int) -> None:
    """Walk all parts of a MATLAB 5 file; raise :class:`DamagedError` at the first that is not
    whole, or when more than ``limit`` bytes have been unpacked.

    >>> check(b"MATLAB", 1000)
    Traceback (most recent call last):
    ...
    scoup.formats._mat5.DamagedError: 6 bytes are too few for a header
    """
    if len(content) < HEADER_BYTES:
        raise DamagedError(f"{len(content)} bytes are too few for a header")
    order = {b"IM": "<", b"MI": ">"}.get(content[126:128])
    if order is None:
        raise DamagedError("no MATLAB 5 header")
    parts = _Parts(memoryview(content)[HEADER_BYTES:], order)
    while parts.position < len(parts.view):
        kind, data = parts.next()
        if kind == COMPRESSED:
            unpacked = _unpack(data, limit)
            limit -= len(unpacked)
            kind, data = _Parts(unpacked, order).next()
        if kind != MATRIX:
            raise DamagedError(f"a variable of type {kind}")
        _check_array(data, order, 0)


def _unpack(data: memoryview, limit: int) -> memoryview:
    stream = zlib.decompressobj()
    try:
        unpacked = stream.decompress(data, max(limit, 1))
    except zlib.error as error:
        raise DamagedError(str(error)) from None
    if stream.unconsumed_tail:
        raise DamagedError(f"more than {limit / 1e6:.1f} MB for a file of {len(data):,} bytes")
    if not stream.eof:
        raise DamagedError("a compressed part is cut off")
    return memoryview(unpacked)


class _Parts:
    """Reads one part after the other, in the byte order of the file."""

    def __init__(self, view: memoryview, order: str) -> None:
        self.view, self.order, self.position = view, order, 0

    def next(self) -> tuple[int, memoryview]:
        """Return type and content of the next part."""
        if self.position + 8 > len(self.view):
            raise DamagedError("a tag is cut off")
        kind, size = struct.unpack_from(f"{self.order}2I", self.view, self.position)
        start = self.position + 8
        if kind >> 16:  # size and content are packed into the tag
            size, kind, start, end = kind >> 16, kind & 0xFFFF, start - 4, start
            if size > 4:
                raise DamagedError("a small part of more than 4 bytes")
        else:
            # Parts begin at multiples of 8 bytes, but what follows a compressed one does not.
            end = start + size + (0 if kind == COMPRESSED else -size % 8)
        if start + size > len(self.view):
            raise DamagedError(f"a part of {size} bytes where {len(self.view) - start} are left")
        self.position = min(end, len(self.view))
        return kind, self.view[start : start + size]

    def numbers(self, expected: int) -> tuple[int, ...]:
        """Return the 32-bit numbers of the next part."""
        kind, data = self.next()
        if kind != expected or len(data) % 4:
            raise DamagedError(f"a part of type {kind} where {expected} was due")
        return struct.unpack(f"{self.order}{len(data) // 4}{'I' if kind == UINT32 else 'i'}", data)

    def check_values(self, count: int, exactly: bool = True) -> None:
        """Refuse a next part that does not hold ``count`` values."""
        kind, data = self.next()
        need = count * ITEM_BYTES.get(kind, 0)
        if kind not in ITEM_BYTES or len(data) < need or (exactly and len(data) > need):
            raise DamagedError(f"{len(data)} bytes for {count} values")


def _check_array(view: memoryview, order: str, depth: int) -> None:
    """Check one array: flags, dimensions, name, and as many values as the dimensions say."""
    if depth > MAX_DEPTH:
        raise DamagedError("arrays within arrays without end")
    if not len(view):
        return
    parts = _Parts(view, order)
    flags, shape = parts.numbers(UINT32), parts.numbers(INT32)
    parts.next()
    if len(flags) != 2 or len(shape) < 2 or min(shape) < 0:
        raise DamagedError(f"an array with dimensions {shape}")
    kind, count, halves = flags[0] & 0xFF, prod(shape), 2 if flags[0] & COMPLEX else 1
    if kind in (CELL, STRUCT):
        _check_children(parts, count * (_fields(parts) if kind == STRUCT else 1), depth)
    elif kind == SPARSE:
        _check_sparse(parts, shape, halves)
    elif kind == CHAR or kind in NUMBERS:
        for _ in range(halves):
            parts.check_values(count)
    else:
        raise DamagedError(f"an array of class {kind}")


def _check_sparse(parts: _Parts, shape: tuple[int, ...], halves: int) -> None:
    """Check a sparse matrix: row numbers within the rows, column pointers that only rise, as many
    values.
    """
    rows, pointers = np.array(parts.numbers(INT32)), np.array(parts.numbers(INT32))
    if len(shape) != 2 or pointers.size != shape[1] + 1 or not 0 == pointers[0] <= pointers[-1]:
        raise DamagedError("a sparse matrix whose columns do not add up")
    if pointers[-1] > rows.size or (np.diff(pointers) < 0).any():
        raise DamagedError("a sparse matrix whose columns do not add up")
    if ((rows < 0) | (rows >= shape[0])).any():
        raise DamagedError("a sparse matrix with cells outside of it")
    for _ in range(halves):
        parts.check_values(int(pointers[-1]), exactly=False)


def _fields(parts: _Parts) -> int:
    length, names = parts.numbers(INT32), parts.next()[1]
    if len(length) != 1 or not 0 < length[0] <= len(names) + 1 or len(names) % length[0]:
        raise DamagedError("field names that do not add up")
    return len(names) // length[0]


def _check_children(parts: _Parts, count: int, depth: int) -> None:
    if count * 8 > len(parts.view):
        raise DamagedError(f"{count} arrays in {len(parts.view)} bytes")
    for _ in range(count):
        kind, data = parts.next()
        if kind != MATRIX:
            raise DamagedError(f"a part of type {kind} where an array was due")
        _check_array(data, parts.order, depth + 1)
