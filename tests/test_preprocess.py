"""Raw files become the coupled data that the paper describes, and only that."""

import gzip
import shutil

import numpy as np
import pytest

from scoup import results
from scoup.coupled import CoupledData
from scoup.datasets import DatasetSpec, brainq, facebook
from scoup.datasets.brainq.couple import couple_subjects
from scoup.datasets.brainq.read import Questions, Subject
from scoup.datasets.brainq.study import NOUNS
from scoup.datasets.facebook.couple import couple_posts
from scoup.datasets.facebook.read import Links, Wall
from scoup.download import obtain
from scoup.errors import DamagedFileError, ScoupError
from scoup.preprocess import preprocess
from scoup.seeds import generator

ASKED = Questions(np.array([f"Q{n}?" for n in range(218)]), np.ones((60, 218)), np.ones((60, 11)))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {name: tmp_path_factory.mktemp(name) for name in ("brainq", "facebook", "random")}
    for name, folder in made.items():
        obtain(DatasetSpec(kind=name, source="simulate", size="tiny"), folder)
    return made


def subject(name, coords, seed=0, grid=(4, 5, 3)):
    coords = np.array(coords, dtype=np.int32)
    return Subject(name, grid, coords, generator(seed, name).standard_normal((6, 60, len(coords))))


def two():
    return subject("P1", [[0, 0, 0], [1, 2, 1], [3, 4, 2]]), subject("P2", [[1, 2, 1], [2, 2, 2]])


@pytest.mark.parametrize("grid", ["paper", "compact"])
def test_brainq_is_the_mean_of_six_laid_on_one_grid(grid):
    first, second = two()
    options = brainq.Options(grid=grid, subjects=("P1", "P2"))
    dataset = couple_subjects([first, second], ASKED, options)
    assert dataset.data.shape == (60, 4 * 5 * 5 if grid == "paper" else 4, 2)
    voxels = dataset.label("voxel")
    places = np.array([voxels.columns[axis] for axis in "xyz"]).T.tolist()
    for number, each in enumerate((first, second)):
        for column, place in enumerate(each.coords.tolist()):
            found = dataset.data.tensor[:, places.index(place), number]
            np.testing.assert_allclose(found, each.values[:, :, column].mean(axis=0))
    assert np.count_nonzero(dataset.data.tensor) == 60 * 5
    assert dataset.data.block_weights == (1.0, 1.0)
    assert dataset.facts["grid"] == (4, 5, 5)


@pytest.mark.filterwarnings("ignore::scoup.errors.ScoupWarning")
@pytest.mark.parametrize("grid", ["paper", "compact"])
def test_cells_outside_the_mask_may_be_missing(grid):
    options = brainq.Options(grid=grid, outside="missing", subjects=("P1", "P2"))
    dataset = couple_subjects(two(), ASKED, options)
    mask = dataset.data.blocks[0].mask
    assert mask.sum() == 60 * 5
    np.testing.assert_array_equal(mask, dataset.data.blocks[0].values != 0)
    assert dataset.data.blocks[1].mask is None


def test_presentations_and_rows_give_back_each_subject():
    first, second = two()
    dataset = couple_subjects([first, second], ASKED, brainq.Options(subjects=("P1", "P2")))
    kept = dataset.extras["presentations.P2"]
    np.testing.assert_allclose(kept, second.values, rtol=1e-6)
    np.testing.assert_allclose(
        dataset.data.tensor[:, dataset.extras["rows.P2"], 1], kept.mean(axis=0), atol=1e-6
    )
    bare = couple_subjects(
        [first, second], ASKED, brainq.Options(subjects=("P1", "P2"), presentations=False)
    )
    assert not any(name.startswith("presentations") for name in bare.extras)


def test_thin_keeps_every_second_place():
    dataset = couple_subjects(two(), ASKED, brainq.Options(subjects=("P1", "P2"), thin=2))
    assert dataset.data.shape == (60, 2 * 3 * 4, 2)
    assert np.count_nonzero(dataset.data.tensor) == 60 * 2
    assert dataset.facts["voxel_mm"] == [6.0, 6.0, 12.0]


