"""Raw files become the coupled data that the paper describes, and only that."""

import gzip
from itertools import combinations

import numpy as np
import pytest

from scoup import datasets, results
from scoup.coupled import CoupledData
from scoup.download import obtain
from scoup.errors import ScoupError
from scoup.preprocess import (
    BrainqOptions,
    FacebookOptions,
    couple_brainq,
    couple_facebook,
    preprocess,
    stability,
)
from scoup.raw.brainq import NOUNS, Questions, Subject
from scoup.raw.facebook import Links, Wall
from scoup.seeds import generator
from scoup.simulate.brainq import SIZES

ASKED = Questions(np.array([f"Q{n}?" for n in range(218)]), np.ones((60, 218)))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {name: tmp_path_factory.mktemp(name) for name in ("brainq", "facebook", "random")}
    for name, folder in made.items():
        obtain(name, "simulate", folder, "tiny", 0)
    return made


def subject(name, coords, seed=0, grid=(4, 5, 3)):
    coords = np.array(coords, dtype=np.int32)
    return Subject(name, grid, coords, generator(seed, name).standard_normal((6, 60, len(coords))))


def two():
    return subject("P1", [[0, 0, 0], [1, 2, 1], [3, 4, 2]]), subject("P2", [[1, 2, 1], [2, 2, 2]])


@pytest.mark.parametrize("grid", ["paper", "compact"])
def test_brainq_is_the_mean_of_six_laid_on_one_grid(grid):
    first, second = two()
    options = BrainqOptions(grid=grid, subjects=("P1", "P2"))
    dataset = couple_brainq([first, second], ASKED, options)
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
    options = BrainqOptions(grid=grid, outside="missing", subjects=("P1", "P2"))
    dataset = couple_brainq(two(), ASKED, options)
    mask = dataset.data.blocks[0].mask
    assert mask.sum() == 60 * 5
    np.testing.assert_array_equal(mask, dataset.data.blocks[0].values != 0)
    assert dataset.data.blocks[1].mask is None


def test_presentations_and_rows_give_back_each_subject():
    first, second = two()
    dataset = couple_brainq([first, second], ASKED, BrainqOptions(subjects=("P1", "P2")))
    kept = dataset.extras["presentations.P2"]
    np.testing.assert_allclose(kept, second.values, rtol=1e-6)
    np.testing.assert_allclose(
        dataset.data.tensor[:, dataset.extras["rows.P2"], 1], kept.mean(axis=0), atol=1e-6
    )
    bare = couple_brainq(
        [first, second], ASKED, BrainqOptions(subjects=("P1", "P2"), presentations=False)
    )
    assert not any(name.startswith("presentations") for name in bare.extras)


def test_thin_keeps_every_second_place():
    dataset = couple_brainq(two(), ASKED, BrainqOptions(subjects=("P1", "P2"), thin=2))
    assert dataset.data.shape == (60, 2 * 3 * 4, 2)
    assert np.count_nonzero(dataset.data.tensor) == 60 * 2
    assert dataset.facts["voxel_mm"] == [6.0, 6.0, 12.0]


def test_subjects_on_other_grids_are_refused():
    other = subject("P2", [[0, 0, 0]], grid=(4, 5, 4))
    with pytest.raises(
        ScoupError,
        match=r"subject P2: expected the grid of the others \(4, 5, 5\), got \(4, 5, 6\)",
    ):
        couple_brainq([two()[0], other], ASKED, BrainqOptions(subjects=("P1", "P2")))


def test_stability_is_the_mean_over_15_pairs_and_never_sees_test_nouns():
    trials = generator(0, "stability").standard_normal((6, 60, 4))
    trials[:, :, 3] = 1.0
    train = np.arange(58)
    want = [np.mean([np.corrcoef(trials[a, :58, v], trials[b, :58, v])[0, 1] for a, b in combinations(range(6), 2)])
            for v in range(3)]  # fmt: skip
    np.testing.assert_allclose(stability(trials, train), [*want, 0.0], atol=1e-12)
    spoiled = trials.copy()
    spoiled[:, 58:] = 1e6
    np.testing.assert_array_equal(stability(spoiled, train), stability(trials, train))


