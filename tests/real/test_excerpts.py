"""The real excerpts pass through the same code as all other data; skipped if they are absent."""

import os
from pathlib import Path

import numpy as np
import pytest
from pooch import file_hash

from scoup.datasets import DatasetSpec, brainq, brainq_excerpt, facebook_excerpt
from scoup.datasets.brainq.study import NOUNS, QUESTIONS_FILE
from scoup.download import obtain
from scoup.preprocess import preprocess
from tests.ridge import leave_two_out

FOLDER = Path(os.environ.get("SCOUP_DATA") or "no-such-folder")
# Published for the excerpt: ridge on standardised questions, alpha 200, cosine, all 1,770 pairs.
RIDGE = {"P1": 0.848, "P2": 0.525, "P3": 0.663, "P5": 0.627, "P6": 0.471, "P8": 0.521}

pytestmark = pytest.mark.real


def copy_excerpt(kind, source, target):
    folders = ("", kind, source.folder)
    absent = [
        name
        for name in source.file_names
        if not any((FOLDER / folder / name).exists() for folder in folders)
    ]
    if absent:
        pytest.skip(f"{', '.join(absent)} not found: set SCOUP_DATA to a folder with the excerpts")
    return obtain(DatasetSpec(kind=kind, source="local"), target)


@pytest.fixture(scope="module")
def brain(tmp_path_factory):
    folder = tmp_path_factory.mktemp("brain")
    return folder, copy_excerpt("brainq_excerpt", brainq_excerpt.SOURCE, folder)


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    folder = tmp_path_factory.mktemp("network")
    return folder, copy_excerpt("facebook_excerpt", facebook_excerpt.SOURCE, folder)


def test_questions_are_the_published_bytes(brain):
    folder, provenance = brain
    assert file_hash(folder / QUESTIONS_FILE) == brainq.QUESTIONS.sha256
    assert provenance.source == "local"
    assert provenance.mark == "real"


@pytest.mark.parametrize("subject", list(RIDGE))
def test_one_subject_is_one_tensor_and_decodes_as_published(brain, subject):
    dataset = preprocess("brainq_excerpt", brain[0], {"subject": subject})
    nouns, voxels, one = dataset.data.shape
    assert (nouns, one) == (60, 1)
    assert 1560 < voxels < 1580
    assert dataset.label("noun").ids.tolist() == list(NOUNS)
    answers = dataset.data.blocks[1].values
    assert answers.shape == (60, 218)
    assert set(np.unique(answers)) == {1, 2, 3, 4, 5}
    assert dataset.extras["perceptual"].shape == (60, 11)
    assert leave_two_out(answers, dataset.data.tensor[:, :, 0]) == pytest.approx(
        RIDGE[subject], abs=0.002
    )


def test_wall_and_links(network):
    dataset = preprocess("facebook_excerpt", network[0])
    users = len(dataset.label("wall"))
    assert dataset.data.shape == (users, users, 1562)
    assert dataset.data.tensor.nnz == 167_224
    assert dataset.data.tensor.values.sum() == 175_664
    assert dataset.facts["links"] == 557_940
    assert dataset.label("day").ids[[0, -1]].tolist() == ["2004-10-14", "2009-01-22"]


def test_largest_stars_are_where_they_were_seen(network):
    """14 posters on the wall of 17887; 9 walls each by 21259, 788 and 11820."""
    dataset = preprocess("facebook_excerpt", network[0])
    ids = dataset.label("wall").ids
    wall, poster, day = dataset.data.tensor.coords
    apart = wall != poster
    for who, count, names in ((wall, 14, {17887}), (poster, 9, {21259, 788, 11820})):
        keys, sizes = np.unique(np.stack([who[apart], day[apart]]), axis=1, return_counts=True)
        assert sizes.max() == count
        assert set(ids[keys[0][sizes == count]].tolist()) == names