def test_subjects_on_other_grids_are_refused():
    other = subject("P2", [[0, 0, 0]], grid=(4, 5, 4))
    with pytest.raises(
        ScoupError,
        match=r"subject P2: expected the grid of the others \(4, 5, 5\), got \(4, 5, 6\)",
    ):
        couple_subjects([two()[0], other], ASKED, brainq.Options(subjects=("P1", "P2")))


def test_brainq_from_raw_files(folders, tmp_path):
    dataset = preprocess("brainq", folders["brainq"])
    assert dataset.data.sizes == (60, 12 * 14 * 8, 9, 218)
    assert [label.name for label in dataset.labels] == ["noun", "voxel", "subject", "question"]
    assert dataset.label("noun").ids.tolist() == list(NOUNS)
    assert dataset.label("noun").columns["category"][0] == "animal"
    assert dataset.provenance.simulated
    assert np.count_nonzero(dataset.data.tensor) == 60 * sum(brainq.SIZES["tiny"].voxels)
    for name in ("a", "b"):
        results.write_dataset(tmp_path / name, preprocess("brainq", folders["brainq"]))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    found = results.read_dataset(tmp_path / "a")
    assert found.provenance == dataset.provenance
    assert found.label("question").ids.tolist() == dataset.label("question").ids.tolist()


def test_two_extra_slices_are_empty(folders):
    dataset = preprocess("brainq", folders["brainq"])
    images = dataset.data.tensor.reshape(60, *dataset.extras["grid"], 9)
    assert not images[:, :, :, -2:].any()
    assert images[:, :, :, -3].any()


def test_some_subjects_only(folders):
    dataset = preprocess("brainq", folders["brainq"], {"subjects": ["P3", "P1"], "grid": "compact"})
    assert dataset.label("subject").ids.tolist() == ["P3", "P1"]
    whole = preprocess("brainq", folders["brainq"], {"subjects": ["P1"], "grid": "compact"})
    one = dataset.data.tensor[:, dataset.extras["rows.P1"], 1]
    np.testing.assert_array_equal(one, whole.data.tensor[:, :, 0])


WALL = Wall(
    np.array([7, 7, 7, 9]),
    np.array([9, 9, 30, 9]),
    np.array([86_400, 86_401, 86_400 * 3, 86_400 * 2 + 5]),
)
LINKS = Links(np.array([7, 9, 40, 9]), np.array([9, 7, 30, 9]))


def test_facebook_cells_are_counts_of_posts():
    dataset = couple_posts(WALL, LINKS, facebook.Options())
    assert dataset.data.sizes == (4, 4, 3, 4)
    assert dataset.label("wall").ids.tolist() == [7, 9, 30, 40]
    tensor = dataset.data.tensor.to_dense()
    assert (tensor[0, 1, 0], tensor[0, 2, 2], tensor[1, 1, 1]) == (2.0, 1.0, 1.0)
    assert np.count_nonzero(tensor) == 3
    friends = dataset.data.blocks[1].values.to_dense()
    np.testing.assert_array_equal(friends, friends.T)
    assert np.argwhere(friends).tolist() == [[0, 1], [1, 0], [2, 3], [3, 2]]
    assert set(friends.ravel()) == {0.0, 1.0}


def test_days_turn_back_into_dates():
    days = couple_posts(WALL, LINKS, facebook.Options()).label("day")
    assert days.ids.tolist() == ["1970-01-02", "1970-01-03", "1970-01-04"]
    assert days.columns["unix_day"].tolist() == [1, 2, 3]


@pytest.mark.parametrize("coupled", [[], [0], [1], [0, 1]])
def test_friendships_on_either_mode(coupled):
    dataset = couple_posts(WALL, LINKS, facebook.Options(coupled=coupled))
    assert list(dataset.data.matrices) == coupled
    assert len(dataset.labels) == 3 + len(coupled)


def test_column_orders_are_transposes_of_one_another(folders):
    published = preprocess("facebook", folders["facebook"]).data.tensor.to_dense()
    other = preprocess(
        "facebook", folders["facebook"], {"columns": "poster_owner"}
    ).data.tensor.to_dense()
    np.testing.assert_array_equal(published, other.transpose(1, 0, 2))


