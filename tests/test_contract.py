"""What scikit-learn's users may expect of CMTF and SCOUP, in the manner of ``check_estimator``.

scikit-learn's checks that need no data run as they are; those with data expect two axes, and are
repeated here with a tensor.
"""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.validation import check_is_fitted

from scoup import CMTF, SCOUP, Cells, CoupledData, NoiseNormalizer, ScoupError, SparseTensor
from scoup.errors import NotFittedError
from tests.planted import planted

ESTIMATORS = [CMTF(max_iter=30), SCOUP(sampling=1, shared=1.0, repetitions=1, max_iter=30)]
# scikit-learn's checks that call no fit.
CHECKS = [
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
]
FITTED = ("factors_", "report_", "labels_", "seed_", "n_iter_", "components_")
FOLDS = KFold(3, shuffle=True, random_state=0)


@pytest.fixture(params=ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def estimator(request):
    return clone(request.param)


@pytest.fixture(scope="module")
def arrays():
    data, _ = planted((12, 7, 6), 2, seed=0, side=5, noise=0.1)
    return np.asarray(data.tensor), data.matrices[0][0]


def same(one, other):
    pairs = zip(one.factors_.flat, other.factors_.flat, strict=True)
    return all(np.array_equal(left, right) for left, right in pairs)


@pytest.mark.parametrize("check", CHECKS)
def test_scikit_learns_checks_pass(estimator, check):
    getattr(estimator_checks, check)(type(estimator).__name__, estimator)


def test_fit_returns_itself_and_sets_nothing_but_results(estimator, arrays):
    before = estimator.get_params()
    assert not any(hasattr(estimator, name) for name in FITTED)
    with pytest.raises(NotFittedError, match="is not fitted yet; call fit first"):
        estimator.transform(arrays[0])
    assert estimator.fit(*arrays) is estimator
    check_is_fitted(estimator)
    assert all(hasattr(estimator, name) for name in FITTED)
    assert estimator.get_params() == before
    public = [name for name in vars(estimator) if name not in before]
    assert all(name.endswith("_") for name in public)


def test_fit_changes_neither_input_nor_second_fit(estimator, arrays):
    X, Y = (array.copy() for array in arrays)
    X.setflags(write=False)
    Y.setflags(write=False)
    once, again = clone(estimator).fit(X, Y), estimator.fit(X[::-1], Y).fit(X, Y)
    assert same(once, again)
    assert same(once, pickle.loads(pickle.dumps(once)))


@pytest.mark.parametrize("form", ["list", "mapping", "data", "sparse", "frame", "cells"])
def test_every_form_of_the_data_gives_the_same_model(estimator, arrays, form):
    import pandas as pd

    X, Y = arrays
    forms = {
        "list": (X.tolist(), Y.tolist()),
        "mapping": (X, {0: Y}),
        "data": (CoupledData(X, {0: Y}),),
        "sparse": (X, sparse.csr_array(Y)),
        "frame": (np.ma.array(X), pd.DataFrame(Y)),
        "cells": (Cells(CoupledData(X, {0: Y})),),
    }
    plain, other = clone(estimator).fit(X, Y), clone(estimator).fit(*forms[form])
    np.testing.assert_allclose(plain.reconstruct(), other.reconstruct(), atol=1e-6)


def test_matrices_may_be_several_or_none(estimator, arrays):
    X, Y = arrays
    assert estimator.fit(X).factors_.owners == []
    assert estimator.fit(X, [Y, Y[:, :2]]).factors_.owners == [0, 0]
    several = estimator.fit(X, {0: Y, 1: [np.ones((7, 2)), np.ones((7, 3))]})
    assert several.factors_.owners == [0, 1, 1]
    assert estimator.fit(X, Y[:, 0]).factors_.sides[0][0].shape == (1, 2)
    assert estimator.fit(SparseTensor.from_dense(X), Y).factors_.owners == [0]


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (np.ones((3, 4)), None, "tensor: expected three modes or more, got 2."),
        (np.ones((3, 4, 5)), np.ones((4, 2)), "matrices[0]: expected 3 rows"),
        (np.ones((3, 4, 5)), {3: np.ones((4, 2))}, "matrices: expected modes from 0 to 2, got 3."),
        (CoupledData(np.ones((3, 4, 5))), np.ones((3, 2)), "y: expected None next to coupled"),
        ("posts.csv", None, "tensor: expected"),
    ],
)
def test_wrong_data_is_refused_in_a_sentence(estimator, X, y, words):
    with pytest.raises(ScoupError) as caught:
        estimator.fit(X, y)
    assert str(caught.value).startswith(words)


