"""Check the structure of a MATLAB 5 file before scipy reads it.

scipy trusts the sizes that a file states: a flipped bit there makes it ask for more memory than there
is, or end the process. So every tag is walked first: each part must lie within its parent, have a known type,
and hold as many numbers as its dimensions say.
"""

from __future__ import annotations

import struct
import zlib
from itertools import pairwise
from math import prod

HEADER = 128
DEEPEST = 6
MATRIX, COMPRESSED = 14, 15
CELL, STRUCT, CHAR, SPARSE = 1, 2, 4, 5
NUMBERS = range(6, 16)
COMPLEX = 0x800
SIZES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8, 16: 1, 17: 2, 18: 4}


class DamagedError(Exception):
    """A part of the file is not what its tag says."""


def check(content: bytes) -> None:
    """Walk all parts of a MATLAB 5 file; raise :class:`DamagedError` at the first that is not whole.

    >>> check(b"MATLAB")
    Traceback (most recent call last):
    ...
    scoup.raw.mat5.DamagedError: 6 bytes are too few for a header
    """
    if len(content) < HEADER:
        raise DamagedError(f"{len(content)} bytes are too few for a header")
    orders = {b"IM": "<", b"MI": ">"}
    if content[126:128] not in orders:
        raise DamagedError("no MATLAB 5 header")
    walker = _Walker(orders[content[126:128]])
    view, place = memoryview(content), HEADER
    while place < len(view):
        kind, data, place = walker.part(view, place, packed=True)
        if kind == COMPRESSED:
            try:
                inner = memoryview(zlib.decompress(data))
            except zlib.error as error:
                raise DamagedError(str(error)) from None
            kind, data, _ = walker.part(inner, 0)
        if kind != MATRIX:
            raise DamagedError(f"a variable of type {kind}")
        walker.matrix(data, 0)


class _Walker:
    """Reads tags in the byte order of the file."""

    def __init__(self, order: str) -> None:
        self._word = struct.Struct(f"{order}I")
        self._order = order

    def part(
        self, view: memoryview, place: int, packed: bool = False
    ) -> tuple[int, memoryview, int]:
        """Return type and content of the part at ``place``, and where the next begins."""
        if place + 8 > len(view):
            raise DamagedError("a tag is cut off")
        kind = self._word.unpack_from(view, place)[0]
        if kind >> 16:
            size, kind, start, end = kind >> 16, kind & 0xFFFF, place + 4, place + 8
            if size > 4:
                raise DamagedError("a small part of more than 4 bytes")
        else:
            size, start = self._word.unpack_from(view, place + 4)[0], place + 8
            # Parts begin at multiples of 8 bytes, but what follows a compressed one does not.
            end = start + size + (0 if packed and kind == COMPRESSED else -size % 8)
        if start + size > len(view):
            raise DamagedError(f"a part of {size} bytes where {len(view) - start} are left")
        return kind, view[start : start + size], min(end, len(view))

    def numbers(self, view: memoryview, place: int, kind: int) -> tuple[tuple[int, ...], int]:
        """Return the 32-bit numbers of the part at ``place``."""
        found, data, end = self.part(view, place)
        if found != kind or len(data) % 4:
            raise DamagedError(f"a part of type {found} where {kind} was due")
        return struct.unpack(f"{self._order}{len(data) // 4}{'I' if kind == 6 else 'i'}", data), end

    def matrix(self, view: memoryview, depth: int) -> None:
        """Check one array: flags, dimensions, name, and as many values as the dimensions say."""
        if depth > DEEPEST:
            raise DamagedError("arrays within arrays without end")
        if not len(view):
            return
        flags, place = self.numbers(view, 0, 6)
        shape, place = self.numbers(view, place, 5)
        _, _, place = self.part(view, place)
        if len(flags) != 2 or len(shape) < 2 or min(shape) < 0:
            raise DamagedError(f"an array with dimensions {shape}")
        kind, count = flags[0] & 0xFF, prod(shape)
        if kind in (CELL, STRUCT):
            self._children(
                view,
                place,
                count if kind == CELL else count * self._fields(view, place),
                depth,
                kind,
            )
        elif kind == CHAR or kind in NUMBERS:
            self._values(view, place, count, 2 if flags[0] & COMPLEX else 1)
        elif kind == SPARSE:
            self._sparse(view, place, shape, 2 if flags[0] & COMPLEX else 1)
        else:
            raise DamagedError(f"an array of class {kind}")

    def _sparse(self, view: memoryview, place: int, shape: tuple[int, ...], halves: int) -> None:
        """Check a sparse matrix: row numbers within the rows, column pointers that only rise, as many values."""
        rows, place = self.numbers(view, place, 5)
        columns, place = self.numbers(view, place, 5)
        if (
            len(shape) != 2
            or len(columns) != shape[1] + 1
            or columns[0] != 0
            or columns[-1] > len(rows)
        ):
            raise DamagedError("a sparse matrix whose columns do not add up")
        if any(low > high for low, high in pairwise(columns)) or any(
            not 0 <= row < shape[0] for row in rows
        ):
            raise DamagedError("a sparse matrix with cells outside of it")
        for _ in range(halves):
            kind, data, place = self.part(view, place)
            if kind not in SIZES or len(data) < columns[-1] * SIZES[kind]:
                raise DamagedError(f"{len(data)} bytes for {columns[-1]} values")

    def _fields(self, view: memoryview, place: int) -> int:
        length, place = self.numbers(view, place, 5)
        _, names, _ = self.part(view, place)
        if len(length) != 1 or not 0 < length[0] <= len(names) + 1 or len(names) % length[0]:
            raise DamagedError("field names that do not add up")
        return len(names) // length[0]

    def _children(self, view: memoryview, place: int, count: int, depth: int, kind: int) -> None:
        if kind == STRUCT:
            place = self.part(view, self.part(view, place)[2])[2]
        if count * 8 > len(view):
            raise DamagedError(f"{count} arrays in {len(view)} bytes")
        for _ in range(count):
            found, data, place = self.part(view, place)
            if found != MATRIX:
                raise DamagedError(f"a part of type {found} where an array was due")
            self.matrix(data, depth + 1)

    def _values(self, view: memoryview, place: int, count: int, halves: int) -> None:
        for _ in range(halves):
            kind, data, place = self.part(view, place)
            if kind not in SIZES or len(data) != count * SIZES[kind]:
                raise DamagedError(f"{len(data)} bytes for {count} values")
