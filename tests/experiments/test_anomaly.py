"""Planted stars are found, typed, ranked and scored; truth is used by the scoring alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoup.coupled import CoupledData, Dataset
from scoup.experiments.anomaly import detect, kinds
from scoup.experiments.anomaly import measure as anomaly
from scoup.measures import Context, pick
from scoup.records import Labels
from scoup.seeds import generator
from scoup.specs import FitSpec, MergeSpec, SampleSpec
from scoup.tensor import SparseTensor

USERS, DAYS = 60, 30
CONTEXT = Context("anomaly", "planted", "whole", "all", 0, "simulated")


@pytest.fixture(scope="module")
def network():
    """Noise, a spammer (user 5, day 7), a birthday (wall 9, day 20) and a conversation of 25 days."""
    rng = generator(0, "test", "network")
    noise = np.array(
        [rng.integers(USERS, size=300), rng.integers(USERS, size=300), rng.integers(DAYS, size=300)]
    )
    walls = np.arange(20, 50)
    spam = np.array([walls, np.full(30, 5), np.full(30, 7)])
    guests = np.array([np.full(18, 9), np.arange(30, 48), np.full(18, 20)])
    talk = np.array([np.full(25, 1), np.full(25, 2), np.arange(25)])
    cells = np.unique(np.concatenate([noise, spam, guests, talk], axis=1), axis=1)
    return CoupledData(SparseTensor(cells, np.ones(cells.shape[1]), (USERS, USERS, DAYS)))


def spec(value, **sample):
    chosen = {"sampling": (1, 1, 2), "shared": 0.3, "repetitions": 4, **sample}
    fits = FitSpec(rank=6, init="random", max_iter=40, tol=0.0)
    return detect.DetectSpec(value, (1.0,), SampleSpec(rank=6, **chosen), fits, MergeSpec())


@pytest.fixture(scope="module")
def table(network):
    return detect.detect(network, spec("rare"), seed=0)


def test_the_spammer_comes_out_on_top_and_the_birthday_next(table):
    first, second, *_ = anomaly.read_found(table["found"])
    assert (first.kind, first.leaders[1:], first.size >= 30) == ("star-out", (5, 7), True)
    assert (second.kind, second.leaders[0], second.leaders[2]) == ("star-in", 9, 20)


def test_a_conversation_is_typed_but_never_above_a_burst(network):
    found = anomaly.read_found(
        detect.detect(network, spec("counts", sampling=(1, 1, 1)), seed=0)["found"]
    )
    talks = [
        place
        for place, one in enumerate(found)
        if one.kind == "conversation" and one.leaders[:2] == (1, 2)
    ]
    bursts = [place for place, one in enumerate(found) if one.kind in kinds.ANOMALIES]
    assert talks
    assert max(bursts) < min(talks)


def test_rare_values_let_a_long_conversation_count_for_next_to_nothing(network):
    posts = network.blocks[0].values
    values = detect.valued(posts, "rare")
    talk = (posts.coords[0] == 1) & (posts.coords[1] == 2)
    assert float(np.sum(values.values[talk] ** 2)) == pytest.approx(1 / talk.sum())


@pytest.mark.parametrize("value", detect.VALUES)
def test_values_keep_the_cells(network, value):
    posts = network.blocks[0].values
    np.testing.assert_array_equal(detect.valued(posts, value).coords, posts.coords)


def test_same_seed_same_table_whatever_the_jobs(network, table):
    again = detect.detect(network, detect.DetectSpec(**{**vars(spec("rare")), "jobs": 3}), seed=0)
    assert again == table


def test_an_empty_sample_gives_an_empty_table(network):
    sparse = spec("counts", sampling=(12, 12, 5), repetitions=2)
    lonely = CoupledData(SparseTensor(np.array([[0], [1], [2]]), np.ones(1), (USERS, USERS, DAYS)))
    assert detect.detect(lonely, sparse, seed=0)["found"] is not None


def test_scores_are_measured_against_the_truth_and_the_direct_count(network, table):
    posts = network.blocks[0].values
    planted = {"star-out": {(5, 7)}, "star-in": {(9, 20)}}
    found = anomaly.measure({"rare": table}, posts, planted, CONTEXT)
    for kind in planted:
        assert pick(found, "precision_at", plan=anomaly.ALL, kind=kind, k=1)[0].value == 1
        assert pick(found, "planted_found", plan=anomaly.ALL, kind=kind)[0].value == 1
    wrong = anomaly.measure(
        {"rare": table}, posts, {"star-out": {(5, 8)}, "star-in": {(8, 20)}}, CONTEXT
    )
    assert {metric.value for metric in wrong if metric.name == "planted_found"} == {0.0}


def test_without_truth_only_the_direct_count_is_measured(network, table):
    found = anomaly.measure({"rare": table}, network.blocks[0].values, None, CONTEXT)
    assert not pick(found, "planted_found")
    assert pick(found, "largest_found", kind="star-out")


def test_the_largest_stars_are_counted_directly(network):
    assert (5, 7) in anomaly.largest_stars(network.blocks[0].values, kinds.POSTER, top=1)
    assert (9, 20) in anomaly.largest_stars(network.blocks[0].values, kinds.WALL, top=1)


def test_the_table_for_people_has_ids_and_dates(network, table):
    users = np.arange(100, 100 + USERS)
    dates = (np.datetime64("2008-01-01") + np.arange(DAYS)).astype(str)
    labels = [Labels("wall", users), Labels("poster", users), Labels("day", dates)]
    facts, _ = anomaly.material({"rare": table}, Dataset(network, labels), CONTEXT)
    first = facts["rows"][0]
    assert (first["poster"], first["day"]) == ("105", "2008-01-08")
    assert facts["panels"][0]["ids"][1:] == ["105", "2008-01-08"]


@given(st.integers(1, 40), st.floats(0.1, 100), st.integers(0, 5))
def test_participation_counts_equal_entries_whatever_their_size_and_sign(count, size, zeros):
    signs = np.where(np.arange(count) % 2, -1.0, 1.0)
    assert kinds.participation(np.append(size * signs, np.zeros(zeros))) == pytest.approx(count)


@pytest.mark.parametrize(
    ("counts", "kind"),
    [((9, 1, 1), "star-out"), ((1, 9, 1), "star-in"), ((1, 1, 1), "flood"), ((1, 1, 9), "conversation"),
     ((9, 9, 1), "community"), ((9, 1, 9), "community")],
)  # fmt: skip
def test_kinds_follow_who_takes_part(counts, kind):
    assert kinds.kind_of(counts) == kind


def test_planted_events_become_places(network):
    events = [
        {"kind": "spammer", "posters": [105], "walls": [120, 121], "days": [7]},
        {"kind": "birthday", "posters": [130, 131], "walls": [109], "days": [20]},
        {"kind": "flood", "posters": [101], "walls": [102], "days": [3]},
    ]
    planted = anomaly.read_planted({"planted": events}, np.arange(100, 160))
    assert planted == {"star-out": {(5, 7)}, "star-in": {(9, 20)}}
