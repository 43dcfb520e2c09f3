"""Contracts that every solver must satisfy."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoup import CMTF, CoupledData, Factors, ScoupError
from scoup.block import Block
from scoup.factors import factor_match_score, khatri_rao, wrap
from scoup.fit import fit
from scoup.linear import pseudoinverse, solve_normal
from scoup.metrics import cost
from scoup.solvers import _lbfgs as lbfgs
from scoup.solvers import als, cd, opt, reference
from scoup.specs import FitSpec
from scoup.terms import DenseTerm, block_losses, grams_of, terms_of
from tests.planted import as_sparse, cp, hide, planted, problems, starts

pytestmark = pytest.mark.filterwarnings("ignore::scoup.errors.ScoupWarning")
few = settings(max_examples=30, deadline=None)


def iterates(solver, data, flat, sweeps):
    """Factors after each sweep of a solver that takes terms."""
    return solver(terms_of(data), flat, sweeps, 0.0)[0]


@few
@given(problems(), st.integers(1, 3))
def test_als_makes_the_iterates_of_the_printed_algorithm(data, rank):
    flat = starts(data, rank, 1)
    mine, my_costs, _ = als.solve(terms_of(data), flat, 4, 0.0)
    theirs, their_costs, _ = reference.solve(data, flat, 4, 0.0)
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8 * np.abs(other).max())
    np.testing.assert_allclose(my_costs, their_costs, rtol=1e-8)


@few
@given(problems())
def test_sparse_equals_dense(data):
    flat = starts(data, 2, 1)
    dense = iterates(als.solve, data, flat, 3)
    for form in as_sparse(data):
        for one, other in zip(iterates(als.solve, form, flat, 3), dense, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8 * np.abs(other).max())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shape", [(6, 7, 8), (5, 4, 6, 5)])
def test_both_readings_of_a_sparse_mask_equal_the_dense_mask(seed, shape):
    data = hide(planted(shape, 2, seed, modes=(0, 2), noise=0.5)[0], 0.3, seed)
    flat = starts(data, 2, 1)
    dense, costs, _ = als.solve(terms_of(data), flat, 3, 0.0)
    for form in as_sparse(data):
        other, other_costs, _ = als.solve(terms_of(form), flat, 3, 0.0)
        np.testing.assert_allclose(other_costs, costs, rtol=1e-8)
        for one, two in zip(dense, other, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-8, atol=1e-8 * np.abs(two).max())


@few
@given(problems())
def test_a_mask_with_nothing_missing_equals_no_mask(data):
    flat = starts(data, 2, 1)
    whole = [Block(b.name, b.values, np.ones(b.shape, dtype=bool), b.factors) for b in data.blocks]
    terms = [
        DenseTerm(block, weight) for block, weight in zip(whole, data.block_weights, strict=True)
    ]
    assert all(term.masked for term in terms)
    for one, other in zip(
        als.solve(terms, flat, 3, 0.0)[0], iterates(als.solve, data, flat, 3), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8 * np.abs(other).max())


@pytest.mark.parametrize("coupled", [(), (0,), (1,), (0, 1, 2)])
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_compressed_equals_uncompressed(coupled, noise):
    data, _ = planted((7, 300, 5), 3, 0, modes=coupled, noise=noise)
    start = wrap(starts(data, 3, 1), data)
    spec = {"rank": 3, "max_iter": 20, "tol": 0.0}
    short = fit(data, FitSpec(**spec, compress=True), start=start)
    long = fit(data, FitSpec(**spec, compress=False), start=start)
    assert short.report.compressed
    assert not long.report.compressed
    for one, other in zip(short.factors.flat, long.factors.flat, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8 * np.abs(other).max())
    floor = 1e-12 * data.blocks[0].norm2
    np.testing.assert_allclose(short.report.losses, long.report.losses, rtol=1e-8, atol=floor)


def test_compression_from_a_seed_equals_no_compression():
    data, _ = planted((7, 300, 5), 3, 0, noise=1.0)
    short, long = (CMTF(3, compress=compress, seed=4).fit(data) for compress in (True, False))
    assert short.report_.cost == pytest.approx(long.report_.cost, rel=1e-8)
    assert factor_match_score(short.factors_.flat, long.factors_.flat) > 1 - 1e-6


@few
@given(
    st.one_of(problems(), problems(masked=True)), st.sampled_from([als.solve, opt.solve, cd.solve])
)
def test_the_cost_never_rises(data, solver):
    _, costs, _ = solver(terms_of(data), starts(data, 2, 3), 15, 0.0)
    slack = 1e-9 * (costs[0] + 1e-6)
    assert (np.diff(costs) <= slack).all()


@few
@given(problems(masked=True))
def test_the_reported_cost_is_the_cost_of_the_residuals(data):
    flat, costs, _ = als.solve(terms_of(data), starts(data, 2, 3), 2, 0.0)
    total = 0.0
    for block, weight in zip(data.blocks, data.block_weights, strict=True):
        error = block.values - cp([flat[k] for k in block.factors])
        total += weight * np.sum(error[block.mask if block.mask is not None else ...] ** 2)
    assert costs[-1] == pytest.approx(total, rel=1e-8)
    assert cost(data, wrap(flat, data)) == pytest.approx(total, rel=1e-8)


@few
@given(st.one_of(problems(), problems(masked=True)))
def test_gradient_against_finite_differences(data):
    terms, flat = terms_of(data), starts(data, 2, 5)
    _, gradients = opt.cost_and_gradient(terms, flat)
    rng = np.random.default_rng(0)
    direction = [rng.standard_normal(factor.shape) for factor in flat]
    step = 1e-5
    ends = [
        opt.cost_and_gradient(
            terms, [f + sign * step * d for f, d in zip(flat, direction, strict=True)]
        )[0]
        for sign in (1, -1)
    ]
    slope = sum(float(np.sum(g * d)) for g, d in zip(gradients, direction, strict=True))
    size = sum(float(np.sum(np.abs(g * d))) for g, d in zip(gradients, direction, strict=True))
    assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(slope, rel=1e-5, abs=1e-6 * size)


def test_the_lemma_against_the_explicit_pseudoinverse():
    rng = np.random.default_rng(0)
    A, B, M = rng.standard_normal((5, 3)), rng.standard_normal((6, 3)), rng.standard_normal((4, 3))
    stacked = np.vstack([khatri_rao([A, B]), M])
    gram = (A.T @ A) * (B.T @ B) + M.T @ M
    np.testing.assert_allclose(pseudoinverse(gram) @ stacked.T, np.linalg.pinv(stacked), atol=1e-12)
    rhs = rng.standard_normal((7, len(stacked))) @ stacked
    np.testing.assert_allclose(solve_normal(gram, rhs), rhs @ np.linalg.inv(gram), rtol=1e-10)


def test_a_singular_system_gets_the_minimum_norm_solution():
    rng = np.random.default_rng(0)
    thin = rng.standard_normal((2, 4))
    gram, rhs = thin.T @ thin, rng.standard_normal((3, 2)) @ thin
    expected = rhs @ np.linalg.pinv(gram)
    np.testing.assert_allclose(solve_normal(gram, rhs), expected, atol=1e-9)
    np.testing.assert_allclose(solve_normal(np.stack([gram] * 3), rhs), expected, atol=1e-9)
    assert not solve_normal(np.zeros((3, 4, 4)), np.zeros((3, 4))).any()


@pytest.mark.parametrize("rank", [3, 4, 5])
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize(("solver", "missing"), [("als", 0.0), ("opt", 0.0), ("als", 0.3)])
def test_planted_factors_are_found(rank, signed, solver, missing):
    data, truth = planted((14, 16, 12), rank, seed=rank, signed=signed)
    if missing:
        data = hide(data, missing, seed=rank)
    model = CMTF(rank, solver=solver, max_iter=2000, tol=1e-10).fit(data)
    assert factor_match_score(model.factors_.flat, truth) > 0.99


def test_coordinate_descent_comes_to_the_same_cost_as_als():
    data = hide(planted((10, 12, 8), 2, 0, noise=0.5)[0], 0.3, 0)
    costs = [
        CMTF(2, solver=s, max_iter=500, tol=1e-10).fit(data).report_.cost
        for s in ("als", "cd", "opt")
    ]
    np.testing.assert_allclose(costs, costs[0], rtol=1e-4)


def test_permuting_the_data_permutes_the_factors():
    data, _ = planted((8, 9, 7), 3, 0, noise=0.5)
    rng = np.random.default_rng(1)
    orders = [rng.permutation(size) for size in data.sizes]
    moved = data.select(orders)
    flat = starts(data, 3, 2)
    plain = iterates(als.solve, data, flat, 5)
    shuffled = iterates(als.solve, moved, [f[o] for f, o in zip(flat, orders, strict=True)], 5)
    for one, other, order in zip(plain, shuffled, orders, strict=True):
        np.testing.assert_allclose(one[order], other, rtol=1e-8)


def test_scaling_all_blocks_scales_the_weights_alone():
    data, _ = planted((8, 9, 7), 2, 0, noise=0.5)
    scaled = CoupledData(1000.0 * data.tensor, {0: 1000.0 * data.matrices[0]})
    one, other = (CMTF(2, tol=1e-12, max_iter=500).fit(d) for d in (data, scaled))
    np.testing.assert_allclose(other.factors_.weights, 1000 * one.factors_.weights, rtol=1e-6)
    assert factor_match_score(one.factors_.modes, other.factors_.modes) > 1 - 1e-8
    assert other.report_.block_fits["tensor"] == pytest.approx(
        one.report_.block_fits["tensor"], abs=1e-8
    )


def test_balanced_weights_do_not_care_how_a_block_is_scaled():
    data, _ = planted((8, 9, 7), 2, 0, noise=0.5, weights="balanced")
    scaled = CoupledData(data.tensor, {0: 50.0 * data.matrices[0]}, weights="balanced")
    one, other = (CMTF(2, tol=1e-12, max_iter=500).fit(d) for d in (data, scaled))
    assert one.report_.cost == pytest.approx(other.report_.cost, rel=1e-8)
    np.testing.assert_allclose(
        50 * one.factors_.sides[0], other.factors_.sides[0], rtol=1e-6, atol=1e-6
    )


def test_float32_is_near_float64():
    data, _ = planted((12, 40, 6), 3, 0, noise=0.3)
    single = CoupledData(data.tensor.astype(np.float32), {0: data.matrices[0].astype(np.float32)})
    one, other = CMTF(3).fit(data), CMTF(3).fit(single)
    assert other.factors_.modes[0].dtype == np.float32
    assert other.report_.cost == pytest.approx(one.report_.cost, rel=1e-4)


def test_several_starts_keep_the_best():
    data, _ = planted((8, 9, 7), 4, 0, noise=0.1)
    model = CMTF(4, init="random", starts=5, max_iter=30).fit(data)
    assert len(model.report_.starts) == 5
    assert model.report_.cost == min(model.report_.starts)


def test_a_fully_missing_slice_is_warned_about_and_defined():
    data, _ = planted((6, 7, 5), 2, 0)
    tensor = data.tensor.copy()
    tensor[:, 3] = np.nan
    with pytest.warns(UserWarning, match="mode 1: nothing is observed for 1 of its 7 indices"):
        holes = CoupledData(tensor, data.matrices)
    model = CMTF(2).fit(holes)
    assert not model.factors_.modes[1][3].any()
    assert all(np.isfinite(factor).all() for factor in model.factors_.flat)


def test_several_matrices_on_one_mode_and_weight_zero():
    data, truth = planted((8, 9, 7), 2, 0)
    rng = np.random.default_rng(3)
    extra = truth[0] @ rng.standard_normal((2, 5))
    both = CoupledData(data.tensor, {0: [data.matrices[0], extra]}, weights=(1.0, 1.0, 0.0))
    model = CMTF(2).fit(both)
    assert [side.shape for side in model.factors_.sides[0]] == [(10, 2), (5, 2)]
    assert model.report_.block_fits["matrix0.1"] == pytest.approx(1.0, abs=1e-6)


def test_reference_refuses_missing_cells():
    with pytest.raises(ScoupError, match="solver: expected als, cd or opt"):
        CMTF(2, solver="reference").fit(hide(planted((5, 6, 7), 2, 0)[0], 0.2, 0))


def test_a_start_of_the_wrong_shape_is_refused():
    data, _ = planted((5, 6, 7), 2, 0)
    wrong = Factors(np.ones(2), tuple(np.ones((n, 2)) for n in (5, 6, 8)), {0: np.ones((10, 2))})
    with pytest.raises(
        ScoupError, match=r"init: expected factors with rows \(5, 6, 7, 10\) and rank 2"
    ):
        CMTF(2, init=wrong).fit(data)


def test_rank_above_every_size_still_fits():
    data, _ = planted((3, 4, 2), 2, 0, side=3, noise=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = CMTF(6, max_iter=50).fit(data)
    assert all(np.isfinite(factor).all() for factor in model.factors_.flat)


def test_losses_agree_with_the_terms_whatever_the_update_order():
    data, _ = planted((5, 6, 4), 2, 0, modes=(0, 2), noise=0.5)
    terms, flat = terms_of(data), starts(data, 2, 0)
    new, _, losses = als.sweep(terms, flat, grams_of(flat), [4, 2, 0, 1, 3])
    np.testing.assert_allclose(losses, block_losses(terms, new), rtol=1e-10)


def test_lbfgs_finds_the_least_of_a_narrow_bowl_and_keeps_to_its_bounds():
    scales = np.logspace(0, 3, 30)
    point, costs = np.ones(30), []

    def bowl(at, gradient):
        gradient[:] = scales * at
        return 0.5 * float(at @ (scales * at))

    cost, converged = lbfgs.minimise(bowl, point, 5, lbfgs.Stop(500, 1e-13), costs.append)
    assert converged
    assert cost == costs[-1] < 1e-9
    assert cost == bowl(point, np.empty(30))
    assert (np.diff(costs) <= 0).all()
    assert lbfgs.minimise(bowl, np.ones(30), 5, lbfgs.Stop(3, 0.0)) == (
        pytest.approx(costs[2]),
        False,
    )


def test_lbfgs_stays_where_no_step_lowers_the_cost():
    def slope(at, gradient):
        gradient[:] = 1.0
        return abs(float(at[0]))

    point = np.zeros(1)
    assert lbfgs.minimise(slope, point, 5, lbfgs.Stop(50, 0.0)) == (0.0, True)
    assert abs(point[0]) < 1e-6


def test_lbfgs_steps_back_from_where_the_cost_is_not_a_number():
    def walled(at, gradient):
        gradient[:] = 2 * at
        return float(at @ at) if at[0] > -0.5 else np.nan

    point = np.array([0.9])
    cost, converged = lbfgs.minimise(walled, point, 5, lbfgs.Stop(50, 1e-12))
    assert converged
    assert cost < 1e-9
