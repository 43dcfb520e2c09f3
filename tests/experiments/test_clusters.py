"""Components bring planted groups together, purity is judged fairly, images keep their places."""

from dataclasses import replace

import numpy as np
import pytest

from scoup import experiments, plot
from scoup.coupled import Dataset
from scoup.evidence import Context, pick
from scoup.experiments.clusters import Spec
from scoup.experiments.clusters.measure import (
    ALONE_MODELS,
    ALONE_PURITY,
    MEAN_PURITY,
    NULL_LIMIT,
    NULL_PURITY,
    claims,
    measure,
    purity,
)
from scoup.factors import upright
from scoup.metrics import block_fits
from scoup.records import Labels
from scoup.seeds import generator
from tests.experiments.figures import texts
from tests.experiments.models import inputs, model
from tests.experiments.things import dishes, nouns

CONTEXT = Context("clusters", "planted", "whole", "", 0, "simulated")
SPEC = Spec(datasets=["planted"], plan="groups", top=3, deals=400)
GROUPS = {
    "rank": 3, "values": "standardised", "weights": {"balanced": [1, 5]}, "sampling": [1, 2, 1],
    "shared": 0.5, "repetitions": 2, "max_iter": 60, "finish": "complete",
}  # fmt: skip


@pytest.fixture(scope="module")
def given():
    dataset = nouns()
    return inputs(dataset, model(dataset, "groups", GROUPS | {"side_sampling": {"0": 2}}))


@pytest.fixture(scope="module")
def factors(given):
    return upright(given.model("groups").merged.factors)


@pytest.fixture(scope="module")
def outcome(given):
    return measure(given, SPEC, CONTEXT)


def test_planted_categories_beat_random_deals(outcome):
    (mean,), (null,), (p_value,) = (
        pick(outcome.metrics, name) for name in ("mean_purity", "null_purity", "p_value")
    )
    assert mean.value > null.value + 0.2
    assert p_value.value < 0.05
    assert len(pick(outcome.metrics, "purity")) == 2 * 3
    assert {metric.plan for metric in outcome.metrics} == {"groups"}
    (limit,) = pick(outcome.metrics, "null_limit")
    assert null.value < limit.value < mean.value


def test_categories_that_mean_nothing_do_not_beat_random_deals(given):
    labels = given.dataset.labels
    dealt = generator(3, "test", "deal").permutation(labels[0].columns["category"])
    shuffled = [Labels("noun", labels[0].ids, {"category": dealt}), *labels[1:]]
    metrics = measure(inputs(Dataset(given.dataset.data, shuffled), *given.models), SPEC, CONTEXT)
    assert pick(metrics.metrics, "p_value")[0].value > 0.05
    assert claims(metrics.metrics)[0].verdict != "holds"


def test_components_point_up_and_the_model_does_not_change(given, factors):
    assert (factors.modes[2].sum(axis=0) >= 0).all()
    fits = given.model("groups").merged.report.block_fits
    assert fits["tensor"] > 0.9
    assert block_fits(given.view("groups"), factors) == pytest.approx(fits, abs=1e-6)


def test_purity_counts_the_most_frequent_category():
    codes = np.array([[0, 0, 1, 2]])
    assert purity(codes, np.array([[0, 1, 2]]))[0] == pytest.approx(2 / 3)


def test_ends_name_both_signs_and_latent_images_keep_their_places(outcome, factors):
    component = outcome.facts["components"][0]
    scores = factors.modes[0][:, 0]
    assert component["ends"]["+"]["noun"][0]["name"] == f"noun{scores.argmax()}"
    assert component["ends"]["-"]["noun"][0]["name"] == f"noun{scores.argmin()}"
    np.testing.assert_allclose(outcome.arrays["maps"].reshape(3, -1), factors.modes[1].T, rtol=1e-6)


def test_images_are_drawn_where_voxels_have_places(given, outcome):
    figure = plot.draw("clusters", outcome.metrics, [(outcome.facts, outcome.arrays)])
    assert len([axes for axes in figure.axes if axes.images]) == 3 * 3
    assert any("simulated data: planted" in text for text in texts(figure))
    bare = inputs(Dataset(given.dataset.data, given.dataset.labels), *given.models)
    assert not measure(bare, SPEC, CONTEXT).arrays


def test_data_of_any_order_and_number_of_modes_is_read_in_its_own_words():
    dataset = dishes()
    plan = model(dataset, "groups", GROUPS | {"sampling": [1, 1, 2, 1]})
    outcome = measure(inputs(dataset, plan), SPEC, CONTEXT)
    assert pick(outcome.metrics, "p_value")[0].value < 0.05
    assert outcome.facts["names"] == ["dish", "taste", "subject"]
    subjects = upright(plan.merged.factors).modes[0]
    assert (subjects.sum(axis=0) >= 0).all()
    shown = " ".join(texts(plot.draw("clusters", outcome.metrics, [(outcome.facts, {})])))
    assert "dish1" in shown
    assert "Taste1" in shown
    for word in ("noun", "question", "voxel"):
        assert word not in shown


