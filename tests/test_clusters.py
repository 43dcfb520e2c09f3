"""Components bring planted groups together, their purity is judged fairly, and images keep their places."""

import numpy as np
import pytest

from scoup import plot
from scoup.coupled import CoupledData, Dataset
from scoup.experiments import _images as images
from scoup.experiments.clusters import measure as clusters
from scoup.experiments.clusters.page import page
from scoup.measures import Context, pick
from scoup.records import Labels
from scoup.seeds import generator
from scoup.specs import FitSpec, MergeSpec, SampleSpec
from scoup.tensor import SparseTensor

GRID, KINDS, EACH = (4, 5, 6), 4, 6
CONTEXT = Context("clusters", "planted", "whole", "groups", 0, "simulated")
SPEC = clusters.ClustersSpec(
    5.0,
    3,
    400,
    SampleSpec(rank=3, sampling=(1, 2, 1), side_sampling=None, shared=0.5, repetitions=2),
    FitSpec(rank=3, max_iter=60),
    MergeSpec(merge="joint", finish="complete"),
)


@pytest.fixture(scope="module")
def dataset():
    """Nouns of four categories; three latent numbers of each category make images and answers."""
    rng = generator(0, "test", "clusters")
    kinds = np.repeat(np.arange(KINDS), EACH)
    latent = 2 * rng.standard_normal((KINDS, 3))[kinds] + 0.2 * rng.standard_normal(
        (KINDS * EACH, 3)
    )
    size = int(np.prod(GRID))
    images = np.einsum(
        "if,jf,kf->ijk", latent, rng.standard_normal((size, 3)), 1 + rng.random((2, 3))
    )
    images += 0.5 * rng.standard_normal(images.shape) + 1.0
    answers = latent @ rng.standard_normal((3, 20)) + 0.1 * rng.standard_normal((KINDS * EACH, 20))
    x, y, z = np.unravel_index(np.arange(size), GRID)
    nouns = np.array([f"noun{n}" for n in range(KINDS * EACH)])
    labels = [
        Labels("noun", nouns, {"category": np.array([f"kind{k}" for k in kinds])}),
        Labels("voxel", np.arange(size), {"x": x, "y": y, "z": z}),
        Labels("subject", np.array(["P1", "P2"])),
        Labels("question", np.array([f"IS IT {n}?" for n in range(20)])),
    ]
    facts = {"grid": GRID, "voxel_mm": [3.0, 3.0, 6.0]}
    return Dataset(CoupledData(images, {0: answers}), labels, facts=facts)


@pytest.fixture(scope="module")
def merged(dataset):
    return clusters.find(dataset, SPEC, seed=0)


def test_planted_categories_beat_random_deals(dataset, merged):
    found = clusters.measure(merged, dataset, SPEC, CONTEXT)
    assert pick(found, "mean_purity")[0].value > pick(found, "null_purity")[0].value + 0.2
    assert pick(found, "p_value")[0].value < 0.05
    assert len(pick(found, "purity")) == 2 * 3


def test_categories_that_mean_nothing_do_not_beat_random_deals(dataset, merged):
    dealt = generator(3, "test", "deal").permutation(dataset.label("noun").columns["category"])
    nouns = Labels("noun", dataset.labels[0].ids, {"category": dealt})
    found = clusters.measure(
        merged, Dataset(dataset.data, [nouns, *dataset.labels[1:]]), SPEC, CONTEXT
    )
    assert pick(found, "p_value")[0].value > 0.05


def test_components_point_up_and_the_model_does_not_change(dataset, merged):
    assert (merged.factors.modes[2].sum(axis=0) >= 0).all()
    fits = merged.report.block_fits
    assert fits["tensor"] > 0.9
    from scoup.metrics import block_fits

    assert block_fits(clusters.prepare(dataset.data, 5.0), merged.factors) == pytest.approx(
        fits, abs=1e-6
    )


def test_purity_counts_the_most_frequent_category():
    codes = np.array([[0, 0, 1, 2]])
    assert clusters.purity(codes, np.array([[0, 1, 2]]))[0] == pytest.approx(2 / 3)