def test_brainq_from_raw_files(folders, tmp_path):
    dataset = preprocess("brainq", folders["brainq"])
    assert dataset.data.sizes == (60, 12 * 14 * 8, 9, 218)
    assert [label.name for label in dataset.labels] == ["noun", "voxel", "subject", "question"]
    assert dataset.label("noun").ids.tolist() == list(NOUNS)
    assert dataset.label("noun").columns["category"][0] == "animal"
    assert dataset.provenance.simulated
    assert np.count_nonzero(dataset.data.tensor) == 60 * sum(SIZES["tiny"].voxels)
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


@pytest.mark.parametrize(("value", "two"), [("counts", 2.0), ("binary", 1.0), ("log", np.log(3))])
def test_facebook_cells(value, two):
    dataset = couple_facebook(WALL, LINKS, FacebookOptions(value=value))
    assert dataset.data.sizes == (4, 4, 3, 4)
    assert dataset.label("wall").ids.tolist() == [7, 9, 30, 40]
    tensor = dataset.data.tensor.to_dense()
    one = np.log(2) if value == "log" else 1.0
    assert tensor[0, 1, 0] == pytest.approx(two)
    assert (tensor[0, 2, 2], tensor[1, 1, 1]) == (pytest.approx(one), pytest.approx(one))
    assert np.count_nonzero(tensor) == 3
    friends = dataset.data.blocks[1].values.to_dense()
    np.testing.assert_array_equal(friends, friends.T)
    assert np.argwhere(friends).tolist() == [[0, 1], [1, 0], [2, 3], [3, 2]]
    assert set(friends.ravel()) == {0.0, 1.0}


def test_days_turn_back_into_dates():
    days = couple_facebook(WALL, LINKS, FacebookOptions()).label("day")
    assert days.ids.tolist() == ["1970-01-02", "1970-01-03", "1970-01-04"]
    assert days.columns["unix_day"].tolist() == [1, 2, 3]


@pytest.mark.parametrize("coupled", [[], [0], [1], [0, 1]])
def test_friendships_on_either_mode(coupled):
    dataset = couple_facebook(WALL, LINKS, FacebookOptions(coupled=coupled))
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
        ("brainq", {"gird": "paper"}, r"options: expected keys among grid, .*, got gird"),
        ("brainq", {"grid": "big"}, r"grid: expected one of paper, compact, got 'big'"),
        ("brainq", {"outside": "nan"}, r"outside: expected one of zero, missing, got 'nan'"),
        ("brainq", {"subjects": ["P10"]}, r"subjects: expected different ones among P1"),
        ("brainq", {"thin": 0}, r"thin: expected 1 or more, got 0"),
        ("brainq", {"presentations": "no"}, r"presentations: expected true or false, got 'no'"),
        ("facebook", {"value": "sum"}, r"value: expected one of counts, binary, log, got 'sum'"),
        (
            "facebook",
            {"coupled": [2]},
            r"coupled: expected modes among 0 \(wall\) and 1 \(poster\), got \[2\]",
        ),
        (
            "facebook",
            {"columns": "ab"},
            r"columns: expected one of owner_poster, poster_owner, got 'ab'",
        ),
        ("random", {"x": 1}, r"options: expected none for random data, got x"),
        ("netflix", {}, r"dataset: expected one of brainq"),
    ],
)
def test_wrong_options(folders, name, options, words):
    with pytest.raises(ScoupError, match=words):
        preprocess(name, folders.get(name, "."), options)


def test_bad_files_give_no_output(tmp_path):
    (tmp_path / datasets.WALL_FILE).write_bytes(gzip.compress(b"1\t2\n"))
    (tmp_path / datasets.LINKS_FILE).write_bytes(gzip.compress(b"1\t2\t3\n"))
    with pytest.raises(ScoupError, match=r"facebook-wall.txt.gz, line 1"):
        preprocess("facebook", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        datasets.LINKS_FILE,
        datasets.WALL_FILE,
    ]


def test_files_without_a_record_are_the_users_own(folders, tmp_path):
    for name in datasets.get("facebook").file_names:
        (tmp_path / name).write_bytes((folders["facebook"] / name).read_bytes())
    assert preprocess("facebook", tmp_path).provenance.source == "local"
    (tmp_path / "provenance.json").write_text('{"who": 1}')
    with pytest.raises(ScoupError, match=r"provenance.json: expected a provenance record"):
        preprocess("facebook", tmp_path)
