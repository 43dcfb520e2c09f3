"""A malformed raw file of BrainQ or Facebook gives one sentence that names file and fault."""

import gzip
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.recfunctions import repack_fields
from scipy import io

from scoup.datasets.brainq import read as brainq
from scoup.datasets.brainq.simulate import simulate, trial_info, voxel_meta
from scoup.datasets.facebook import read as facebook
from scoup.errors import ScoupError
from scoup.seeds import generator
from scoup.store import write_npz

GRID, VOXELS = (4, 5, 3), 20


@pytest.fixture(scope="module")
def parts():
    """The pieces of a right file, small enough to be written many times."""
    rng = generator(0, "raw")
    coords = np.array(np.unravel_index(np.arange(VOXELS), GRID)).T
    return {
        "rows": rng.standard_normal((360, VOXELS)),
        "info": trial_info(),
        "meta": voxel_meta("P1", GRID, coords),
    }


def write(path, parts, **changed):
    parts = {**parts, **changed}
    data = np.empty((len(parts["rows"]), 1), dtype=object)
    for number, row in enumerate(parts["rows"]):
        data[number, 0] = np.asarray(row)[None]
    io.savemat(path, {"data": data, "info": parts["info"], "meta": parts["meta"]}, appendmat=False)
    return path


def with_meta(parts, **fields):
    meta = parts["meta"].copy()
    for name, value in fields.items():
        meta[name][0, 0] = value
    return meta


def without(struct, name):
    return repack_fields(struct[[field for field in struct.dtype.names if field != name]])


def test_trials_are_arranged_by_presentation_and_noun(parts, tmp_path):
    shuffled = generator(1, "raw").permutation(360)
    rows, info = parts["rows"][shuffled], parts["info"][:, shuffled]
    subject = brainq.read_subject(write(tmp_path / "a.mat", parts, rows=rows, info=info))
    np.testing.assert_array_equal(subject.values, parts["rows"].reshape(6, 60, VOXELS))
    assert subject.grid == GRID
    assert subject.coords.min() == 0
    assert subject.name == "P1"


def test_truncated_mat(parts, tmp_path):
    whole = write(tmp_path / "a.mat", parts).read_bytes()
    for share in (0, 0.001, 0.1, 0.5, 0.9, 0.99):
        (tmp_path / "a.mat").write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(ScoupError, match=r"a.mat: .*; fetch it again\."):
            brainq.read_subject(tmp_path / "a.mat")


@settings(max_examples=60, deadline=None)
@given(junk=st.binary(min_size=1, max_size=40), where=st.floats(0, 1, exclude_max=True))
def test_damaged_mat_is_read_or_refused(parts, tmp_path_factory, junk, where):
    path = tmp_path_factory.getbasetemp() / "junk.mat"
    if not path.with_suffix(".good").exists():
        write(path, parts).rename(path.with_suffix(".good"))
    content = bytearray(path.with_suffix(".good").read_bytes())
    place = int(where * len(content))
    content[place : place + len(junk)] = junk
    path.write_bytes(content)
    try:
        subject = brainq.read_subject(path)
    except ScoupError:
        return
    assert subject.values.shape[:2] == (6, 60)


@pytest.mark.parametrize("name", ["colToCoord", "nvoxels", "dimx"])
def test_missing_field_of_meta(parts, tmp_path, name):
    path = write(tmp_path / "a.mat", parts, meta=without(parts["meta"], name))
    with pytest.raises(ScoupError, match=r"a.mat: meta: expected the fields study, .*, got only"):
        brainq.read_subject(path)


def test_missing_field_of_info_and_missing_variable(parts, tmp_path):
    path = write(tmp_path / "a.mat", parts, info=without(parts["info"], "word"))
    with pytest.raises(ScoupError, match=r"a.mat: info: expected the fields cond, .*, got only"):
        brainq.read_subject(path)
    io.savemat(path, {"data": np.zeros(3)}, appendmat=False)
    with pytest.raises(
        ScoupError, match=r"a.mat: file: expected the fields data, info, meta, got only data"
    ):
        brainq.read_subject(path)