def test_random_state_is_another_name_of_the_seed(estimator, arrays):
    noisy = arrays[0] + np.random.default_rng(0).standard_normal(arrays[0].shape)

    def fit(**params):
        return clone(estimator).set_params(init="random", max_iter=2, **params).fit(noisy)

    assert same(fit(seed=7), fit(random_state=7))
    assert fit(random_state=np.int64(7)).seed_ == 7
    assert fit(seed=None).seed_ != fit(seed=None).seed_
    rng = np.random.default_rng(3)
    drawn = [fit(random_state=rng).seed_ for _ in range(2)]
    assert drawn[0] != drawn[1]
    assert drawn[0] == fit(random_state=np.random.default_rng(3)).seed_
    copies = [clone(estimator.set_params(random_state=rng)).fit(noisy).seed_ for _ in range(2)]
    assert copies[0] == copies[1]  # a clone draws from a copy of the generator
    estimator.set_params(random_state=None)
    for wrong in ("a", 1.5, True):
        with pytest.raises(ScoupError, match="random_state: expected None, an integer or a numpy"):
            fit(random_state=wrong)
    with pytest.raises(ScoupError, match="random_state: expected None next to seed=3, got 7"):
        fit(seed=3, random_state=7)


def test_transform_gives_the_features_of_fit_transform(estimator, arrays):
    X, Y = arrays
    features = estimator.fit_transform(X, Y)
    np.testing.assert_allclose(features, estimator.transform(X), atol=1e-10)
    np.testing.assert_allclose(features[:3], estimator.transform(X[:3]), atol=1e-10)
    with pytest.raises(ScoupError, match="rows: expected slices of 7 x 6, as fitted, got shape"):
        estimator.transform(X.swapaxes(1, 2))
    parts = CoupledData(np.where(np.abs(X) > 1.0, np.nan, X), {0: Y})
    assert estimator.transform(parts).shape == (12, 2)
    model = np.tensordot(features, estimator.components_, 1)
    assert np.sum((X - model) ** 2) <= np.sum((X - estimator.reconstruct()) ** 2) + 1e-9


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("rule", ["least_squares", "paper"])
def test_sparse_rows_and_slices_are_projected_like_dense_ones(arrays, mode, rule):
    X, _ = arrays
    matrix = np.random.default_rng(0).random((X.shape[mode], 5)).round()
    model = CMTF(max_iter=30).fit(X, {mode: matrix})
    how = {"ridge": 0.1, "rule": rule}
    values = np.where(np.abs(X) > 1, X, 0.0)
    slices = np.moveaxis(values, mode, 0)
    whole = CoupledData(SparseTensor.from_dense(values))
    np.testing.assert_allclose(
        model.transform(whole, mode, **how), model.transform(slices, mode, **how), atol=1e-9
    )
    np.testing.assert_allclose(
        model.transform(SparseTensor.from_dense(slices), mode, **how),
        model.transform(slices, mode, **how),
        atol=1e-9,
    )
    expected = model.transform(matrix, mode, **how)
    for rows in (sparse.csr_array(matrix), SparseTensor.from_dense(matrix)):
        np.testing.assert_allclose(model.transform(rows, mode, **how), expected, atol=1e-9)
    with pytest.raises(ScoupError, match="rows: expected"):
        model.transform(SparseTensor.from_dense(np.ones((2, 2, 2))), mode)


def test_prediction_goes_both_ways_by_the_number_of_axes(estimator, arrays):
    X, Y = arrays
    estimator.fit(X, Y)
    assert estimator.predict(Y[:2]).shape == (2, 7, 6)
    np.testing.assert_array_equal(
        estimator.predict(X[:2]), estimator.predict(X[:2], block="tensor")
    )
    assert estimator.predict(CoupledData(X, {0: Y})).shape == Y.shape


def test_slices_and_their_rows_are_samples(estimator, arrays):
    X, Y = arrays
    grid = {"rank": [1, 2]}
    for y in (None, Y):  # halves of slices from one another; slices from their rows
        search = GridSearchCV(estimator, grid, cv=FOLDS, error_score="raise").fit(X, y)
        assert search.best_params_ == {"rank": 2}
        assert 0.9 < search.best_score_ < 1
    shuffled = Y[np.random.default_rng(0).permutation(len(Y))]
    null = cross_val_score(estimator, X, shuffled, cv=FOLDS, error_score="raise")
    assert null.mean() < 0.3
    with_r2 = cross_val_score(estimator, X, Y, cv=FOLDS, scoring="r2", error_score="raise")
    assert with_r2.mean() > 0.9


def test_cells_are_named_where_samples_mean_nothing(estimator, arrays):
    X, Y = arrays
    for data in (CoupledData(X, {0: Y}), SparseTensor.from_dense(X)):
        with pytest.raises(ScoupError, match="samples: expected Cells"):
            cross_val_score(estimator, data, cv=FOLDS)
        with pytest.raises(ScoupError, match="samples: expected Cells"):
            GridSearchCV(estimator, {"rank": [1]}, cv=FOLDS).fit(data)
    with pytest.raises(ScoupError, match=r"Cells\(CoupledData"):
        estimator.fit(X, {1: np.ones((7, 2))}).score(X, {1: np.ones((7, 2))})


def test_pipelines_have_the_model_in_front_and_at_the_end(estimator, arrays):
    X, Y = arrays
    ahead = make_pipeline(estimator, Ridge(0.01))
    assert cross_val_score(ahead, X, Y, cv=FOLDS, error_score="raise").mean() > 0.9
    behind = clone(make_pipeline(NoiseNormalizer(mode=1), estimator))
    assert behind.fit(CoupledData(X, {0: Y})).transform(CoupledData(X, {0: Y})).shape == (12, 2)
