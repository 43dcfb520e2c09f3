"""Noise normalisation equals its formula, comes back, and never sees what it was not fitted on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoup import CMTF, SCOUP, CoupledData, NoiseNormalizer, ScoupError
from scoup.noise import residual_operator
from scoup.seeds import generator

PENALTY, STRENGTH = 20.0, 0.2


def case(seed, shape=(14, 30, 3), questions=6):
    rng = generator(seed, "tests", "noise")
    mixing = rng.standard_normal((shape[1], shape[1])) * np.arange(1, shape[1] + 1) ** -0.5
    images = np.einsum("ivk,vw->iwk", rng.standard_normal(shape), mixing)
    return CoupledData(images + 5.0, {0: rng.standard_normal((shape[0], questions)) + 1.0})


def fitted(data, **params):
    return NoiseNormalizer(1, strength=STRENGTH, penalty=PENALTY).set_params(**params).fit(data)


def plain_residuals(data, subject):
    """Leave each thing out of a ridge regression in turn, the long way."""
    answers = np.asarray(data.blocks[1].values)
    answers = (answers - answers.mean(axis=0)) / answers.std(axis=0)
    images = np.asarray(data.tensor)[:, :, subject]
    images = images - images.mean(axis=0)
    rows = []
    for thing in range(len(images)):
        rest = np.delete(np.arange(len(images)), thing)
        gram = answers[rest].T @ answers[rest] + PENALTY * np.eye(answers.shape[1])
        beta = np.linalg.solve(gram, answers[rest].T @ images[rest])
        rows.append(images[thing] - answers[thing] @ beta)
    return images, np.array(rows)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000))
def test_normalised_images_are_those_of_the_formula(seed):
    data = case(seed)
    changed = fitted(data).transform(data).tensor
    for subject in range(3):
        images, residuals = plain_residuals(data, subject)
        level = STRENGTH * np.sum(residuals**2) / len(residuals)
        metric = np.linalg.inv(np.eye(30) + residuals.T @ residuals / level)
        np.testing.assert_allclose(changed[:, :, subject], images @ metric, atol=1e-8)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.permutations([0, 1, 2]), st.floats(0.01, 10))
def test_images_come_back_whatever_the_order_of_the_modes(seed, order, strength):
    data = case(seed)
    tensor = np.transpose(data.tensor, order)
    turned = CoupledData(tensor, {order.index(0): data.matrices[0]})
    normalizer = fitted(turned, mode=order.index(1), strength=strength)
    changed = normalizer.transform(turned)
    np.testing.assert_allclose(normalizer.inverse_transform(changed).tensor, tensor, rtol=1e-6)
    straight = fitted(data, strength=strength).transform(data).tensor
    np.testing.assert_allclose(changed.tensor, np.transpose(straight, order), atol=1e-8)


def test_new_images_are_normalised_by_the_training_alone():
    data = case(1)
    train = CoupledData(data.tensor[:10], {0: data.matrices[0][0][:10]})
    normalizer = fitted(train)
    one, all_four = normalizer.transform(data.tensor[10:11]), normalizer.transform(data.tensor[10:])
    np.testing.assert_allclose(one, all_four[:1], atol=1e-12)


@pytest.mark.parametrize("model", [CMTF(rank=2), SCOUP(rank=2, sampling=2, repetitions=2)])
def test_it_stands_in_front_of_both_estimators(model):
    data = case(2)
    normalizer = NoiseNormalizer(mode=1).fit(data)
    model.fit(normalizer.transform(data))
    guess = normalizer.inverse_transform(model.predict(data.matrices[0][0][:2]))
    assert guess.shape == (2, 30, 3)
    assert np.isfinite(guess).all()


def test_weights_and_matrices_pass_through():
    data = case(3).with_weights([1.0, 7.0])
    changed = NoiseNormalizer().fit_transform(data)
    assert changed.block_weights == (1.0, 7.0)
    assert np.array_equal(changed.matrices[0][0], data.matrices[0][0])


def test_constant_images_stay_finite():
    data = CoupledData(np.ones((6, 5, 2)), {0: case(0).matrices[0][0][:6]})
    assert not NoiseNormalizer(1).fit(data).transform(data.tensor).any()


def test_what_cannot_be_normalised_is_refused_in_a_sentence():
    data = case(0)
    missing = np.array(data.tensor)
    missing[0, 0, 0] = np.nan
    with pytest.raises(ScoupError, match="data: expected a dense tensor without missing cells"):
        NoiseNormalizer(1).fit(CoupledData(missing, {0: data.matrices[0]}))
    with pytest.raises(ScoupError, match="matrices on one mode, got matrices on modes"):
        NoiseNormalizer(1).fit(CoupledData(data.tensor))
    with pytest.raises(ScoupError, match="mode: expected one of the modes without a matrix"):
        NoiseNormalizer(0).fit(data)
    with pytest.raises(ScoupError, match="strength: expected a number of at least 1e-06, got 0"):
        NoiseNormalizer(1, strength=0).fit(data)
    with pytest.raises(ScoupError, match=r"not fitted yet; call fit first"):
        NoiseNormalizer(1).transform(data)
    with pytest.raises(ScoupError, match="images: expected sizes"):
        NoiseNormalizer(1).fit(data).transform(np.ones((2, 3, 4)))
    with pytest.raises(ScoupError, match="parameter: expected one of mode, strength, penalty"):
        NoiseNormalizer().set_params(strenght=1)


def test_the_operator_ignores_rows_outside_the_training():
    rng = generator(4, "tests", "noise")
    answers = rng.standard_normal((8, 5))
    other = answers.copy()
    other[2] = 100.0
    train = np.ones((1, 8))
    train[0, 2] = 0.0
    operators = [residual_operator((rows @ rows.T)[None], train, 3.0) for rows in (answers, other)]
    np.testing.assert_allclose(*operators, atol=1e-12)
    assert not operators[0][0, 2].any()
    assert not operators[0][0, :, 2].any()