def test_wrong_word_list(parts, tmp_path):
    info = parts["info"].copy()
    info["word"][0, 7] = "unicorn"
    with pytest.raises(
        ScoupError, match=r"a.mat: info.word: expected the 60 nouns .* got others \(unicorn\)"
    ):
        brainq.read_subject(write(tmp_path / "a.mat", parts, info=info))
    info["word"][0, 7] = info["word"][0, 8]
    with pytest.raises(
        ScoupError, match=r"a.mat: info: expected each noun once in each of 6 presentations"
    ):
        brainq.read_subject(write(tmp_path / "a.mat", parts, info=info))


@pytest.mark.parametrize("place", [0, 6, -1, 1.5])
def test_voxel_outside_the_grid(parts, tmp_path, place):
    coords = parts["meta"]["colToCoord"][0, 0].copy()
    coords[3, 1] = place
    path = write(tmp_path / "a.mat", parts, meta=with_meta(parts, colToCoord=coords))
    with pytest.raises(
        ScoupError,
        match=r"meta.colToCoord: expected positions on the grid \(4, 5, 3\).*for voxel 4",
    ):
        brainq.read_subject(path)


def test_tables_that_disagree(parts, tmp_path):
    table = parts["meta"]["coordToCol"][0, 0].copy()
    table[0, 0, 0], table[0, 0, 1] = table[0, 0, 1], table[0, 0, 0]
    with pytest.raises(ScoupError, match=r"meta.coordToCol: expected the inverse of colToCoord"):
        brainq.read_subject(
            write(tmp_path / "a.mat", parts, meta=with_meta(parts, coordToCol=table))
        )
    with pytest.raises(
        ScoupError, match=r"meta.colToCoord: expected shape \(21, 3\), got shape \(20, 3\)"
    ):
        brainq.read_subject(write(tmp_path / "a.mat", parts, meta=with_meta(parts, nvoxels=21.0)))


def test_rows_of_another_length_or_not_finite(parts, tmp_path):
    rows = [*parts["rows"][:-1], parts["rows"][-1][:-1]]
    with pytest.raises(
        ScoupError, match=r"a.mat: data: expected 360 rows of 20 voxels, got sizes \[19, 20\]"
    ):
        brainq.read_subject(write(tmp_path / "a.mat", parts, rows=rows))
    rows = parts["rows"].copy()
    rows[5, 5] = np.nan
    with pytest.raises(ScoupError, match=r"a.mat: data: expected finite numbers"):
        brainq.read_subject(write(tmp_path / "a.mat", parts, rows=rows))


def test_missing_files(tmp_path):
    for read in (
        brainq.read_subject,
        brainq.read_questions,
        facebook.read_wall,
        facebook.read_links,
    ):
        with pytest.raises(ScoupError, match=r"none: expected .*, got no such file"):
            read(tmp_path / "none")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("questions")
    simulate(folder, "tiny", 0)
    with np.load(folder / "MTurk_semantic_features.npz") as archive:
        return dict(archive)


def test_questions_are_found_by_name_in_any_order(table, tmp_path):
    write_npz(tmp_path / "a.npz", table)
    first = brainq.read_questions(tmp_path / "a.npz")
    turned = {"vectors": table["vectors"][::-1], "stimuli": np.char.upper(table["stimuli"][::-1])}
    write_npz(tmp_path / "b.npz", {**table, **turned})
    np.testing.assert_array_equal(brainq.read_questions(tmp_path / "b.npz").answers, first.answers)
    assert first.answers.shape == (60, 218)


def test_wrong_questions(table, tmp_path):
    path = tmp_path / "a.npz"
    boars = np.char.replace(table["stimuli"], "bear", "boar")
    bad = {
        r"stimuli: expected the 60 nouns .* without bear": {"stimuli": boars},
        r"features: expected 218 questions, got 217": {
            "features": np.char.replace(table["features"], "GROW?", "GROW")
        },
        r"vectors: expected answers from 1 to 5, got 0 to": {"vectors": table["vectors"] - 1},
        r"vectors: expected shape \(60, 229\)": {"vectors": table["vectors"][:, 1:]},
    }
    for words, change in bad.items():
        write_npz(path, {**table, **change})
        with pytest.raises(ScoupError, match=rf"a.npz: {words}"):
            brainq.read_questions(path)