def test_the_page_holds_everything_itself_and_escapes_names(outcome):
    page = pytest.importorskip("scoup.experiments.clusters.page").page
    component = outcome.facts["components"][0]
    ends = component["ends"]
    bad = [{**ends["+"]["noun"][0], "name": "<script>"}]
    renamed = {**component, "ends": {**ends, "+": {**ends["+"], "noun": bad}}}
    facts = {**outcome.facts, "components": [renamed, *outcome.facts["components"][1:]]}
    files = page(facts, outcome.arrays)
    text = files["index.html"].decode()
    assert "http" not in text.replace("http-equiv", "")
    assert "&lt;script&gt;" in text
    assert "simulated data" in text
    images = [f"component{number}.nii.gz" for number in (1, 2, 3)]
    assert sorted(files) == [*images, "index.html"]


def test_without_places_the_page_has_no_images(outcome):
    page = pytest.importorskip("scoup.experiments.clusters.page").page
    assert sorted(page(outcome.facts, {})) == ["index.html"]


def test_one_block_alone_is_the_control(outcome):
    (claim,) = claims(outcome.metrics)
    assert list(claim.controls) == ["matrix alone", "tensor alone", "dealt at random"]
    assert claim.controls["matrix alone"] > claim.bar > claim.controls["dealt at random"]
    assert claim.verdict == "cannot tell"  # the answers alone know the categories


def test_groups_that_only_the_coupled_model_finds_hold(outcome):
    weak = [
        replace(metric, value=0.3) if metric.name == "alone_purity" else metric
        for metric in outcome.metrics
    ]
    assert claims(weak)[0].verdict == "holds"


def test_the_highest_limit_of_all_seeds_decides(outcome):
    worse = [replace(metric, value=1.0, seed=1) for metric in pick(outcome.metrics, "null_limit")]
    assert claims([*outcome.metrics, *worse])[0].bar == 1


@pytest.fixture(scope="module")
def parts():
    """The same with non-negative factors next to it."""
    dataset, bounded = nouns(), GROUPS | {"constraints": "nonnegative"}
    models = model(dataset, "groups", GROUPS), model(dataset, "parts", bounded)
    return measure(inputs(dataset, *models), SPEC.replace(nonnegative="parts"), CONTEXT)


def test_non_negative_components_have_one_end_and_the_same_controls(parts):
    numbers = {metric.name for metric in parts.metrics if metric.plan == "groups"}
    assert {metric.name for metric in parts.metrics if metric.plan == "parts"} == numbers
    ends = pick(parts.metrics, "purity", plan="parts")
    assert [run.at["end"] for run in ends] == ["+"] * 3
    assert pick(parts.metrics, "p_value", plan="parts")[0].value < 0.05
    scores = [
        member["score"]
        for component in parts.facts["nonnegative"]["components"]
        for member in component["ends"]["+"]["noun"]
    ]
    assert min(scores) > 0
    assert [claim.setting for claim in claims(parts.metrics)] == ["plan groups", "plan parts"]


def test_non_negative_components_are_drawn_and_listed_below_the_others(parts):
    figure = plot.draw("clusters", parts.metrics, [(parts.facts, parts.arrays)])
    assert not any(axes.axison for axes in figure.axes if not axes.images)  # words alone
    shown = " ".join(texts(figure))
    assert shown.index("Non-negative factors. Mean purity") > shown.index("Images:")
    page = pytest.importorskip("scoup.experiments.clusters.page").page
    assert "Non-negative component 3" in page(parts.facts, parts.arrays)["index.html"].decode()
    section = experiments.findings_of("clusters", "planted", parts.facts, parts.metrics).section
    assert section.points[1].startswith("Non-negative factors: ")


def test_a_place_that_only_a_zero_could_fill_stays_empty():
    codes = np.array([[0, 0, 0, 1]])
    assert purity(codes, np.array([[3, -1, -1]]))[0] == pytest.approx(1 / 3)


def null(value):
    """Groups are as pure as those of one block alone."""
    share = min(value, 1.0)
    return [
        CONTEXT.metric(MEAN_PURITY, share),
        CONTEXT.metric(NULL_PURITY, 0.3),
        CONTEXT.metric(NULL_LIMIT, 0.4),
        *(CONTEXT.metric(ALONE_PURITY, share, model=name) for name in ALONE_MODELS),
    ]
