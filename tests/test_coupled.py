"""The coupled data: what is accepted, what is refused, and how masks are read."""

import numpy as np
import pytest
from scipy import sparse

from scoup import CMTF, CoupledData, HeldOut, Observed, ScoupError, SparseTensor
from tests.planted import planted

CUBE = np.arange(1.0, 25.0).reshape(2, 3, 4)
CELLS = SparseTensor([[0, 1], [1, 2], [2, 3]], [1.0, 1.0], (2, 3, 4))


def test_nan_means_missing_and_a_mask_adds_to_it():
    tensor = CUBE.copy()
    tensor[0, 0, 0] = np.nan
    mask = np.ones(CUBE.shape)
    mask[1, 2, 3] = 0
    block = CoupledData(tensor, tensor_mask=mask).blocks[0]
    assert block.observed == 22
    assert block.values[0, 0, 0] == block.values[1, 2, 3] == 0
    assert block.norm2 == pytest.approx((CUBE**2).sum() - 1 - 24**2)


@pytest.mark.filterwarnings("ignore::scoup.errors.ScoupWarning")
def test_both_readings_of_a_sparse_mask():
    tensor = SparseTensor.from_dense(CUBE)
    held, bare, listed = (
        CoupledData(tensor, tensor_mask=m).blocks[0]
        for m in (HeldOut(CELLS), CELLS, Observed(CELLS))
    )
    assert held.observed == bare.observed == 22
    assert listed.observed == 2
    assert held.values.nnz == 22
    assert listed.values.nnz == 2
    assert held.rows_observed(0).tolist() == [11, 11]
    assert listed.rows_observed(2).tolist() == [0, 0, 1, 1]


def test_weights():
    matrices = {0: np.ones((2, 5)), 2: [np.ones((4, 1)), np.ones((4, 2))]}
    assert CoupledData(CUBE, matrices).block_weights == (1.0,) * 4
    balanced = CoupledData(CUBE, matrices, weights="balanced").block_weights
    np.testing.assert_allclose(balanced, [1 / (CUBE**2).sum(), 1 / 10, 1 / 4, 1 / 8])
    assert CoupledData(CUBE, matrices, weights=(1, 0, 2, 3)).block_weights == (1.0, 0.0, 2.0, 3.0)
    names = [block.name for block in CoupledData(CUBE, matrices).blocks]
    assert names == ["tensor", "matrix0", "matrix2.0", "matrix2.1"]


def test_select_keeps_the_coupling_and_the_weights():
    data, _ = planted((5, 6, 7), 2, 0, modes=(0, 2), weights="balanced")
    indices = [
        np.array([0, 3]),
        np.array([1, 2, 5]),
        np.array([6, 0]),
        np.array([0, 9]),
        np.array([4]),
    ]
    part = data.select(indices)
    np.testing.assert_array_equal(part.tensor, data.tensor[np.ix_(*indices[:3])])
    np.testing.assert_array_equal(
        part.matrices[0][0], data.matrices[0][0][np.ix_(indices[0], indices[3])]
    )
    np.testing.assert_array_equal(
        part.matrices[2][0], data.matrices[2][0][np.ix_(indices[2], indices[4])]
    )
    assert part.block_weights == data.block_weights


def test_a_selected_part_is_what_the_same_cells_would_make():
    mask = np.ones(CUBE.shape, dtype=bool)  # hides nothing
    data = CoupledData(CUBE, {1: [np.ones((3, 2)), np.eye(3)]}, mask, weights=(1, 0.5, 2))
    indices = [np.array([1]), np.array([0, 2]), np.arange(4), np.array([0]), np.array([1, 2])]
    part = data.select(indices)
    same = CoupledData.from_blocks(part.blocks, part.block_weights, part.labels)
    assert repr(part) == repr(same)
    assert (part.sizes, part.owners, part.is_masked) == (same.sizes, same.owners, False)
    assert part.tensor_mask is None
    again = part.select([np.arange(size) for size in part.sizes])
    assert [block.norm2 for block in again.blocks] == [block.norm2 for block in same.blocks]
    with pytest.raises(ScoupError, match="at least one cell"):
        data.select([np.array([], int), *indices[1:]])


def test_scipy_matrices_of_any_format_are_taken():
    dense = np.diag([1.0, 2.0])
    for form in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.lil_matrix):
        block = CoupledData(CUBE, {0: form(dense)}).blocks[1]
        assert block.is_sparse
        np.testing.assert_array_equal(block.values.to_dense(), dense)