def test_random_data(folders):
    dataset = preprocess("random", folders["random"])
    assert dataset.data.sizes == (30, 25, 20, 15)
    assert dataset.provenance.simulated
    assert isinstance(dataset.data, CoupledData)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("brainq", {"gird": "paper"}, r"gird: expected one of the keys grid, .*, got 'gird'"),
        ("brainq", {"grid": "big"}, r"grid: expected one of paper, compact, got 'big'"),
        ("brainq", {"outside": "nan"}, r"outside: expected one of zero, missing, got 'nan'"),
        ("brainq", {"subjects": ["P10"]}, r"subjects.0: expected one of P1, P2, .*, got 'P10'"),
        ("brainq", {"subjects": ["P1", "P1"]}, r"subjects: expected one or more different"),
        (
            "brainq",
            {"subjects": []},
            r"subjects: expected one or more different subjects, got \[\]",
        ),
        ("brainq", {"thin": 0}, r"thin: expected an integer of at least 1, got 0"),
        ("brainq", {"presentations": "no"}, r"presentations: expected true or false, got 'no'"),
        ("facebook", {"coupled": [2]}, r"coupled.0: expected one of 0, 1, got 2"),
        ("facebook", {"coupled": [0, 0]}, r"coupled: expected different modes, got \[0, 0\]"),
        ("facebook", {"columns": "ab"}, r"columns: expected one of owner_poster, poster_owner"),
        ("random", {"x": 1}, r"x: expected .*, got 'x'"),
    ],
)
def test_wrong_options(folders, name, options, words):
    with pytest.raises(ScoupError, match=rf"^options\.{words}"):
        preprocess(name, folders[name], options)


def test_bad_files_give_no_output(tmp_path):
    (tmp_path / facebook.WALL_FILE).write_bytes(gzip.compress(b"1\t2\n"))
    (tmp_path / facebook.LINKS_FILE).write_bytes(gzip.compress(b"1\t2\t3\n"))
    with pytest.raises(ScoupError, match=r"facebook-wall.txt.gz, line 1"):
        preprocess("facebook", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        facebook.LINKS_FILE,
        facebook.WALL_FILE,
    ]


def test_files_without_a_record_are_the_users_own(folders, tmp_path):
    for name in facebook.SOURCE.file_names:
        (tmp_path / name).write_bytes((folders["facebook"] / name).read_bytes())
    assert preprocess("facebook", tmp_path).provenance.source == "local"
    (tmp_path / "provenance.json").write_text('{"who": 1}')
    with pytest.raises(DamagedFileError, match=r"provenance.json: expected a whole JSON file"):
        preprocess("facebook", tmp_path)


@pytest.mark.parametrize("kind", ["brainq", "facebook", "random"])
def test_raw_files_are_compared_with_their_recorded_checksums(folders, tmp_path, kind):
    for source in folders[kind].iterdir():
        content = bytearray(source.read_bytes())
        folder = tmp_path / source.name
        shutil.copytree(folders[kind], folder)
        content[len(content) // 2] ^= 1
        (folder / source.name).write_bytes(content)
        if source.name == "truth.json":  # only judges read it, and it has a checksum inside
            continue
        with pytest.raises(DamagedFileError, match=source.name):
            preprocess(kind, folder)


def test_a_changed_file_of_the_user_is_named_and_stays(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,c,value\nx,1,1,2\ny,2,2,3\n")
    options = {"tensor": str(path)}
    obtain(DatasetSpec(kind="files", options=options), tmp_path / "raw")
    assert preprocess("files", tmp_path / "raw", options).data.shape == (2, 2, 2)
    path.write_text("a,b,c,value\nx,1,1,2\ny,2,2,4\n")
    with pytest.raises(ScoupError, match=r"t.csv: expected sha256 .*, got .*; restore it") as error:
        preprocess("files", tmp_path / "raw", options)
    assert not isinstance(error.value, DamagedFileError)
