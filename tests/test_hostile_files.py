"""User-supplied files that mislead: each is read rightly or refused in one sentence."""

import datetime
import gzip
import io
import os
import subprocess
import sys
import zipfile
import zlib

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import io as scipy_io

from scoup import ScoupError, text
from scoup.datasets.files.labels import read_labels
from scoup.formats import Source, endings, formats, peek, preview, read

ALL = [ending for module in formats() for ending in endings(module)]
GIGABYTE = 1 << 30


@pytest.fixture
def table(tmp_path):
    """A function that writes a Parquet table with some of its columns replaced."""
    good = {"user": ["a", "b"], "item": ["x", "y"], "day": [1, 2], "value": [1.0, 2.0]}

    def write(**columns):
        path = tmp_path / "t.parquet"
        parquet.write_table(pa.table({**good, **columns}), path)
        return str(path)

    return write


def refusal(path, **settings):
    """The sentence with which a file is refused."""
    with pytest.raises(ScoupError) as error:
        read(Source(file=str(path), **settings))
    sentence = str(error.value)
    assert str(path) in sentence
    assert "\n" not in sentence
    return sentence


def labels_of(path, mode=0, **settings):
    return read(Source(file=str(path), **settings)).ids[mode].tolist()


VALUES = {
    "text": ["one", "two"],
    "timestamps": pa.array([0, 1], pa.timestamp("us")),
    "integers above 2^53": [2**53 + 1, 1],
    "lists": [[1.0], [2.0]],
    "structs": [{"a": 1}, {"a": 2}],
    "nulls": [None, 1.0],
    "bytes": pa.array([b"\xff", b"1"], pa.binary()),
    "infinities": [float("inf"), 1.0],
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("layout", ["long", "wide"])
def test_values_of_parquet_that_are_no_numbers_are_refused(table, name, layout):
    if layout == "wide" and name in ("nulls", "infinities"):
        pytest.skip("gaps may be left in a matrix")
    columns = ["user", "value"] if layout == "wide" else None
    assert "'value'" in refusal(table(value=VALUES[name]), layout=layout, columns=columns)


LABELS = {
    "lists": [["a"], ["b"]],
    "structs": [{"a": 1}, {"a": 2}],
    "nulls": [None, "b"],
    "numbers with a gap": pa.array([1.5, None]),
    "not a number": [float("nan"), 1.0],
    "maps": pa.array([[("a", 1)], [("b", 2)]], pa.map_(pa.string(), pa.int64())),
    "bytes": pa.array([b"\xff", b"b"], pa.binary()),
    "invalid UTF-8": pa.StringArray.from_buffers(
        2, pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer(b"\xffb")
    ),
    "NUL": ["a\0", "a"],
    "blanks": [" ", "b"],
    "only nulls": pa.nulls(2),
}


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("layout", ["long", "wide"])
def test_labels_of_parquet_that_name_nothing_are_refused(table, name, layout):
    columns = ["user", "value"] if layout == "wide" else None
    refusal(table(user=LABELS[name]), layout=layout, columns=columns)


GOOD_LABELS = {
    "timestamps": (
        pa.array([datetime.datetime(2024, 1, 2), datetime.datetime(2024, 1, 1)]),
        ["2024-01-01 00:00:00", "2024-01-02 00:00:00"],
    ),
    "nanoseconds": (pa.array([1, 0], pa.timestamp("ns")), None),
    "dates": (pa.array([datetime.date(2024, 1, 2), datetime.date(2024, 1, 1)]), None),
    "large integers": ([2**63 - 1, 2**53 + 1], [2**53 + 1, 2**63 - 1]),
    "unsigned": (pa.array([2**64 - 1, 1], pa.uint64()), ["1", str(2**64 - 1)]),
    "truth values": ([True, False], ["False", "True"]),
    "dictionaries": (pa.array(["b", "a"]).dictionary_encode(), ["a", "b"]),
}


@pytest.mark.parametrize("name", GOOD_LABELS)
def test_labels_of_parquet_keep_what_they_say(table, name):
    column, expected = GOOD_LABELS[name]
    found = labels_of(table(user=column))
    assert len(set(found)) == 2
    assert expected is None or found == expected


def test_wide_parquet_with_timestamps_as_labels_reads_them_as_the_long_form_does(table):
    column = GOOD_LABELS["timestamps"][0]
    wide = labels_of(table(user=column), layout="wide", columns=["user", "value"])
    assert sorted(wide) == labels_of(table(user=column))


def test_an_unnamed_index_of_pandas_is_no_mode(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": ["x", "y"], "b": ["u", "v"], "value": [1.0, 2.0]}, index=[7, 9])
    path = tmp_path / "t.parquet"
    frame.to_parquet(path)
    assert read(Source(file=str(path))).names == ("a", "b")
    assert peek(Source(file=str(path))).names == ("a", "b")
    assert preview(str(path), 1).rows == [["x", "u", "1.0"]]
    frame.rename_axis("time").to_parquet(path)
    assert "time" in read(Source(file=str(path))).names


MARK = b"\xef\xbb\xbf"


def test_a_byte_order_mark_is_no_part_of_labels_or_numbers(tmp_path):
    wide, bare, ids, facts = (tmp_path / name for name in ("w.csv", "b.csv", "l.txt", "f.csv"))
    wide.write_bytes(MARK + b"noun,q1,q2\nbear,1,2\ncat,3,4\n")
    bare.write_bytes(MARK + b"1,1,1,2.5\n2,2,2,3.5\n")
    ids.write_bytes(MARK + b"bear\ncat\n")
    facts.write_bytes(MARK + b"noun,category\nbear,animal\n")
    content = read(Source(file=str(wide), layout="wide"))
    assert content.names[0] == "noun"
    assert content.values.tolist() == [[1, 2], [3, 4]]
    assert read(Source(file=str(bare), value="column4")).values.values.tolist() == [2.5, 3.5]
    assert read_labels(str(ids))[0].tolist() == ["bear", "cat"]
    assert read_labels(str(facts))[1]["category"].tolist() == ["animal"]


def test_a_byte_order_mark_before_numbers_between_blanks(tmp_path):
    path = tmp_path / "a.tns"
    path.write_bytes(MARK + b"1 1 1 2.5\n")
    assert read(Source(file=str(path))).values.values.tolist() == [2.5]


@pytest.mark.parametrize("ending", [".txt", ".csv", ".tsv"])
def test_label_files_that_are_not_utf8_are_refused(tmp_path, ending):
    path = tmp_path / f"labels{ending}"
    path.write_bytes("noun\nB\u00e4r\n".encode("latin1"))
    with pytest.raises(ScoupError, match=r"line 2.*UTF-8"):
        read_labels(str(path))


@pytest.mark.parametrize("name_bytes", [8, 200])
def test_headings_may_be_long(tmp_path, name_bytes):
    columns = 100_000 // name_bytes
    names = [f"q{n:0{name_bytes - 2}d}" for n in range(columns)]
    path = tmp_path / "wide.csv"
    path.write_text(",".join(["noun", *names]) + "\nbear" + ",1" * columns + "\n")
    content = read(Source(file=str(path), layout="wide"))
    assert content.values.shape == (1, columns)
    assert len(preview(str(path), 1).names) == columns + 1


def test_a_name_of_a_column_of_200_kb_is_refused_for_what_it_is(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x" * 200_000 + ",b,value\n1,2,3\n")
    sentence = refusal(path)
    assert "256 characters" in sentence


@pytest.mark.parametrize("ending", [".csv", ".txt"])
def test_nul_in_labels_is_refused_since_numpy_would_drop_it(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    path.write_bytes(b"a,b,c,value\nx\0,1,1,1\nx,1,1,1\n")
    assert "NUL" in refusal(path)
    labels = tmp_path / f"labels{ending}"
    labels.write_bytes(b"noun\nx\0\nx\n")
    with pytest.raises(ScoupError, match="NUL"):
        read_labels(str(labels))


@pytest.mark.parametrize("ending", ALL)
def test_files_that_cannot_be_opened_are_refused(tmp_path, ending):
    loop, folder = tmp_path / f"loop{ending}", tmp_path / f"folder{ending}"
    loop.symlink_to(loop)
    folder.mkdir()
    for path in (loop, folder, tmp_path / ("n" * 300 + ending), tmp_path / f"a\0b{ending}"):
        for look in (read, peek):
            with pytest.raises(ScoupError, match="expected"):
                look(Source(file=str(path)))
    locked = tmp_path / f"locked{ending}"
    locked.write_bytes(b"x")
    locked.chmod(0)
    if os.geteuid():
        refusal(locked)


@pytest.mark.parametrize("ending", [ending for ending in ALL if ending.endswith(".gz")])
def test_damaged_gzip_is_refused(tmp_path, ending):
    whole = gzip.compress(b"1 1 1 1\n" * 1000, mtime=0)
    flipped = bytearray(whole)
    flipped[-6] ^= 1
    trailing = whole + b"rubbish"
    for content in (whole[:-9], bytes(flipped), whole[:12], b"\x1f\x8b", trailing):
        path = tmp_path / f"a{ending}"
        path.write_bytes(content)
        refusal(path)


BOMB = "MB for a file of"


def test_a_size_in_two_lines_of_text_is_not_believed(tmp_path):
    path = tmp_path / "a.tns"
    path.write_text("1 1 1 1\n2147483646 1 1 1\n")
    assert "17179.9 MB for a file of" in refusal(path)
    for header in ("coordinate real general\n2147483646 3 1\n1 1 1\n",
                   "coordinate pattern symmetric\n2147483646 2147483646 1\n1 1\n"):  # fmt: skip
        path = tmp_path / "a.mtx"
        path.write_text(f"%%MatrixMarket matrix {header}")
        assert BOMB in refusal(path)
    path.write_text("%%MatrixMarket matrix array real general\n2147483646 2147483646\n1\n")
    refusal(path)


@pytest.fixture
def small_limit(monkeypatch):
    """Megabytes instead of hundreds of them, so that bombs may be small."""
    monkeypatch.setattr(text, "MIN_EXPANDED_BYTES", 1 << 22)


def mat_bomb(path, megabytes):
    """Write a MATLAB file whose only part inflates to so many megabytes."""
    scipy_io.savemat(path, {"a": np.zeros(1)}, do_compression=True)
    packer = zlib.compressobj(1)
    parts = [packer.compress(bytes(1 << 20)) for _ in range(megabytes)] + [packer.flush()]
    body = b"".join(parts)
    head = path.read_bytes()[:128]
    path.write_bytes(head + np.array([15, len(body)], "<u4").tobytes() + body)


def test_a_mat_file_that_inflates_without_end_is_refused(tmp_path, small_limit):
    mat_bomb(tmp_path / "a.mat", 10)
    assert BOMB in refusal(tmp_path / "a.mat")


def test_archives_that_inflate_without_end_are_refused(tmp_path, small_limit):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, a=np.zeros((4, 4, 1 << 17)))
    assert BOMB in refusal(path)
    buffer = io.BytesIO()
    head = {"descr": "<f8", "fortran_order": False, "shape": (1 << 40, 1)}
    np.lib.format.write_array_header_1_0(buffer, head)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", buffer.getvalue())
    refusal(path)
    coords = {"coords": np.zeros((3, 1), int), "values": np.ones(1), "shape": [2**31 - 2, 1, 1]}
    np.savez(path, **coords)
    assert BOMB in refusal(path)


def test_a_table_that_inflates_without_end_is_refused(tmp_path, small_limit):
    lines = 400_000
    same = pa.DictionaryArray.from_arrays(pa.array(np.zeros(lines, np.int8)), ["a"])
    parquet.write_table(pa.table({"a": same, "b": same, "c": same}), tmp_path / "a.parquet")
    assert BOMB in refusal(tmp_path / "a.parquet")
    path = tmp_path / "a.csv.gz"
    packer = zlib.compressobj(9, wbits=31)
    body = packer.compress(b"a,b,c\n") + b"".join(
        packer.compress(b"1,1,1\n" * 100_000) for _ in range(10)
    )
    path.write_bytes(body + packer.flush())
    assert BOMB in refusal(path)


PROBE = """
import resource, sys
from scoup import ScoupError
from scoup.formats import Source, read
resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))
try:
    read(Source(file=sys.argv[1]))
except ScoupError:
    pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def test_a_refused_bomb_takes_less_than_a_gigabyte(tmp_path):
    mat_bomb(tmp_path / "a.mat", 1500)
    call = [sys.executable, "-c", PROBE, str(tmp_path / "a.mat")]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    assert int(done.stdout) < GIGABYTE
