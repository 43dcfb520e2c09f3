"""Holding out cells."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoup import CoupledData, Observed, ScoupError, SparseTensor
from scoup.holdout import hold_out
from tests.planted import hide, planted

few = settings(max_examples=30, deadline=None)


@few
@given(st.floats(0, 0.9), st.integers(0, 99))
def test_the_truth_is_what_was_hidden_and_training_never_sees_it(fraction, seed):
    data, _ = planted((5, 6, 7), 2, seed)
    held = hold_out(data, fraction, seed)
    block = held.data.blocks[0]
    assert held.truth.size == round(fraction * data.tensor.size)
    np.testing.assert_array_equal(held.truth, data.tensor[tuple(held.coords)])
    assert not block.values[tuple(held.coords)].any()
    assert block.observed == data.tensor.size - held.truth.size
    assert held.data.block_weights == data.block_weights


def test_cells_already_missing_stay_missing_and_are_never_asked_for():
    data = hide(planted((6, 7, 8), 2, 0)[0], 0.4, 0)
    held = hold_out(data, 0.5, 1)
    assert data.blocks[0].mask[tuple(held.coords)].all()
    assert not (held.data.blocks[0].mask & ~data.blocks[0].mask).any()


@pytest.mark.filterwarnings("ignore::scoup.errors.ScoupWarning")
def test_sparse_data_hides_non_zeros_and_zeros():
    rng = np.random.default_rng(0)
    coords = np.array([rng.integers(size, size=300) for size in (40, 50, 60)])
    tensor = SparseTensor(coords, rng.uniform(1, 2, 300), (40, 50, 60))
    held = hold_out(CoupledData(tensor), 0.3, 0)
    assert 0 < np.count_nonzero(held.truth) < 200
    assert np.count_nonzero(held.truth == 0) > 0
    np.testing.assert_array_equal(held.truth, tensor.at(held.coords))
    assert not held.data.blocks[0].values.contains(held.coords).any()
    listed = CoupledData(tensor, tensor_mask=Observed(tensor.with_values(np.ones(tensor.nnz))))
    rest = hold_out(listed, 0.3, 0)
    assert rest.data.blocks[0].observed + rest.truth.size == tensor.nnz


def test_the_same_seed_hides_the_same_cells():
    data, _ = planted((5, 6, 7), 2, 0)
    one, again, other = (hold_out(data, 0.3, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.coords, again.coords)
    assert not np.array_equal(one.coords, other.coords)


def test_a_fraction_out_of_range_is_refused():
    with pytest.raises(ScoupError, match=r"fraction: expected a number from 0 to 0\.99, got 1\.0"):
        hold_out(planted((3, 4, 5), 2, 0)[0], 1.0, 0)
