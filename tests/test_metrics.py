"""Measures against their plain definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoup import CMTF, CoupledData, Factors, ScoupError, SparseTensor
from scoup.factors import tensor_of, wrap
from scoup.metrics import (
    block_fits,
    core_consistency,
    cost,
    degeneracy,
    explained_share,
    held_out_error,
    losses,
    relative_cost,
    snr,
    zero_cost,
)
from tests.planted import as_sparse, planted, problems, starts

few = settings(max_examples=30, deadline=None)


@few
@given(st.one_of(problems(), problems(masked=True)), st.integers(0, 99))
def test_losses_of_every_form_of_the_data(data, seed):
    factors = wrap(starts(data, 2, seed), data)
    plain = losses(data, factors)
    for form in as_sparse(data):
        assert losses(form, factors) == pytest.approx(plain, rel=1e-8)
    fits = block_fits(data, factors)
    for block in data.blocks:
        assert fits[block.name] == pytest.approx(1 - plain[block.name] / block.norm2)
    assert cost(data, factors) == pytest.approx(
        sum(w * plain[b.name] for w, b in zip(data.block_weights, data.blocks, strict=True))
    )


def test_the_zero_model_and_shares():
    data, _ = planted((4, 5, 6), 2, 0, weights="balanced")
    assert zero_cost(data) == pytest.approx(2.0)
    assert explained_share(zero_cost(data), 0.5, zero_cost(data)) == 0.0
    assert explained_share(0.5, 0.5, 2.0) == 1.0
    with pytest.raises(ScoupError, match="reference: expected a cost below"):
        explained_share(1.0, 2.0, 2.0)
    assert relative_cost(0.0, 0.0, 1.0) == 1.0


def test_snr_is_the_papers_ratio_of_reconstructions():
    rng = np.random.default_rng(0)
    missing, whole = (
        Factors(
            np.abs(rng.standard_normal(2)),
            tuple(rng.standard_normal((n, 2)) for n in (4, 5, 6)),
        )
        for _ in range(2)
    )
    signal, noise = tensor_of(missing), tensor_of(missing) - tensor_of(whole)
    assert snr(missing, whole) == pytest.approx((signal**2).sum() / (noise**2).sum())
    assert snr(missing, missing) == np.inf


def test_error_on_hidden_cells():
    data, _ = planted((4, 5, 6), 2, 0)
    factors = wrap(starts(data, 2, 1), data)
    coords = np.array([[0, 3], [1, 4], [5, 2]])
    truth = data.tensor[tuple(coords)]
    error = truth - tensor_of(factors)[tuple(coords)]
    assert held_out_error(truth, coords, factors) == pytest.approx(error @ error / (truth @ truth))


def test_degeneracy_sees_components_that_cancel():
    rng = np.random.default_rng(0)
    A, B, C = (rng.standard_normal((n, 1)) for n in (5, 6, 7))
    near = [np.hstack([M, M + 1e-3 * rng.standard_normal(M.shape)]) for M in (A, B, C)]
    assert degeneracy(Factors(np.array([1.0, -1.0]), tuple(near))) < -0.99
    apart = Factors(np.ones(3), tuple(np.eye(5, 3) for _ in range(3)))
    assert degeneracy(apart) == 0.0
    assert degeneracy(Factors(np.ones(1), (A, B, C))) == 1.0


@pytest.mark.parametrize("shape", [(8, 9, 7), (5, 6, 4, 5)])
def test_core_consistency_drops_beyond_the_true_rank(shape):
    data, _ = planted(shape, 2, 0, noise=0.05)
    right, over = (CMTF(r, max_iter=300).fit(data).factors_ for r in (2, 4))
    assert core_consistency(data, right) > 95
    assert core_consistency(data, over) < 60
    sparse = CoupledData(SparseTensor.from_dense(data.tensor), data.matrices)
    assert core_consistency(sparse, right) == pytest.approx(core_consistency(data, right))


def test_core_consistency_refuses_masks():
    tensor = np.ones((3, 3, 3))
    tensor[0, 0, 0] = np.nan
    data = CoupledData(tensor)
    with pytest.raises(ScoupError, match="no missing cells"):
        core_consistency(data, wrap(starts(data, 1, 0), data))


def test_factors_of_another_shape_are_refused_in_a_sentence():
    data, truth = planted((5, 6, 7), 2, 0)
    with pytest.raises(
        ScoupError, match=r"factors: expected .* rows \(5, 6, 7, 10\), got rows \(4, 6, 7, 10\)"
    ):
        cost(data, Factors(np.ones(2), (truth[0][:4], *truth[1:3]), {0: (truth[3],)}))
