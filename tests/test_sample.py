"""Densities and biased sampling."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoup import CoupledData, ScoupError, SparseTensor
from scoup.fit import fit
from scoup.inspect import advise_plan
from scoup.pipeline import run
from scoup.sample import densities, draw, draw_biased, quota, sampling_of
from scoup.specs import FitSpec, PlanSpec, SampleSpec
from tests.planted import as_sparse, hide, planted, problems

few = settings(max_examples=30, deadline=None)


@few
@given(problems())
def test_densities_are_the_marginal_absolute_sums(data):
    totals = densities(data)
    for mode in range(data.ndim):
        expected = (
            np.abs(np.moveaxis(data.tensor, mode, 0)).reshape(data.shape[mode], -1).sum(axis=1)
        )
        if mode in data.matrices:
            expected = expected + np.abs(data.matrices[mode][0]).sum(axis=1)
        np.testing.assert_allclose(totals[mode], expected, rtol=1e-12)
    for number, (matrix,) in enumerate(data.matrices.values()):
        np.testing.assert_allclose(
            totals[data.ndim + number], np.abs(matrix).sum(axis=0), rtol=1e-12
        )


def test_densities_of_sparse_and_masked_data():
    data = hide(planted((5, 6, 4), 2, 0)[0], 0.3, 0)
    for form in as_sparse(data):
        for one, other in zip(densities(form), densities(data), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


@few
@given(
    st.lists(st.sampled_from([0.0, 0.1, 1.0, 5.0]), min_size=1, max_size=30),
    st.integers(0, 40),
    st.integers(0, 9),
)
def test_a_draw_is_sorted_distinct_and_never_takes_a_zero(density, count, seed):
    density = np.array(density)
    chosen = draw_biased(density, count, np.random.default_rng(seed))
    assert len(chosen) == min(count, np.count_nonzero(density))
    assert (np.diff(chosen) > 0).all()
    assert (density[chosen] > 0).all()


def test_the_first_of_a_draw_follows_the_density():
    density = np.array([1.0, 2.0, 3.0, 4.0])
    hits = np.zeros(4)
    for seed in range(4000):
        hits[draw_biased(density, 1, np.random.default_rng(seed))] += 1
    np.testing.assert_allclose(hits / 4000, density / 10, atol=0.03)


@few
@given(st.integers(1, 200), st.floats(1, 50), st.floats(0, 1), st.integers(1, 10))
def test_quotas_can_tell_the_components_apart(size, factor, shared, rank):
    kept = quota(np.ones(size), factor, shared, rank)
    assert min(rank + 1, size) <= kept.common <= kept.sampled <= size
    assert kept.sampled >= min(int(np.ceil(size / factor)), size)
    assert factor > 1 or kept.sampled == size


def test_a_repetition_depends_on_its_own_number_only():
    data, _ = planted((30, 40, 20), 2, 0)
    few_of_them, many = (
        draw(data, SampleSpec(rank=2, sampling=3, repetitions=r), seed=5) for r in (2, 6)
    )
    for one, other in zip(few_of_them, many, strict=False):
        assert all(np.array_equal(a, b) for a, b in zip(one.indices, other.indices, strict=True))
    assert not all(
        np.array_equal(a, b) for a, b in zip(many[0].indices, many[1].indices, strict=True)
    )
    assert all(np.array_equal(a, b) for a, b in zip(many[0].common, many[5].common, strict=True))


def test_common_indices_are_in_every_repetition():
    data, _ = planted((30, 40, 20), 2, 0)
    for sample in draw(data, SampleSpec(rank=2, sampling=(3, 4, 1), shared=0.4, repetitions=3), 0):
        assert sample.sizes == (10, 10, 20, 4)
        for index, common in zip(sample.indices, sample.common, strict=True):
            assert np.isin(common, index).all()
        assert [len(common) for common in sample.common] == [4, 4, 8, 3]


def test_zero_density_is_never_drawn():
    tensor = SparseTensor([[0, 3, 5], [1, 1, 2], [0, 1, 0]], [1.0, 1.0, 1.0], (8, 4, 2))
    for sample in draw(CoupledData(tensor), SampleSpec(rank=3, sampling=1.5), 0):
        assert set(sample.indices[0]) <= {0, 3, 5}


def test_side_factors_follow_their_mode_unless_told():
    data, _ = planted((30, 40, 20), 2, 0, modes=(0, 2))
    assert sampling_of(data, SampleSpec(rank=2, sampling=(2, 3, 4))) == [2, 3, 4, 2, 4]
    assert sampling_of(data, SampleSpec(rank=2, sampling=2, side_sampling={2: 5})) == [
        2,
        2,
        2,
        2,
        5,
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"sampling": 0.5}, "sampling: expected a number of at least 1 or a list"),
        ({"sampling": (2, 2, 2, 2)}, "sampling: expected one factor, or 3, one per tensor mode"),
        ({"side_sampling": {1: 2}}, "side_sampling: expected a dict with modes among"),
        ({"shared": 1.5}, "shared: expected a number from 0 to 1, got 1.5"),
        ({"repetitions": 0}, "repetitions: expected an integer of at least 1, got 0"),
    ],
)
def test_bad_specs_say_what_is_wrong(arguments, words):
    data, _ = planted((6, 7, 8), 2, 0)
    with pytest.raises(ScoupError, match=words.replace("(", r"\(")):
        draw(data, SampleSpec(rank=2, **arguments), 0)


@pytest.mark.parametrize("shape", [(40, 6000, 6), (9000, 12, 15), (8, 5, 6, 7000)])
def test_the_advised_plan_samples_a_long_mode_and_reaches_the_cost_of_a_full_fit(shape):
    """On shapes that the rule was not chosen on."""
    rng = np.random.default_rng(len(shape))
    factors = [rng.standard_normal((size, 2)) for size in shape]
    tensor = factors[0]
    for factor in factors[1:]:
        tensor = tensor[..., None, :] * factor
    tensor = tensor.sum(axis=-1)
    tensor += 2 * tensor.std() * rng.standard_normal(shape)
    data = CoupledData(tensor)
    plan = advise_plan(data, rank=2)
    sampled = [size / factor for size, factor in zip(shape, plan["sampling"], strict=True)]
    assert sorted(sampled)[:-1] == sorted(shape)[:-1]
    assert 450 < max(sampled) < max(shape) / 2
    best = fit(data, FitSpec(rank=2), seed=0).report.cost
    assert run(data, PlanSpec(**plan), seed=0).merged.report.cost < 1.001 * best
