"""Files appear whole or not at all, come back as they were, and say so when they are damaged."""

import errno
import json
import resource
import shutil
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from scoup import coupled, results, store
from scoup.block import HeldOut, Observed
from scoup.coupled import CoupledData
from scoup.errors import DamagedFileError, ScoupError
from scoup.records import Factors, Fit, FitReport, Labels, Provenance, SourceFile
from scoup.seeds import generator
from scoup.tensor import SparseTensor

RNG = generator(0, "test-store")
CELLS = SparseTensor([[0, 1, 2], [1, 0, 3], [4, 2, 0]], [1.0, 1.0, 1.0], (3, 4, 5))
X = SparseTensor([[0, 1, 2, 2], [1, 0, 3, 2], [4, 2, 0, 1]], [1.0, 2.0, -3.0, 0.5], (3, 4, 5))


def same(left, right):
    if isinstance(left, SparseTensor):
        return (
            left.shape == right.shape
            and same(left.coords, right.coords)
            and same(left.values, right.values)
        )
    if isinstance(left, (HeldOut, Observed)):
        return type(left) is type(right) and same(left.cells, right.cells)
    if left is None:
        return right is None
    return left.dtype == right.dtype and left.shape == right.shape and np.array_equal(left, right)


def left_in(folder):
    return sorted(path.name for path in folder.rglob("*"))


def write_half(path, error):
    with store.atomic(path) as temporary:
        temporary.write_bytes(b"half")
        raise error


names = st.text("abcXYZ09_.-", min_size=1, max_size=8).filter(lambda name: name != "meta.json")
kinds = st.sampled_from([np.float64, np.float32, np.int32, np.uint8, np.bool_, "<U3"])
blocks = st.dictionaries(
    names, kinds.flatmap(lambda kind: hnp.arrays(kind, hnp.array_shapes(min_dims=0, min_side=0)))
)


@settings(max_examples=60, deadline=None)
@given(arrays=blocks)
def test_archive_returns_what_was_put_in(tmp_path_factory, arrays):
    path = tmp_path_factory.getbasetemp() / "a.npz"
    store.write_archive(path, "thing", {"n": [1, None, "é"]}, arrays)
    meta, found = store.read_archive(path, "thing")
    assert meta == store.read_meta(path, "thing") == {"n": [1, None, "é"]}
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype


def test_same_content_same_bytes(tmp_path):
    big = RNG.random((300, 700))
    store.write_archive(
        tmp_path / "a.npz", "thing", {"x": 1, "y": 2}, {"p": big, "q": np.arange(3)}
    )
    store.write_archive(
        tmp_path / "b.npz", "thing", {"y": 2, "x": 1}, {"q": np.arange(3), "p": big}
    )
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@pytest.mark.parametrize("order", ["C", "F"])
def test_large_arrays_are_mapped_aligned_and_read_only(tmp_path, order):
    big = np.asarray(RNG.random((500, 700)), order=order)
    store.write_archive(tmp_path / "a.npz", "thing", {}, {"big": big, "name": np.arange(3)})
    found = store.read_archive(tmp_path / "a.npz", "thing")[1]["big"]
    np.testing.assert_array_equal(found, big)
    assert not found.flags.owndata
    assert not found.flags.writeable
    assert found.flags.aligned
    assert found.flags[f"{order}_CONTIGUOUS"]
    with np.load(tmp_path / "a.npz") as other:
        np.testing.assert_array_equal(other["big"], big)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "good.npz"
    arrays = {"small": np.arange(50.0), "large": np.arange(140_000.0)}
    store.write_archive(path, "thing", {"k": "v"}, arrays)
    return path.read_bytes(), arrays