def test_ends_name_both_signs_and_latent_images_keep_their_places(dataset, merged):
    facts, arrays = clusters.material(merged, dataset, SPEC, CONTEXT)
    component = facts["components"][0]
    top = [noun["name"] for noun in component["ends"]["+"]["noun"]]
    scores = merged.factors.modes[0][:, 0]
    assert top[0] == f"noun{scores.argmax()}"
    assert component["ends"]["-"]["noun"][0]["name"] == f"noun{scores.argmin()}"
    np.testing.assert_allclose(arrays["maps"].reshape(3, -1), merged.factors.modes[1].T, rtol=1e-6)


def test_without_places_there_are_no_images(dataset, merged):
    plain = Dataset(dataset.data, dataset.labels)
    facts, arrays = clusters.material(merged, plain, SPEC, CONTEXT)
    assert arrays == {}
    assert "voxel_mm" not in facts


@pytest.fixture(scope="module")
def own(dataset):
    """The same in the words of a user: four modes, subjects first, and dishes instead of nouns."""
    subjects, kinds = dataset.labels[2], dataset.labels[0].columns
    dishes = Labels("dish", np.array([f"dish{n}" for n in range(KINDS * EACH)]), kinds)
    images = np.moveaxis(np.asarray(dataset.data.blocks[0].values), 2, 0).reshape(
        2, KINDS * EACH, 30, 4
    )
    labels = [
        subjects,
        dishes,
        Labels("sensor", np.arange(30)),
        Labels("hour", np.arange(4)),
        dataset.labels[3],
    ]
    tastes = Labels("taste", np.array([f"Taste{n} in $" for n in range(20)]))
    return Dataset(CoupledData(images, {1: dataset.data.blocks[1].values}), [*labels[:4], tastes])


def test_data_of_any_order_and_number_of_modes_is_read_in_its_own_words(own):
    wide = clusters.ClustersSpec(
        5.0,
        3,
        400,
        SampleSpec(rank=3, sampling=(1, 1, 2, 1), side_sampling=None, shared=0.5, repetitions=2),
        FitSpec(rank=3, max_iter=60),
        MergeSpec(merge="joint", finish="complete"),
    )
    found = clusters.find(own, wide, seed=0)
    assert (found.factors.modes[0].sum(axis=0) >= 0).all()
    metrics = clusters.measure(found, own, wide, CONTEXT)
    assert pick(metrics, "p_value")[0].value < 0.05
    material = clusters.material(found, own, wide, CONTEXT)
    assert material[0]["names"] == ["dish", "taste", "subject"]
    shown = page(*material)["index.html"].decode() + " ".join(texts(metrics, material))
    assert "dish1" in shown
    assert "Taste1" in shown
    for word in ("noun", "question", "voxel"):
        assert word not in shown


def texts(metrics, material):
    drawn = plot.draw("clusters", metrics, [material])
    return [text.get_text() for text in drawn.findobj(lambda artist: hasattr(artist, "get_text"))]


def test_leave_two_out_sees_things_features_and_subjects(dataset, own):
    found = images.flattened(own)
    assert [label.name for label in found.labels] == ["dish", "sensor x hour", "subject", "taste"]
    np.testing.assert_array_equal(found.data.blocks[0].values, dataset.data.blocks[0].values)
    assert images.flattened(dataset) is dataset


def test_a_matrix_given_as_a_list_of_cells_is_the_same_matrix(dataset):
    sparse = SparseTensor.from_dense(dataset.data.blocks[1].values)
    listed = Dataset(CoupledData(dataset.data.blocks[0].values, {0: sparse}), dataset.labels)
    np.testing.assert_array_equal(
        images.flattened(listed).data.blocks[1].values, np.asarray(dataset.data.blocks[1].values)
    )
    same = [clusters.prepare(one.data, 5.0).blocks[1].values for one in (listed, dataset)]
    np.testing.assert_array_equal(*same)
