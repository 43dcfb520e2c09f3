"""Planted stars are found, typed, sorted and scored; truth is used by the scoring alone."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoup import pipeline
from scoup.coupled import CoupledData, Dataset
from scoup.experiments._records import Inputs, Model
from scoup.experiments.anomaly import Spec, kinds
from scoup.experiments.anomaly import measure as anomaly
from scoup.experiments.anomaly.detect import detect
from scoup.records import Context, Labels, pick
from scoup.seeds import generator
from scoup.specs import PlanSpec
from scoup.tensor import SparseTensor
from scoup.values import view

USERS, DAYS = 60, 30
CONTEXT = Context("anomaly", "planted", "whole", "all", 0, "simulated")


@pytest.fixture(scope="module")
def network():
    """Noise, a spammer (user 5, day 7), a birthday (wall 9, day 20), a conversation of 25 days."""
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


def model_of(data, values, **changes):
    """What the corridor leaves of a plan."""
    chosen = {"sampling": [1, 1, 2], "shared": 0.3, "repetitions": 4, **changes}
    plan = PlanSpec(rank=6, init="random", max_iter=40, tol=0.0, values=values, **chosen)
    run = pipeline.run(view(data, plan.values, plan.weights), plan, seed=0)
    return Model("walls", "whole", plan, run.samples, run.fits, run.merged)


@pytest.fixture(scope="module")
def model(network):
    return model_of(network, "rare")


@pytest.fixture(scope="module")
def table(network, model):
    return detect(model, network.blocks[0].values)


@pytest.fixture(scope="module")
def dataset(network):
    users = np.arange(100, 100 + USERS)
    dates = (np.datetime64("2008-01-01") + np.arange(DAYS)).astype(str)
    return Dataset(network, [Labels("wall", users), Labels("poster", users), Labels("day", dates)])


def test_the_spammer_comes_out_on_top_and_the_birthday_next(table):
    first, second, *_ = table.findings
    assert (first.kind, first.leaders[1:], first.size >= 30) == ("star-out", (5, 7), True)
    assert (second.kind, second.leaders[0], second.leaders[2]) == ("star-in", 9, 20)


def test_a_conversation_is_typed_but_never_above_a_burst(network):
    model = model_of(network, "unchanged", sampling=[1, 1, 1])
    findings = detect(model, network.blocks[0].values).findings
    talks = [
        position
        for position, finding in enumerate(findings)
        if finding.kind == "conversation" and finding.leaders[:2] == (1, 2)
    ]
    bursts = [n for n, finding in enumerate(findings) if finding.kind in kinds.ANOMALIES]
    assert talks
    assert max(bursts) < min(talks)


def test_rare_values_let_a_long_conversation_count_for_next_to_nothing(network):
    posts, values = (data.blocks[0].values for data in (network, view(network, "rare")))
    talk = (posts.coords[0] == 1) & (posts.coords[1] == 2)
    assert float(np.sum(values.values[talk] ** 2)) == pytest.approx(1 / talk.sum())


@pytest.mark.parametrize("values", ["unchanged", "binary", "log", "rare"])
def test_values_keep_the_cells(network, values):
    revalued = view(network, values).blocks[0].values
    np.testing.assert_array_equal(revalued.coords, network.blocks[0].values.coords)


def test_repetitions_and_their_merge_are_read_and_a_single_repetition_is_not_merged(network, table):
    assert table.components == (4 + 1) * 6
    single = detect(model_of(network, "rare", repetitions=1), network.blocks[0].values)
    assert single.components == 6
    assert {finding.source for finding in single.findings} == {"repetition 0"}


def test_an_empty_sample_gives_an_empty_table():
    lonely = CoupledData(SparseTensor(np.array([[0], [1], [2]]), np.ones(1), (USERS, USERS, DAYS)))
    model = model_of(lonely, "unchanged", sampling=[12, 12, 5], repetitions=2)
    assert detect(model, lonely.blocks[0].values).findings is not None


@pytest.mark.parametrize("count", [1, 3, 7, 50])
def test_the_largest_entries_are_those_of_a_stable_sort(count):
    vector = np.round(generator(0, "test", "largest").standard_normal(50), 1)
    expected = np.argsort(-np.abs(vector), kind="stable")[:count]
    np.testing.assert_array_equal(kinds.largest(vector, count), expected)


def test_scores_are_measured_against_the_truth_and_the_direct_count(network, table):
    posts = network.blocks[0].values
    planted = {"star-out": {(5, 7)}, "star-in": {(9, 20)}}
    metrics = anomaly.score({"rare": table}, posts, planted, CONTEXT)
    for kind in planted:
        assert pick(metrics, "precision_at", plan=anomaly.ALL, kind=kind, k=1)[0].value == 1
        assert pick(metrics, "planted_found", plan=anomaly.ALL, kind=kind)[0].value == 1
    wrong = {"star-out": {(5, 8)}, "star-in": {(8, 20)}}
    metrics = anomaly.score({"rare": table}, posts, wrong, CONTEXT)
    assert {metric.value for metric in metrics if metric.name == "planted_found"} == {0.0}


def test_without_truth_only_the_direct_count_is_measured(dataset, model):
    outcome = anomaly.measure(
        Inputs(dataset, [model]), Spec(datasets=["planted"], plans=["walls"]), CONTEXT
    )
    assert not pick(outcome.metrics, "planted_found")
    assert pick(outcome.metrics, "largest_found", kind="star-out")


def test_the_largest_stars_are_counted_directly(network):
    assert (5, 7) in anomaly.largest_stars(network.blocks[0].values, kinds.POSTER, count=1)
    assert (9, 20) in anomaly.largest_stars(network.blocks[0].values, kinds.WALL, count=1)


EVENTS = [
    {"kind": "spammer", "posters": [105], "walls": [120, 121], "days": [7]},
    {"kind": "birthday", "posters": [130, 131], "walls": [109], "days": [20]},
    {"kind": "flood", "posters": [101], "walls": [102], "days": [3]},
]


def test_the_experiment_judges_by_what_was_planted_and_names_ids_and_dates(dataset, model):
    inputs = Inputs(dataset, [model], planted={"planted": EVENTS})
    outcome = anomaly.measure(inputs, Spec(datasets=["planted"], plans=["walls"]), CONTEXT)
    assert pick(outcome.metrics, "planted_found", plan=anomaly.ALL, kind="star-out")[0].value == 1
    assert [claim.verdict for claim in anomaly.claims(outcome.metrics)][-1] == "holds"
    first = outcome.facts["rows"][0]
    assert (first["poster"], first["day"]) == ("105", "2008-01-08")
    assert outcome.facts["panels"][0]["ids"][1:] == ["105", "2008-01-08"]


def test_both_figures_are_drawn_from_stored_facts(dataset, model):
    from scoup.experiments.anomaly import figure

    inputs = Inputs(dataset, [model], planted={"planted": EVENTS})
    outcome = anomaly.measure(inputs, Spec(datasets=["planted"], plans=["walls"]), CONTEXT)
    material = [(json.loads(json.dumps(outcome.facts, sort_keys=True)), {})]
    assert len(figure.anomaly(outcome.metrics, material).axes) == 3 * len(material[0][0]["panels"])
    assert len(figure.anomaly_plans(outcome.metrics, material).axes) == 2


@given(st.integers(1, 40), st.floats(0.1, 100), st.integers(0, 5))
def test_participation_counts_equal_entries_whatever_their_size_and_sign(count, size, zeros):
    signs = np.where(np.arange(count) % 2, -1.0, 1.0)
    assert kinds.participation(np.append(size * signs, np.zeros(zeros))) == pytest.approx(count)


@pytest.mark.parametrize(
    ("counts", "kind"),
    [((9, 1, 1), "star-out"), ((1, 9, 1), "star-in"), ((1, 1, 1), "flood"),
     ((1, 1, 9), "conversation"), ((9, 9, 1), "community"), ((9, 1, 9), "community")],
)  # fmt: skip
def test_kinds_follow_who_takes_part(counts, kind):
    assert kinds.kind_of(counts) == kind


def test_planted_events_become_leaders_and_days():
    planted = anomaly.planted_stars({"planted": EVENTS}, np.arange(100, 160))
    assert planted == {"star-out": {(5, 7)}, "star-in": {(9, 20)}}
    assert anomaly.planted_stars({}, np.arange(100, 160)) == {}
