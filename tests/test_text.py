"""A text table is read as it stands or refused with the line that is wrong."""

import codecs
import gzip

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from scoup import text
from scoup.errors import ScoupError

THREE = text.Columns("owner, poster, time", 3, lowest=1)
LINKS = text.Columns("user, user, time", 3, lowest=1, unknown=True)
REAL = text.Columns("indices from 1 and a value", lowest=1, real=True)


def read(path, columns):
    return np.concatenate(list(text.read_columns(path, columns)))


def plain(content, columns):
    """A slow reading by the book: the table, or the number of the first bad line."""
    rows, count = [], columns.count
    content = content.removeprefix(codecs.BOM_UTF8)
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip(b" \t\r") or line.strip(b" \t\r")[:1] in b"#%":
            continue
        words = line.replace(b"\t", b" ").replace(b"\r", b" ").split(b" ")
        words = [word for word in words if word]
        count = count or len(words)
        try:
            assert len(words) == count
            assert count >= (columns.count or 2)
            heads = words[:-1] if columns.real else words
            assert all(word.isdigit() and columns.lowest <= int(word) <= 2**53 for word in heads)
            last = float(words[-1].decode("ascii"))
            assert np.isfinite(last)
            assert all(letter in b"0123456789+-.eE" for letter in words[-1])
        except (AssertionError, ValueError):
            return number
        rows.append([*map(float, heads[: count - 1]), last])
    return np.array(rows) if rows else 0


junk = st.binary(max_size=40).map(lambda content: content.decode("latin-1"))
letters = st.text("0123456789 \t\n\r-+.eEx#%\\N", max_size=60)
numbers = st.lists(
    st.lists(st.integers(0, 2**31).map(str), min_size=2, max_size=4).map("\t".join)
).map("\n".join)


@settings(max_examples=400, deadline=None)
@example(content="\xef\xbb\xbf", real=False)  # a byte-order mark and nothing else
@example(content="\xef\xbb\xbf1\t2\t3", real=False)
@given(
    content=st.one_of(letters, numbers, st.binary(max_size=40).map(lambda b: b.decode("latin-1"))),
    real=st.booleans(),
)
def test_any_text_is_read_by_the_book_or_refused_by_line(tmp_path_factory, content, real):
    path = tmp_path_factory.getbasetemp() / "fuzz.txt"
    raw = content.encode("latin-1")
    assume(not raw.startswith(b"\x1f\x8b"))  # that is a gzip file, which has tests of its own
    path.write_bytes(raw)
    columns = REAL if real else THREE
    want = plain(raw, columns)
    if isinstance(want, int):
        where = (
            r"fuzz.txt: expected lines of .*, got an empty file"
            if want == 0
            else rf"fuzz.txt, line {want}: expected"
        )
        with pytest.raises(ScoupError, match=where):
            read(path, columns)
    else:
        np.testing.assert_array_equal(read(path, columns), want)


@pytest.mark.parametrize("block", [1, 7, 64, 1 << 22])
@pytest.mark.parametrize("packed", [False, True])
def test_blocks_do_not_matter(tmp_path, monkeypatch, block, packed):
    rows = np.arange(1, 301).reshape(100, 3)
    content = "# head\n" + "\n".join("\t".join(map(str, row)) for row in rows)
    path = tmp_path / ("a.txt.gz" if packed else "a.txt")
    path.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    monkeypatch.setattr(text, "BLOCK_BYTES", block)
    np.testing.assert_array_equal(read(path, THREE), rows)
    path.write_bytes(path.read_bytes() if packed else content.encode() + b"\n5 6\n")
    if not packed:
        with pytest.raises(
            ScoupError, match=r"a.txt, line 102: expected owner, poster, time, got '5 6'"
        ):
            read(path, THREE)


def test_unknown_times_only_where_allowed(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"1\t2\t\\N\n3\t4\t5\n")
    np.testing.assert_array_equal(read(tmp_path / "a.txt", LINKS), [[1, 2, -1], [3, 4, 5]])
    with pytest.raises(
        ScoupError, match=r"line 1: expected owner, poster, time, got '1\\t2\\t\\\\N'"
    ):
        read(tmp_path / "a.txt", THREE)
    for bad in (b"1\t\\N\t5\n", b"1\t2\t-7\n", b"-1\t2\t3\n", b"1\t2\t\\NN\n"):
        (tmp_path / "b.txt").write_bytes(b"1\t2\t3\n" + bad)
        with pytest.raises(ScoupError, match=r"b.txt, line 2: expected user, user, time, got"):
            read(tmp_path / "b.txt", LINKS)


@pytest.mark.parametrize(
    "content", [b"1 2 3\n" + b"7" * 10_000_000, b"1 2 3\n" + b"7 " * 5_000_000 + b"\n1 2 3\n"]
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_line_of_10_mb_is_refused(tmp_path, content, pack):
    (tmp_path / "long.txt").write_bytes(pack(content))
    with pytest.raises(
        ScoupError, match=r"long.txt, line 2: expected at most 65536 characters, got a longer line"
    ):
        read(tmp_path / "long.txt", THREE)


@pytest.mark.parametrize("keep", [1, 40, 400])
@pytest.mark.parametrize("tail", [b"", b"\xff" * 50])
def test_damaged_gzip(tmp_path, keep, tail):
    whole = gzip.compress(b"\n".join(b"%d %d %d" % (n, n * n, n) for n in range(1, 999)))
    (tmp_path / "a.txt.gz").write_bytes(whole[:keep] + tail)
    with pytest.raises(
        ScoupError, match=r"a.txt.gz: expected a (whole )?gzip file, got .*; fetch it again"
    ):
        read(tmp_path / "a.txt.gz", THREE)


def test_missing_file(tmp_path):
    with pytest.raises(ScoupError, match=r"no.txt: expected a text file, got no such file"):
        read(tmp_path / "no.txt", THREE)