def test_a_sparse_matrix_is_copied_and_stays_the_users():
    matrix = sparse.csr_array(np.array([[0.0, 2.0], [3.0, 0.0]]))
    data = CoupledData(np.ones((2, 3, 4)), {0: matrix})
    matrix.data[:] = 7.0
    matrix.indices[:] = 1
    np.testing.assert_array_equal(data.matrices[0][0].to_dense(), [[0.0, 2.0], [3.0, 0.0]])
    assert data.matrices[0][0] is data.blocks[1].values


def test_integers_and_booleans_become_numbers():
    assert CoupledData(CUBE.astype(int), {0: np.ones((2, 2), dtype=bool)}).dtype == np.float64


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"tensor": np.ones((2, 3))}, "tensor: expected three modes or more, got 2."),
        (
            {"tensor": np.ones((2, 0, 3))},
            "tensor: expected at least one cell, got shape (2, 0, 3).",
        ),
        ({"tensor": np.full((2, 2, 2), "a")}, "tensor: expected real numbers"),
        ({"tensor": np.full((2, 2, 2), 1j)}, "tensor: expected real numbers, got dtype complex128"),
        (
            {"matrices": {0: sparse.eye_array(2, dtype=complex)}},
            "values: expected real numbers, got dtype complex128",
        ),
        ({"tensor": np.full((2, 2, 2), np.nan)}, "tensor: expected at least one observed cell"),
        (
            {"tensor": np.where(CUBE == 5, np.inf, CUBE)},
            "tensor: expected finite numbers or NaN for missing",
        ),
        ({"matrices": {3: np.ones((2, 2))}}, "matrices: expected modes from 0 to 2, got 3."),
        ({"matrices": {"0": np.ones((2, 2))}}, "matrices: expected modes from 0 to 2, got '0'."),
        (
            {"matrices": {0: np.ones((2, 2)), "a": 1}},
            "matrices: expected modes from 0 to 2, got 'a'.",
        ),
        ({"matrices": [np.ones((2, 2))]}, "matrices: expected a dict {mode: matrix}, got list."),
        (
            {"matrices": {0: np.ones((3, 2))}},
            "matrices[0]: expected 2 rows, one per index of tensor mode 0",
        ),
        ({"matrices": {0: np.ones(2)}}, "matrices[0]: expected 2 rows"),
        (
            {"tensor_mask": np.ones((2, 3, 5))},
            "tensor mask: expected shape (2, 3, 4), got shape (2, 3, 5).",
        ),
        (
            {"tensor_mask": 2 * np.ones((2, 3, 4))},
            "tensor mask: expected only 0 (missing) and 1 (observed)",
        ),
        (
            {"tensor_mask": HeldOut(CELLS)},
            "tensor mask: expected a 0/1 array for dense data, got HeldOut.",
        ),
        (
            {"tensor": CELLS, "tensor_mask": np.ones((2, 3, 4))},
            "expected HeldOut(cells) or Observed(cells)",
        ),
        (
            {"matrix_masks": {1: np.ones((3, 3))}},
            "matrix_masks: expected modes among [0], got [1].",
        ),
        ({"matrix_masks": [0]}, "matrix_masks: expected modes among [0], got [0]."),
        ({"weights": "equal"}, "weights: expected 'paper', 'balanced' or numbers, got 'equal'."),
        ({"weights": (1,)}, "weights: expected 2 non-negative numbers, tensor first, got [1]."),
        (
            {"weights": (1, -1)},
            "weights: expected 2 non-negative numbers, tensor first, got [1, -1].",
        ),
        ({"weights": (0, 1)}, "weights: expected a positive weight for the tensor, got 0."),
    ],
)
def test_bad_data_says_what_is_wrong(arguments, words):
    with pytest.raises(ScoupError) as caught:
        CoupledData(**{"tensor": CUBE, "matrices": {0: np.ones((2, 2))}, **arguments})
    assert words in str(caught.value)
    assert str(caught.value).endswith(".")


def test_reference_on_huge_sparse_data_is_refused_before_allocating():
    big = CoupledData(SparseTensor([[0, 1], [0, 1], [0, 1]], [1.0, 2.0], (10**5, 10**5, 10**4)))
    with pytest.raises(ScoupError, match="solver 'reference': a dense array of shape"):
        CMTF(2, solver="reference").fit(big)