def test_pickles_are_never_opened(table, tmp_path):
    np.savez(tmp_path / "a.npz", **{**table, "stimuli": table["stimuli"].astype(object)})
    with pytest.raises(
        ScoupError, match=r"a.npz: expected arrays of numbers and text, got pickled objects"
    ):
        brainq.read_questions(tmp_path / "a.npz")
    (tmp_path / "b.npz").write_bytes(pickle.dumps(table))
    with pytest.raises(ScoupError, match=r"b.npz: expected"):
        brainq.read_questions(tmp_path / "b.npz")


def test_damaged_questions(table, tmp_path):
    write_npz(tmp_path / "a.npz", table)
    whole = (tmp_path / "a.npz").read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 10):
        (tmp_path / "a.npz").write_bytes(whole[:size])
        with pytest.raises(ScoupError, match=r"a.npz: expected"):
            brainq.read_questions(tmp_path / "a.npz")
    np.save(tmp_path / "b", np.arange(3))
    with pytest.raises(ScoupError, match=r"b.npy: expected"):
        brainq.read_questions(tmp_path / "b.npy")


def test_wall_in_both_orders_and_links_with_and_without_times(tmp_path):
    (tmp_path / "wall.txt.gz").write_bytes(gzip.compress(b"1\t2\t1100000000\n3\t2\t1100000001\n"))
    published = facebook.read_wall(tmp_path / "wall.txt.gz")
    excerpt = facebook.read_wall(tmp_path / "wall.txt.gz", "poster_owner")
    assert published.owner.tolist() == excerpt.poster.tolist() == [1, 3]
    assert published.poster.tolist() == excerpt.owner.tolist() == [2, 2]
    (tmp_path / "three.txt").write_text("1\t2\t\\N\n2\t1\t1100000000\n")
    (tmp_path / "two.txt").write_text("1\t2\n2\t1\n")
    for name in ("two.txt", "three.txt"):
        links = facebook.read_links(tmp_path / name)
        assert (links.user.tolist(), links.friend.tolist()) == ([1, 2], [2, 1])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "1\t2",
            r"line 2: expected three whole numbers from 1 \(owner, poster, unix time\), got '1\\t2",
        ),
        ("-1\t2\t1100000000", r"line 2: expected three whole numbers from 1"),
        ("0\t2\t1100000000", r"line 2: expected three whole numbers from 1"),
        (r"1	2	\N", r"line 2: expected three whole numbers from 1"),
        ("1\t2\t1100000000.5", r"line 2: expected three whole numbers from 1"),
        ("1\t2147483648\t1100000000", r"expected user ids up to 2147483647, got 2147483648"),
        ("1\t2\t1100000000000", r"time: expected unix times in seconds, within one century"),
    ],
)
def test_bad_wall_lines(tmp_path, line, words):
    (tmp_path / "wall.txt").write_text(f"1\t2\t1100000000\n{line}\n")
    with pytest.raises(ScoupError, match=rf"wall.txt.*{words}"):
        facebook.read_wall(tmp_path / "wall.txt")


@pytest.mark.parametrize("line", ["5", "1\t2\t3\t4", "x\ty", "-1\t2", "1\t\\N"])
@pytest.mark.parametrize("head", ["1\t2\n", "1\t2\t\\N\n", ""])
def test_bad_link_lines(tmp_path, head, line):
    (tmp_path / "links.txt").write_text(f"{head}{line}\n")
    with pytest.raises(
        ScoupError, match=r"links.txt, line \d: expected two whole numbers from 1 \(user, user\)"
    ):
        facebook.read_links(tmp_path / "links.txt")


# No time in the packed one: it is a part of the test's name, which every worker must find alike.
@pytest.mark.parametrize("content", [b"", b"\n\n", b"# nothing\n", gzip.compress(b"", mtime=0)])
def test_empty_files(tmp_path, content):
    (tmp_path / "a.txt").write_bytes(content)
    for read in (facebook.read_wall, facebook.read_links):
        with pytest.raises(ScoupError, match=r"a.txt: expected lines of .*, got an empty file"):
            read(tmp_path / "a.txt")
