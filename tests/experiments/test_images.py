"""Images of things are read in any order and number of modes."""

import numpy as np
import pytest

from scoup.coupled import CoupledData, Dataset
from scoup.errors import ScoupError
from scoup.experiments._images import flattened, roles
from scoup.tensor import SparseTensor
from tests.experiments.things import dishes, nouns


@pytest.fixture(scope="module")
def dataset():
    return nouns()


def test_things_features_and_subjects_are_found_in_any_layout(dataset):
    images = flattened(dishes())
    assert [label.name for label in images.labels] == ["dish", "sensor x hour", "subject", "taste"]
    np.testing.assert_array_equal(images.data.blocks[0].values, dataset.data.blocks[0].values)
    assert flattened(dataset) is dataset


def test_a_matrix_stored_as_a_list_of_cells_is_the_same_matrix(dataset):
    answers = dataset.data.blocks[1].values
    cells = {0: SparseTensor.from_dense(answers)}
    listed = Dataset(CoupledData(dataset.data.blocks[0].values, cells), dataset.labels)
    np.testing.assert_array_equal(flattened(listed).data.blocks[1].values, np.asarray(answers))


def test_data_without_a_matrix_has_no_things(dataset):
    bare = Dataset(CoupledData(dataset.data.blocks[0].values), dataset.labels[:3])
    with pytest.raises(ScoupError, match="and one matrix, got 0 matrices"):
        roles(bare)
