"""Inputs that are almost right: damaged bytes, and values of the wrong kind."""

import gzip
import math

import numpy as np

TOKENS = (
    b"-1", b"0", b"1", b"99999999999999999999", b"2147483646", b"9007199254740993", b"nan", b"inf",
    b"1e999", b"-0", b"1.5", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"'", b"\n\n", b"\r", b",",
    b"\t", b" ", b";", b"#", b"%", b"\\N", b"{{", b"user: id", "ü".encode(), "\u2028".encode(),
)  # fmt: skip
VALUES = (
    None, True, False, 0, 1, 2, -1, 3, 10**6, 2**31, 2**63, -(2**63), 10**30, 0.0, 0.5, -0.5,
    1e-300, 1e300, math.inf, -math.inf, math.nan, "", "a", "als", "balanced", "1", "nan", "\0",
    "user: id", "x" * 300, b"bytes", (), [], [1], [2, 2, 1], [1, 2, 3, 4], [[1]], [None], ["a"],
    [math.nan], {}, {"a": 1}, {0: 2}, {"0": 2}, {"balanced": [1, 10]}, {1: None}, 1j, object,
    np.float32(2), np.int64(1), np.array([1, 2]), np.array("a"), range(3), {1, 2},
)  # fmt: skip
KINDS = ("f8", "f4", "f2", "i8", "i4", "u8", "u1", "?", "c16", "U3", "M8[D]", "m8[s]", "S2")
SHAPES = (
    (), (0,), (1,), (3,), (2, 3), (3, 2), (0, 2), (1, 1, 1), (3, 2, 2), (2, 3, 4), (1, 2, 1, 2),
)  # fmt: skip


def mutated(rng, content):
    """Return bytes with one to four changes: bits, cuts, tokens, copies, large numbers."""
    content = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        position = rng.randrange(len(content) + 1)
        change = rng.randrange(7)
        if change == 0 and position < len(content):
            content[position] ^= 1 << rng.randrange(8)
        elif change == 1 and position < len(content):
            content[position] = rng.randrange(256)
        elif change == 2:
            del content[position:]
        elif change == 3:
            content[position:position] = rng.choice(TOKENS)
        elif change == 4:
            del content[position : position + rng.randint(1, 8)]
        elif change == 5:
            content[position:position] = content[position : position + rng.randint(1, 60)]
        else:
            number = rng.choice((0, 1, 0x7FFFFFFF, 0xFFFFFFFF, rng.getrandbits(32)))
            content[position : position + 4] = number.to_bytes(4, "little")
    return bytes(content)


def packed(rng, content, ending):
    """Return mutated bytes; of a gzipped file, those inside or those outside."""
    if not ending.endswith(".gz"):
        return mutated(rng, content)
    if rng.random() < 0.3:
        return mutated(rng, gzip.compress(content, 1, mtime=0))
    return gzip.compress(mutated(rng, content), 1, mtime=0)


def odd_array(rng, kinds=KINDS):
    """Return a small array of any type and shape, with values that mislead."""
    choices = (0, 1, 2, 3, -1, 5, 2**31 - 2, 1e300, 0.5)
    numbers = np.array([rng.choice(choices) for _ in range(24)], np.float64)
    if rng.random() < 0.2:
        numbers[rng.randrange(24)] = rng.choice((np.nan, np.inf, -np.inf))
    shape = rng.choice(SHAPES)
    count = math.prod(shape)
    with np.errstate(all="ignore"):
        kind = np.dtype(rng.choice(kinds))
        whole = np.nan_to_num(numbers[:count]).clip(-(2**31), 2**31)
        plain = whole if kind.kind in "iuMm" else numbers[:count]
        plain = plain.astype("i8") if kind.kind in "Mm" else plain
        return plain.astype(kind).reshape(shape)


def odd_value(rng):
    """Return a value of any kind, most often of the wrong one."""
    return odd_array(rng) if rng.random() < 0.1 else rng.choice(VALUES)
