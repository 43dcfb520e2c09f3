"""Components bring planted groups together, their purity is judged fairly, and images keep their places."""

import numpy as np
import pytest

from scoup.coupled import CoupledData
from scoup.experiments import clusters
from scoup.plot import pages
from scoup.records import Labels
from scoup.results import Context, pick
from scoup.seeds import generator
from scoup.specs import FitSpec, MergeSpec, SampleSpec
from scoup.store import Dataset

GRID, KINDS, EACH = (4, 5, 6), 4, 6
CONTEXT = Context("clusters", "planted", "whole", "groups", 0, "simulated")
SPEC = clusters.ClustersSpec(
    5.0, 3, 400, SampleSpec(3, (1, 2, 1), None, 0.5, 2), FitSpec(3, max_iter=60), MergeSpec("joint", "complete")
)


@pytest.fixture(scope="module")
def dataset():
    """Nouns of four categories; three latent numbers of each category make images and answers."""
    rng = generator(0, "test", "clusters")
    kinds = np.repeat(np.arange(KINDS), EACH)
    latent = 2 * rng.standard_normal((KINDS, 3))[kinds] + 0.2 * rng.standard_normal((KINDS * EACH, 3))
    size = int(np.prod(GRID))
    images = np.einsum("if,jf,kf->ijk", latent, rng.standard_normal((size, 3)), 1 + rng.random((2, 3)))
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
    return clusters.find(dataset.data, SPEC, seed=0)


def test_planted_categories_beat_random_deals(dataset, merged):
    found = clusters.measure(merged, dataset.label("noun").columns["category"], SPEC, CONTEXT)
    assert pick(found, "mean_purity")[0].value > pick(found, "null_purity")[0].value + 0.2
    assert pick(found, "p_value")[0].value < 0.05
    assert len(pick(found, "purity")) == 2 * 3


def test_categories_that_mean_nothing_do_not_beat_random_deals(dataset, merged):
    dealt = generator(3, "test", "deal").permutation(dataset.label("noun").columns["category"])
    found = clusters.measure(merged, dealt, SPEC, CONTEXT)
    assert pick(found, "p_value")[0].value > 0.05


def test_components_point_up_and_the_model_does_not_change(dataset, merged):
    assert (merged.factors.modes[2].sum(axis=0) >= 0).all()
    fits = merged.report.block_fits
    assert fits["tensor"] > 0.9
    from scoup.metrics import block_fits

    assert block_fits(clusters.prepare(dataset.data, 5.0), merged.factors) == pytest.approx(fits, abs=1e-6)


def test_purity_counts_the_most_frequent_category():
    codes = np.array([[0, 0, 1, 2]])
    assert clusters.purity(codes, np.array([[0, 1, 2]]))[0] == pytest.approx(2 / 3)


def test_ends_name_both_signs_and_latent_images_keep_their_places(dataset, merged):
    facts, arrays = clusters.material(merged, dataset, SPEC, CONTEXT)
    component = facts["components"][0]
    top = [noun["name"] for noun in component["ends"]["+"]["nouns"]]
    scores = merged.factors.modes[0][:, 0]
    assert top[0] == f"noun{scores.argmax()}"
    assert component["ends"]["-"]["nouns"][0]["name"] == f"noun{scores.argmin()}"
    np.testing.assert_allclose(arrays["maps"].reshape(3, -1), merged.factors.modes[1].T, rtol=1e-6)


def test_the_page_holds_everything_itself_and_escapes_names(dataset, merged):
    facts, arrays = clusters.material(merged, dataset, SPEC, CONTEXT)
    facts["components"][0]["ends"]["+"]["nouns"][0]["name"] = "<script>"
    made = pages.files("clusters", facts, arrays)
    page = made["index.html"].decode()
    assert "http" not in page.replace("http-equiv", "")
    assert "&lt;script&gt;" in page
    assert "simulated data" in page
    assert sorted(made) == ["component1.nii.gz", "component2.nii.gz", "component3.nii.gz", "index.html"]


def test_without_places_there_are_no_images(dataset, merged):
    plain = Dataset(dataset.data, dataset.labels)
    facts, arrays = clusters.material(merged, plain, SPEC, CONTEXT)
    assert arrays == {}
    assert sorted(pages.files("clusters", facts, arrays)) == ["index.html"]