@settings(max_examples=150, deadline=None)
@given(where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), near=st.booleans())
def test_flipped_bit_is_noticed_or_harmless(good, tmp_path_factory, where, bit, near):
    content, arrays = bytearray(good[0]), good[1]
    # Headers sit in the first and last kilobytes: aim half of the flips there.
    place = int(where * len(content)) if not near else (int(where * 4000) - 2000) % len(content)
    content[place] ^= 1 << bit
    path = tmp_path_factory.getbasetemp() / "flipped.npz"
    path.write_bytes(content)
    try:
        meta, found = store.read_archive(path, "thing")
    except DamagedFileError:
        return
    assert meta == {"k": "v"}
    assert all(np.array_equal(found[name], arrays[name]) for name in arrays)


def test_jobs_of_one_run_verify_a_large_array_once_and_again_when_it_changed(
    good, tmp_path, monkeypatch
):
    path, marks = tmp_path / "a.npz", tmp_path / "marks"
    path.write_bytes(good[0])
    marks.mkdir()
    monkeypatch.setenv(store.VERIFIED_FOLDER, str(marks))
    for _ in range(2):
        np.testing.assert_array_equal(store.read_archive(path, "thing")[1]["large"][-1], 139_999)
        assert len(list(marks.iterdir())) == 1
    content = bytearray(good[0])
    content[good[0].index(good[1]["large"].tobytes()[-64:])] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedFileError):
        store.read_archive(path, "thing")
    monkeypatch.setenv(store.VERIFIED_FOLDER, str(tmp_path / "gone"))
    path.write_bytes(good[0])
    store.read_archive(path, "thing")


@pytest.mark.parametrize("name", ["small", "large"])
def test_flipped_bit_in_the_numbers_names_the_file_and_the_way_out(good, tmp_path, name):
    content = bytearray(good[0])
    place = good[0].index(good[1][name].tobytes()[-64:]) + 40
    content[place] ^= 1
    (tmp_path / "bad.npz").write_bytes(content)
    with pytest.raises(
        ScoupError, match=r"bad.npz: expected a whole thing file, got .*; delete it and run again"
    ):
        store.read_archive(tmp_path / "bad.npz", "thing")


@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.999])
def test_truncated_archive(good, tmp_path, share):
    (tmp_path / "cut.npz").write_bytes(good[0][: int(share * len(good[0]))])
    with pytest.raises(
        ScoupError, match=r"cut.npz: expected a whole thing file.*delete it and run again"
    ):
        store.read_archive(tmp_path / "cut.npz", "thing")


