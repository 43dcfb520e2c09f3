"""Planted stars are found, typed, sorted and scored; truth is used by the scoring alone."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoup import pipeline
from scoup.coupled import CoupledData, Dataset
from scoup.evidence import Context, pick
from scoup.experiments._records import Inputs, Model
from scoup.experiments.anomaly import Spec, counting, groups, kinds, parts, score
from scoup.experiments.anomaly import measure as anomaly
from scoup.experiments.anomaly.claims import SETTINGS
from scoup.experiments.anomaly.detect import detect
from scoup.records import Labels
from scoup.seeds import generator
from scoup.specs import PlanSpec
from scoup.tensor import SparseTensor
from scoup.values import view

USERS, DAYS = 60, 30
CROWD = 200  # so many that a group is lost when its posts are rewired
CONTEXT = Context("anomaly", "planted", "whole", "all", 0, "simulated")


def labels_of(users, dates, *others):
    """Labels of walls, posters and days with their roles."""
    ids = {"wall": (users, "whom"), "poster": (users, "who"), "day": (dates, "when")}
    return [*(Labels(name, of, role=role) for name, (of, role) in ids.items()), *others]


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
    return Dataset(network, labels_of(users, dates))


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


@pytest.mark.parametrize("values", ["unchanged", "binary", "even", "log", "rare"])
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


def test_entries_are_compared_with_the_planted_and_with_the_counted(network, table):
    stars = counting.counted_stars(network.blocks[0].values)
    lists = score.star_lists({"walls": table}, stars)
    planted = {("star-out", 5, 7), ("star-in", 9, 20)}
    metrics = score.score(lists, stars, planted, CONTEXT)
    for plan in ("walls", score.ALL, score.COUNTING):
        assert pick(metrics, "found_within", plan=plan, k=10, truth="planted")[0].value == 1
    wrong = score.score(lists, stars, {("star-out", 5, 8)}, CONTEXT)
    assert {metric.value for metric in pick(wrong, "found_within", truth="planted")} == {0.0}


def test_counting_finds_what_it_counts(network):
    stars = counting.counted_stars(network.blocks[0].values)
    metrics = score.score(score.star_lists({}, stars), stars, set(), CONTEXT)
    expected = {"found_within": 1, "precision_at": len(stars) / 10}
    for name, value in expected.items():
        assert pick(metrics, name, plan=score.COUNTING, k=10, truth="counted")[0].value == value


@given(st.integers(0, 2**16))
def test_counted_stars_equal_a_count_by_hand(seed):
    rng = generator(seed, "test", "count")
    cells = np.unique(np.array([rng.integers(size, size=60) for size in (9, 9, 2)]), axis=1)
    posts = SparseTensor(cells, np.ones(cells.shape[1]), (9, 9, 2))
    for star in counting.counted_stars(posts):
        kind, user, day = counting.star_name(star)
        centre = counting.STAR_CENTRES[kind]
        partners = cells[1 - centre, (cells[centre] == user) & (cells[2] == day)]
        assert star.size == partners.size >= kinds.MIN_STAR_PARTNERS
        assert sorted(star.members[1 - centre]) == sorted(partners)
        assert star.found_by == "counted"


def test_a_star_of_many_partners_is_in_the_table_with_all_members_whatever_the_plan_finds(dataset):
    missed = model_of(dataset.data, "unchanged", sampling=[1, 1, 20], repetitions=1)
    spec = Spec(datasets=["planted"], plans=["walls"])
    rows = anomaly.measure(Inputs(dataset, [missed]), spec, CONTEXT).facts["rows"]
    spam = next(row for row in rows if (row["poster"], row["day"]) == ("105", "2008-01-08"))
    assert {str(user) for user in range(120, 150)} <= set(spam["wall"].split())
    assert spam["found by"] in ("counted", "both")


def test_the_table_says_which_way_an_entry_was_found(dataset, model):
    spec = Spec(datasets=["planted"], plans=["walls"])
    rows = anomaly.measure(Inputs(dataset, [model]), spec, CONTEXT).facts["rows"]
    assert rows[0]["found by"] == "both"
    assert {row["found by"] for row in rows if row["kind"] == "conversation"} <= {"factorized"}
    assert len({(row["kind"], row["poster"], row["wall"], row["day"]) for row in rows}) == len(rows)


EVENTS = [
    {"kind": "spammer", "posters": [105], "walls": [120, 121], "days": [7]},
    {"kind": "birthday", "posters": [130, 131], "walls": [109], "days": [20]},
    {"kind": "flood", "posters": [101], "walls": [102], "days": [3]},
]


@pytest.fixture(scope="module")
def circle():
    """Strangers who write at random, and users 0 to 7 who write to each other on days 40 to 49."""
    rng = generator(0, "test", "circle")
    noise = np.array([rng.integers(size, size=4000) for size in (CROWD, CROWD, 80)])
    axes = np.meshgrid(np.arange(8), np.arange(8), np.arange(40, 50), indexing="ij")
    posts = np.array([axis.ravel() for axis in axes])
    posts = posts[:, (posts[0] != posts[1]) & (rng.random(posts.shape[1]) < 0.15)]
    cells = np.unique(np.concatenate([noise, posts], axis=1), axis=1)
    tensor = SparseTensor(cells, np.ones(cells.shape[1]), (CROWD, CROWD, 80))
    pairs = np.array([(i, j) for i in range(8) for j in range(8) if i != j]).T
    links = SparseTensor(pairs, np.ones(pairs.shape[1]), (CROWD, CROWD))
    users = np.arange(100, 100 + CROWD)
    dates = (np.datetime64("2008-01-01") + np.arange(80)).astype(str)
    labels = labels_of(users, dates, Labels("friend", users))
    return Dataset(CoupledData(tensor, {0: links}), labels)


CIRCLE = {
    "kind": "community",
    "walls": list(range(100, 108)),
    "posters": list(range(100, 108)),
    "days": list(range(40, 50)),
}


def test_users_who_write_to_each_other_are_a_group_and_rewired_posts_have_none(circle):
    first, *_ = groups.find_groups(circle, 4, 10, seed=0)
    assert set(first.core) <= set(range(8))
    assert len(first.core) >= 6
    assert first.members[kinds.DAY] == (4,)
    assert np.argmax(first.course) == 4
    assert not groups.find_groups(circle, 4, 10, 0, "rewired")


@pytest.mark.parametrize("control", ["rewired", "shuffled"])
def test_a_control_keeps_the_posts_of_every_wall_and_slice(circle, control):
    posts = groups.pool_days(circle.data.blocks[0].values, 10)
    null = groups.exchange(posts, control, generator(0, "test"))
    for mode in range(3):
        np.testing.assert_array_equal(*(
            np.bincount(tensor.coords[mode], tensor.values, tensor.shape[mode])
            for tensor in (posts, null)
        ))  # fmt: skip
    kept = (0, 1) if control == "shuffled" else (0, 2)
    np.testing.assert_array_equal(*(
        np.unique(np.repeat(t.coords[list(kept)], t.values.astype(int), axis=1), axis=1)
        for t in (posts, null)
    ))  # fmt: skip
    assert null.coords.shape != posts.coords.shape or (null.coords != posts.coords).any()


def run_of(dataset, plan, planted=()):
    """The experiment with its controls, as its jobs run it."""
    spec = Spec(datasets=["planted"], plans=[plan.plan], coupled=plan.plan, single=plan.plan)
    inputs = Inputs(dataset, [plan], planted={"planted": list(planted)} if planted else {})
    controls = {part: anomaly.measure_part(inputs, spec, part, 0) for part in parts(spec)}
    return anomaly.measure(replace(inputs, parts=controls), spec, CONTEXT)


@pytest.fixture(scope="module")
def outcome(circle):
    coupled = model_of(circle.data, "even", weights={"balanced": [1, 0.1]}, sampling=1)
    return run_of(circle, coupled, [CIRCLE, *EVENTS])


def test_planted_groups_are_found_and_controls_find_none(outcome):
    runs = {m.at["control"]: m.value for m in pick(outcome.metrics, "groups_found")}
    expected = {score.DATA: 1, score.REWIRED: 0, score.SHUFFLED: 0, score.COUNTING: 0}
    assert runs == expected


def test_a_claim_that_counting_meets_as_well_cannot_be_told(outcome):
    renamed = [replace(m, plan="walls_even") if m.plan == "walls" else m for m in outcome.metrics]
    verdicts = {claim.claim: claim.verdict for claim in anomaly.claims(renamed)}
    assert verdicts["the largest one-day stars are within the first 40 entries"] != "holds"
    assert verdicts["planted groups are found: members and time"] == "holds"
    assert all(claim.controls for claim in anomaly.claims(renamed))


def test_figures_are_drawn_from_stored_facts(outcome):
    from scoup.experiments.anomaly import figure

    material = [(json.loads(json.dumps(outcome.facts, sort_keys=True)), {})]
    panels = material[0][0]["panels"]
    assert len(figure.anomaly(outcome.metrics, material).axes) == 3 * len(panels)
    assert len(figure.anomaly_plans(outcome.metrics, material).axes) == 3
    assert len(figure.anomaly_groups(outcome.metrics, material).axes) == 3


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


def test_planted_events_become_stars():
    planted = score.planted_stars({"planted": EVENTS}, np.arange(100, 160))
    assert planted == {("star-out", 5, 7), ("star-in", 9, 20)}
    assert score.planted_stars({}, np.arange(100, 160)) == set()


def null(value):
    """Counting and shuffled data find as much; any two users are friends as often."""
    share = min(value, 1.0)
    metrics = [
        CONTEXT.on(plan=plan).metric(score.RECALL, share, k=max(score.DEPTHS), truth=truth)
        for plan in (*SETTINGS, score.COUNTING)
        for truth in ("counted", "planted")
    ]
    for measure, *controls in (
        (score.MATRIX_GAIN, score.SHUFFLED_LINKS),
        (score.GROUPS_FOUND, score.COUNTING, score.REWIRED, score.SHUFFLED),
        (score.FRIENDS, score.REWIRED, score.STRANGERS),
    ):
        metrics += [CONTEXT.metric(measure, share, control=c) for c in (score.DATA, *controls)]
    return metrics
