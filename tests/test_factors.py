"""Canonical form, matching and reconstruction."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoup import Factors, ScoupError
from scoup.factors import matrix_of, tensor_of, unwrap, wrap
from scoup.match import congruence, factor_match_score, match
from tests.planted import cp, planted, problems, starts

few = settings(max_examples=30, deadline=None)


@few
@given(problems(), st.integers(0, 99))
def test_wrapping_changes_the_form_and_not_the_model(data, seed):
    flat = starts(data, 3, seed)
    factors = wrap(flat, data)
    np.testing.assert_allclose(tensor_of(factors), cp(flat[: data.ndim]), atol=1e-10)
    for number, mode in enumerate(sorted(data.matrices)):
        np.testing.assert_allclose(
            matrix_of(factors, mode), flat[mode] @ flat[data.ndim + number].T, atol=1e-10
        )
    assert (np.diff(factors.weights) <= 0).all()
    for mode in factors.modes:
        np.testing.assert_allclose(np.linalg.norm(mode, axis=0), 1.0)
    for mode in factors.modes[:-1]:
        assert (mode[np.abs(mode).argmax(axis=0), range(3)] > 0).all()


@few
@given(problems(), st.booleans())
def test_unwrapping_undoes_wrapping(data, spread):
    flat = starts(data, 2, 0)
    back = unwrap(wrap(flat, data), spread)
    np.testing.assert_allclose(cp(back[: data.ndim]), cp(flat[: data.ndim]), atol=1e-10)
    for number, mode in enumerate(sorted(data.matrices)):
        one, two = (f[mode] @ f[data.ndim + number].T for f in (back, flat))
        np.testing.assert_allclose(one, two, atol=1e-10)


@few
@given(st.integers(0, 2**20))
def test_matching_undoes_permutation_scale_and_sign(seed):
    rng = np.random.default_rng(seed)
    one = [rng.standard_normal((6, 4)) for _ in range(3)]
    order = rng.permutation(4)
    other = [f[:, order] * rng.uniform(0.5, 2, 4) * rng.choice([-1, 1], 4) for f in one]
    columns, similarity = match(congruence(one, other))
    np.testing.assert_array_equal(order[columns], range(4))
    np.testing.assert_allclose(similarity, 1.0)
    assert factor_match_score(one, other) == pytest.approx(1.0)


def test_unrelated_models_score_low_and_zero_columns_match_nothing():
    rng = np.random.default_rng(0)
    one, other = ([rng.standard_normal((50, 3)) for _ in range(3)] for _ in range(2))
    assert factor_match_score(one, other) < 0.1
    dead = [factor * [1, 1, 0] for factor in one]
    assert factor_match_score(one, dead) == pytest.approx(2 / 3)
    assert factor_match_score(one, [f[:, :2] for f in one]) == pytest.approx(2 / 3)


def test_sides_are_lists_and_come_back_from_the_flat_list():
    modes = tuple(np.ones((n, 2)) for n in (3, 4, 5))
    factors = Factors(np.ones(2), modes, {2: np.ones((6, 2)), 0: [np.ones((7, 2))] * 2})
    assert {mode: len(group) for mode, group in factors.sides.items()} == {0: 2, 2: 1}
    assert factors.owners == [0, 0, 2]
    again = Factors.from_flat(factors.weights, factors.flat, factors.owners)
    assert [len(factor) for factor in again.flat] == [3, 4, 5, 7, 7, 6]
    assert all(mask.all() for mask in again.coverage)


def test_factors_that_do_not_fit_together_are_refused():
    with pytest.raises(ScoupError, match=r"mode1: expected 2 columns, got shape \(3, 1\)"):
        Factors(np.ones(2), (np.ones((3, 2)), np.ones((3, 1)), np.ones((3, 2))))
    with pytest.raises(ScoupError, match="mode: expected a mode with a matrix"):
        matrix_of(wrap(starts(planted((3, 4, 5), 2, 0)[0], 2, 0), planted((3, 4, 5), 2, 0)[0]), 1)