def test_wrong_kind_newer_version_foreign_file_and_no_file(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    store.write_archive(path, "factors", {}, {})
    with pytest.raises(
        ScoupError, match=r"a.npz: expected a coupled-data file, got a factors file"
    ):
        results.read_dataset(path)
    with monkeypatch.context() as patch:
        patch.setattr(store, "VERSION", 9)
        store.write_archive(path, "factors", {}, {})
    with pytest.raises(ScoupError, match=r"version 1 or older, got version 9; update scoup"):
        store.read_archive(path, "factors")
    np.savez(path, a=np.arange(3))
    with pytest.raises(ScoupError, match=r"a.npz: expected a whole factors file"):
        store.read_archive(path, "factors")
    with pytest.raises(ScoupError, match=r"none.npz: expected a factors file, got no such file"):
        store.read_archive(tmp_path / "none.npz", "factors")


def test_objects_are_never_written_nor_read(tmp_path):
    with pytest.raises(ScoupError, match=r"expected numbers, booleans or text, got dtype object"):
        store.write_archive(tmp_path / "a.npz", "thing", {}, {"o": np.array([{}])})
    assert left_in(tmp_path) == []


def test_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    store.write_text(path, "old")
    with pytest.raises(KeyboardInterrupt):
        write_half(path, KeyboardInterrupt())
    assert path.read_text() == "old"
    assert left_in(tmp_path) == ["a.txt"]


def test_disk_too_full_is_refused_beforehand(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(store.shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(
        ScoupError, match=r"a.npz: needs 8.0 MB and the disk has 0.0 MB free; make room"
    ):
        store.write_archive(tmp_path / "a.npz", "thing", {}, {"x": np.zeros(1_000_000)})
    assert left_in(tmp_path) == []


def test_disk_full_while_writing(tmp_path):
    with pytest.raises(ScoupError, match=r"a.npz: the disk has .* MB free"):
        write_half(tmp_path / "a.npz", OSError(errno.ENOSPC, "No space left on device"))
    assert left_in(tmp_path) == []


def test_file_size_limit_leaves_nothing(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises((OSError, ScoupError)):
            store.write_archive(tmp_path / "a.npz", "thing", {}, {"x": np.zeros(100_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert left_in(tmp_path) == []


def test_json_is_sorted_plain_and_has_no_nan(tmp_path):
    store.write_json(
        tmp_path / "a.json", {"b": np.float64("nan"), "a": (np.int64(1), float("inf"), True, "ü")}
    )
    text = (tmp_path / "a.json").read_text()
    assert text.endswith("}\n")
    assert text.index('"a"') < text.index('"b"')
    assert store.read_json(tmp_path / "a.json") == {"a": [1, None, True, "ü"], "b": None}
    assert json.loads(text)["a"][2] is True
    (tmp_path / "b.json").write_text('{"a": ')
    with pytest.raises(
        DamagedFileError, match=r"b.json: expected a whole JSON file.*delete it and run again"
    ):
        store.read_json(tmp_path / "b.json")


@settings(max_examples=150, deadline=None)
@given(where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_flipped_bit_in_a_json_file_is_noticed_or_harmless(tmp_path_factory, where, bit):
    path, content = tmp_path_factory.getbasetemp() / "flipped.json", {"value": 1.25, "ids": [1, 20]}
    store.write_json(path, content)
    flipped = bytearray(path.read_bytes())
    flipped[int(where * len(flipped))] ^= 1 << bit
    path.write_bytes(flipped)
    try:
        found = store.read_json(path)
    except DamagedFileError:
        return
    assert found == content


def test_other_readers_find_the_content_of_a_json_file_next_to_its_checksum(tmp_path):
    path = tmp_path / "a.json"
    store.write_json(path, {"value": 1.25})
    assert json.loads(path.read_text())["value"] == 1.25
    path.write_text(path.read_text().replace("1.25", "1.26"))
    with pytest.raises(DamagedFileError, match=r"a.json: .*wrong checksum"):
        store.read_json(path)
    for foreign in ('{"value": 1.26}', "0", "[]", '{"value": 1e999}', "[" * 100_000):
        path.write_text(foreign)
        with pytest.raises(DamagedFileError, match=r"a.json"):
            store.read_json(path)


def test_a_damaged_npy_header_is_a_damaged_file(tmp_path):
    path = tmp_path / "a.npz"
    store.write_archive(path, "thing", {}, {"x": np.arange(3)})
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["x.npy"] = members["x.npy"].replace(b"(3,)", b"(3, ")  # tokenize.TokenError
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(DamagedFileError):
        store.read_archive(path, "thing")


def data_sets():
    dense, hole = RNG.random((3, 4, 5)), RNG.random((3, 4, 5)) > 0.3
    side, thin = RNG.random((3, 2)), np.eye(4, dtype=np.float32)
    return {
        "dense": CoupledData(dense, {0: side}),
        "float32": CoupledData(dense.astype(np.float32), {1: thin}),
        "masked": CoupledData(dense, {0: side}, hole, {0: side > 0.5}),
        "sparse": CoupledData(X, {0: side}),
        "held-out": CoupledData(X, {0: side}, HeldOut(CELLS)),
        "observed": CoupledData(X, {0: side}, Observed(CELLS)),
        "many": CoupledData(
            X, {0: [side, side + 1], 2: [np.ones((5, 1))]}, None, {0: [None, side > 0.5]}
        ),
        "weights": CoupledData(dense, {0: side}, weights=[2.0, 0.0]),
        "balanced": CoupledData(X, {0: side}, weights="balanced"),
        "alone": CoupledData(X),
    }


@pytest.mark.filterwarnings("ignore::scoup.errors.ScoupWarning")
@pytest.mark.parametrize(
    "name",
    [
        "dense",
        "float32",
        "masked",
        "sparse",
        "held-out",
        "observed",
        "many",
        "weights",
        "balanced",
        "alone",
    ],
)
def test_data_returns_whole(tmp_path, name):
    data = data_sets()[name]
    results.write_dataset(tmp_path / "d.npz", coupled.Dataset(data))
    found = results.read_dataset(tmp_path / "d.npz").data
    assert list(found.matrices) == list(data.matrices)
    assert found.block_weights == data.block_weights
    for left, right in zip(data.blocks, found.blocks, strict=True):
        assert same(left.values, right.values)
        assert same(left.mask, right.mask)


def test_labels_provenance_and_extras_travel(tmp_path):
    files = (SourceFile("a.txt", "https://example.org/a.txt", "00ff", 12, "2020-01-01T00:00:00Z"),)
    provenance = Provenance("tiny", "simulate", "asked for", files, seed=3)
    labels = (
        Labels("noun", np.array(["bear", "cat", "cow"]), {"category": np.array(["a", "b", "c"])}),
        Labels("voxel", np.arange(4), {"x": np.arange(4)}),
        Labels("subject", np.array(list("PQRST"))),
    )
    dataset = coupled.Dataset(
        CoupledData(X), labels, provenance, {"grid": np.arange(6)}, {"value": "counts"}
    )
    results.write_dataset(tmp_path / "d.npz", dataset)
    found = results.read_dataset(tmp_path / "d.npz")
    assert found.provenance == provenance
    assert found.provenance.mark == "simulated"
    assert found.facts == {"value": "counts"}
    np.testing.assert_array_equal(found.extras["grid"], np.arange(6))
    assert found.label("noun").columns["category"].tolist() == ["a", "b", "c"]
    assert [label.name for label in found.labels] == ["noun", "voxel", "subject"]
    with pytest.raises(ScoupError, match="one called 'verb'"):
        found.label("verb")


def test_labels_must_fit_the_data():
    with pytest.raises(ScoupError, match=r"labels: expected one entry per factor"):
        coupled.Dataset(CoupledData(X), (Labels("noun", np.arange(3)),))
    with pytest.raises(ScoupError, match=r"noun.category: expected 2 plain values"):
        Labels("noun", np.arange(2), {"category": np.arange(3)})
    with pytest.raises(ScoupError, match="source: expected download, cache, local or simulate"):
        Provenance("x", "guess")


@pytest.mark.parametrize("share", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_factors_return_whole_and_sparse_ones_are_small(tmp_path, share, kind):
    shapes = [(40, 3), (9000, 3), (7, 3), (20, 3), (5, 3)]
    flat = [np.where(RNG.random(s) < share, RNG.random(s), 0).astype(kind) for s in shapes]
    coverage = tuple(RNG.random(len(matrix)) < 0.5 for matrix in flat)
    factors = Factors(np.arange(3.0), tuple(flat[:3]), {0: flat[3:5]}, coverage)
    report = FitReport((2.0, 1.0), {"tensor": 1.0}, {"tensor": 0.5}, "converged", "als")
    results.write_fit(tmp_path / "f.npz", Fit(factors, report))
    found = results.read_fit(tmp_path / "f.npz").factors
    assert all(map(same, factors.flat, found.flat))
    assert all(map(same, factors.coverage, found.coverage))
    assert list(found.sides) == [0]
    assert isinstance(found.sides[0], list)
    if share == 0.05:
        assert (tmp_path / "f.npz").stat().st_size < sum(matrix.nbytes for matrix in flat)
