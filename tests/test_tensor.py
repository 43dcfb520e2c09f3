"""The sparse tensor."""

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoup import CoupledData, ScoupError, SparseTensor

few = settings(max_examples=50, deadline=None)


@st.composite
def cells(draw):
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=5)))
    count = draw(st.integers(0, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    coords = np.array([rng.integers(size, size=count) for size in shape]).reshape(len(shape), count)
    return coords, rng.integers(-2, 3, size=count).astype(float), shape


def summed(coords, values, shape):
    dense = np.zeros(shape)
    np.add.at(dense, tuple(coords), values)
    return dense


@few
@given(cells())
def test_duplicates_are_summed_and_zeros_dropped(parts):
    tensor = SparseTensor(*parts)
    dense = summed(*parts)
    np.testing.assert_array_equal(tensor.to_dense(), dense)
    assert tensor.nnz == np.count_nonzero(dense)
    assert (np.diff(np.ravel_multi_index(tuple(tensor.coords), tensor.shape)) > 0).all()
    np.testing.assert_array_equal(SparseTensor.from_dense(dense).to_dense(), dense)


@few
@given(cells(), st.integers(0, 2**20))
def test_select_is_numpy_indexing(parts, seed):
    rng = np.random.default_rng(seed)
    indices = [rng.permutation(size)[: rng.integers(1, size + 1)] for size in parts[2]]
    chosen = SparseTensor(*parts).select(indices)
    np.testing.assert_array_equal(chosen.to_dense(), summed(*parts)[np.ix_(*indices)])


@few
@given(cells(), st.integers(0, 2**20))
def test_values_at_cells(parts, seed):
    rng = np.random.default_rng(seed)
    wanted = np.array([rng.integers(size, size=12) for size in parts[2]])
    tensor, dense = SparseTensor(*parts), summed(*parts)
    np.testing.assert_array_equal(tensor.at(wanted), dense[tuple(wanted)])
    np.testing.assert_array_equal(tensor.contains(wanted), dense[tuple(wanted)] != 0)


def test_float32_is_kept():
    assert SparseTensor([[0], [0], [0]], np.ones(1, np.float32), (1, 1, 1)).dtype == np.float32


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([[0], [0]], [1.0], (2, 2, 2)), "coords: expected shape (3, nnz), got (2, 1)."),
        (
            ([[0.5], [0], [0]], [1.0], (2, 2, 2)),
            "coords: expected integer indices, got dtype float64.",
        ),
        (
            ([[2], [0], [0]], [1.0], (2, 2, 2)),
            "coords: expected indices from 0 to 1 in mode 0, got 2.",
        ),
        (
            ([[0], [-1], [0]], [1.0], (2, 2, 2)),
            "coords: expected indices from 0 to 1 in mode 1, got -1.",
        ),
        (
            ([[0], [0], [0]], [1.0, 2.0], (2, 2, 2)),
            "values: expected 1 numbers, one per column of coords",
        ),
        (([[0], [0], [0]], ["x"], (2, 2, 2)), "values: expected real numbers"),
        (([[0], [0], [0]], [1j], (2, 2, 2)), "values: expected real numbers, got dtype complex128"),
        (
            ([[0], [0], [0]], [np.inf], (2, 2, 2)),
            "values: expected finite numbers, got NaN or infinity",
        ),
        (
            ([[0], [0], [0]], [1.0], (2, 0, 2)),
            "shape: expected sizes from 1 to 2147483647, got (2, 0, 2).",
        ),
        (([[0], [0], [0]], [1.0], (2**40, 2, 2)), "shape: expected sizes from 1 to 2147483647"),
    ],
)
def test_bad_tensors_say_what_is_wrong(arguments, words):
    with pytest.raises(ScoupError) as caught:
        SparseTensor(*arguments)
    assert words in str(caught.value)


def test_shapes_of_2_to_the_63_cells_and_more_work_like_others():
    huge, small = (2**22, 2**22, 2**20), (7, 5, 6)
    rng = np.random.default_rng(0)
    coords, values = np.array([rng.integers(0, n, 60) for n in small]), rng.integers(1, 5, 60) / 4
    scale = np.array([[(n - 1) // (m - 1)] for n, m in zip(huge, small, strict=True)])
    far, near = SparseTensor(coords * scale, values, huge), SparseTensor(coords, values, small)
    assert far.nnz == near.nnz < 60  # duplicates are summed
    assert np.array_equal(far.coords, near.coords * scale)
    assert np.array_equal(far.values, near.values)
    wanted = np.array([rng.integers(0, n, 99) for n in small])
    assert np.array_equal(far.at(wanted * scale), near.at(wanted))
    owned = SparseTensor.from_owned_arrays((coords * scale).astype(np.int32), values, huge)
    assert np.array_equal(owned.coords, far.coords)
    hidden = SparseTensor(far.coords[:, :3], far.values[:3], huge)
    assert CoupledData(far, tensor_mask=hidden).blocks[0].observed == prod(huge) - 3


def test_a_dense_request_that_would_not_fit_is_refused_before_allocating():
    big = SparseTensor([[0], [0], [0]], [1.0], (10**6, 10**6, 10**5))
    with pytest.raises(ScoupError, match="a dense array of shape 1000000 x 1000000 x 100000 needs"):
        big.to_dense()
