"""scikit-learn's tools work on the estimators, with the cells of a tensor as samples."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from scoup import CMTF, SCOUP, Cells, CoupledData, Observed, ScoupError, SparseTensor
from tests.planted import planted

FOLDS = KFold(3, shuffle=True, random_state=0)


@pytest.mark.parametrize(
    "estimator", [CMTF(3, seed=4, max_iter=7), SCOUP(3, sampling=(2, 1, 1), finish="refit")]
)
def test_a_clone_has_the_same_parameters_and_no_fit(estimator):
    data, _ = planted((8, 9, 7), 2, seed=0)
    copy = clone(estimator.fit(data))
    assert copy.get_params() == estimator.get_params()
    assert not hasattr(copy, "factors_")


@pytest.mark.parametrize("estimator", [CMTF(), SCOUP(sampling=1, shared=1.0, repetitions=1)])
def test_a_grid_search_finds_the_planted_rank(estimator):
    data, _ = planted((12, 11, 10), 2, seed=0, noise=0.2)
    search = GridSearchCV(estimator, {"rank": [1, 2, 3]}, cv=FOLDS).fit(Cells(data))
    assert search.best_params_ == {"rank": 2}
    assert search.best_estimator_.factors_.rank == 2
    assert search.best_score_ == pytest.approx(
        1 / 1.04, abs=0.03
    )  # what the noise leaves to explain


def test_scores_of_folds_are_those_of_hidden_cells():
    data, _ = planted((8, 9, 7), 2, seed=1, noise=0.3)
    scores = cross_val_score(CMTF(2), Cells(data), cv=FOLDS)
    train, test = next(FOLDS.split(np.zeros(8 * 9 * 7)))
    hidden = np.ones(8 * 9 * 7, dtype=bool)
    hidden[train] = False
    values = np.where(hidden.reshape(8, 9, 7), np.nan, data.tensor)
    model = CMTF(2).fit(CoupledData(values, data.matrices))
    guess = np.einsum("f,if,jf,kf->ijk", model.factors_.weights, *model.factors_.modes).reshape(-1)[
        test
    ]
    truth = np.asarray(data.tensor).reshape(-1)[test]
    assert scores[0] == pytest.approx(1 - np.sum((truth - guess) ** 2) / np.sum(truth**2), rel=1e-6)


def test_cells_that_are_missing_already_are_no_samples():
    values = np.arange(1.0, 9.0).reshape(2, 2, 2)
    values[0, 0, 0] = np.nan
    cells = Cells(CoupledData(values))
    assert cells.shape == (7,)
    assert cells[np.array([0, 2, 3, 6]), ...].blocks[0].values.ravel().tolist() == [
        0,
        2,
        0,
        4,
        5,
        0,
        0,
        8,
    ]


def test_observed_cells_of_a_sparse_tensor_are_samples_and_a_bare_one_is_refused():
    known = SparseTensor(np.array([[0, 1, 1], [0, 0, 1], [0, 1, 1]]), np.ones(3), (2, 2, 2))
    sparse = SparseTensor(np.array([[0], [0], [0]]), np.array([5.0]), (2, 2, 2))
    cells = Cells(CoupledData(sparse, tensor_mask=Observed(known)))
    assert len(cells) == 3
    assert cells[[0, 2]].blocks[0].observed == 2
    with pytest.raises(ScoupError, match="say which cells are known"):
        Cells(CoupledData(sparse))


def test_the_score_of_a_perfect_model_is_one_and_of_nothing_zero():
    data, _ = planted((6, 7, 5), 2, seed=0)
    model = CMTF(2).fit(data)
    assert model.score(data) == pytest.approx(1.0)
    model.factors_ = model.factors_.replace_flat([0 * f for f in model.factors_.flat])
    assert model.score(data) == pytest.approx(0.0, abs=1e-12)
