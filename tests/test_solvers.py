"""Contracts that every solver satisfies, and what is special to each."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoup import CMTF, ScoupError, solvers
from scoup.block import Block
from scoup.factors import khatri_rao, wrap
from scoup.listing import load, members
from scoup.match import factor_match_score
from scoup.metrics import cost
from scoup.normal import pseudoinverse, solve_normal
from scoup.solvers import Stopping, als, opt
from scoup.solvers import _lbfgs as lbfgs
from scoup.terms import DenseTerm, Problem, block_losses, grams_of, terms_of
from tests.planted import as_sparse, cp, hide, planted, problems, starts

pytestmark = pytest.mark.filterwarnings("ignore::scoup.errors.ScoupWarning")
few = settings(max_examples=30, deadline=None)
SOLVERS = members("scoup.solvers")
every_solver = pytest.mark.parametrize("name", SOLVERS)


def solve(name, data, flat, sweeps):
    """Run a solver from ``flat``, which stays as it is."""
    return load("scoup.solvers", name).solve(Problem.of(data), list(flat), Stopping(sweeps, 0.0))


def takes_missing_cells(name):
    return not getattr(load("scoup.solvers", name), "NEEDS_DENSE", False)


def same_factors(left, right, rtol=1e-8):
    for one, other in zip(left, right, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * np.abs(other).max())


# Contracts of all solvers.


@every_solver
@settings(max_examples=15, deadline=None)
@given(drawn=st.data())
def test_the_cost_never_rises(name, drawn):
    data = drawn.draw(problems(masked=drawn.draw(st.booleans()) and takes_missing_cells(name)))
    costs = solve(name, data, starts(data, 2, 3), 15).costs
    assert 1 <= len(costs) <= 15
    assert (np.diff(costs) <= 1e-9 * (costs[0] + 1e-6)).all()


@every_solver
@settings(max_examples=10, deadline=None)
@given(data=problems())
def test_sparse_equals_dense(name, data):
    flat = starts(data, 2, 1)
    dense = solve(name, data, flat, 3)
    for form in as_sparse(data):
        sparse = solve(name, form, flat, 3)
        np.testing.assert_allclose(sparse.costs, dense.costs, rtol=1e-8)
        same_factors(sparse.flat, dense.flat, rtol=1e-6)


@every_solver
@settings(max_examples=10, deadline=None)
@given(drawn=st.data())
def test_the_reported_cost_is_the_cost_of_the_residuals(name, drawn):
    data = drawn.draw(problems(masked=drawn.draw(st.booleans()) and takes_missing_cells(name)))
    flat, costs, _ = solve(name, data, starts(data, 2, 3), 2)
    total = 0.0
    for block, weight in zip(data.blocks, data.block_weights, strict=True):
        error = block.values - cp([flat[k] for k in block.factors])
        total += weight * np.sum(error[block.mask if block.mask is not None else ...] ** 2)
    assert costs[-1] == pytest.approx(total, rel=1e-8)
    assert cost(data, wrap(flat, data)) == pytest.approx(total, rel=1e-8)


@every_solver
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("rank", [3, 4, 5])
def test_planted_factors_are_found(name, rank, signed):
    data, truth = planted((14, 16, 12), rank, seed=rank, signed=signed)
    model = CMTF(rank, solver=name, max_iter=2000, tol=1e-10).fit(data)
    assert factor_match_score(model.factors_.flat, truth) > 0.99


@every_solver
@pytest.mark.parametrize("rank", [3, 4, 5])
def test_missing_cells_are_left_out_or_refused(name, rank):
    data, truth = planted((14, 16, 12), rank, seed=rank)
    model, holes = CMTF(rank, solver=name, max_iter=2000, tol=1e-10), hide(data, 0.3, seed=rank)
    if takes_missing_cells(name):
        assert factor_match_score(model.fit(holes).factors_.flat, truth) > 0.99
    else:
        with pytest.raises(ScoupError, match="solver: expected als, cd or opt"):
            model.fit(holes)


@every_solver
def test_every_step_is_reported_and_shapes_stay(name):
    data, _ = planted((5, 6, 7), 2, 0, noise=0.5)
    steps, flat = [], starts(data, 2, 0)
    stopping = Stopping(4, 0.0, steps.append)
    solution = load("scoup.solvers", name).solve(Problem.of(data), list(flat), stopping)
    assert steps == solution.costs
    assert [f.shape for f in solution.flat] == [f.shape for f in flat]
    assert solution.stop in {"max_iter", "converged", "exact"}


def test_a_new_solver_is_one_file(tmp_path, monkeypatch):
    """A file in the folder is found, can be named in a spec, and is loaded by the fit."""
    (tmp_path / "zero.py").write_text(
        '"""A model of zeros."""\n'
        "from scoup.solvers import Solution\n\n"
        "def solve(problem, flat, stopping):\n"
        "    return Solution([0 * factor for factor in flat], [problem.zero_cost], 'converged')\n"
    )
    folders = [*solvers.__path__, str(tmp_path)]
    monkeypatch.setattr(solvers, "__path__", folders)
    monkeypatch.setattr(solvers.__spec__, "submodule_search_locations", folders)
    members.cache_clear()
    try:
        model = CMTF(2, solver="zero").fit(planted((5, 6, 7), 2, 0)[0])
    finally:
        members.cache_clear()
    assert model.report_.solver == "zero"
    assert not any(factor.any() for factor in model.factors_.flat)


# Alternating least squares.


@few
@given(problems(), st.integers(1, 3))
def test_als_makes_the_iterates_of_the_printed_algorithm(data, rank):
    flat = starts(data, rank, 1)
    ours, printed = (solve(name, data, flat, 4) for name in ("als", "reference"))
    same_factors(ours.flat, printed.flat)
    np.testing.assert_allclose(ours.costs, printed.costs, rtol=1e-8)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shape", [(6, 7, 8), (5, 4, 6, 5)])
def test_both_readings_of_a_sparse_mask_equal_the_dense_mask(seed, shape):
    data = hide(planted(shape, 2, seed, modes=(0, 2), noise=0.5)[0], 0.3, seed)
    flat = starts(data, 2, 1)
    dense = solve("als", data, flat, 3)
    for form in as_sparse(data):
        sparse = solve("als", form, flat, 3)
        np.testing.assert_allclose(sparse.costs, dense.costs, rtol=1e-8)
        same_factors(dense.flat, sparse.flat)


@few
@given(problems())
def test_a_mask_with_nothing_missing_equals_no_mask(data):
    flat = starts(data, 2, 1)
    whole = [Block(b.name, b.values, np.ones(b.shape, dtype=bool), b.factors) for b in data.blocks]
    terms = [DenseTerm(block, w) for block, w in zip(whole, data.block_weights, strict=True)]
    masked = Problem(data, terms)
    assert all(term.masked for term in terms)
    solution = als.solve(masked, list(flat), Stopping(3, 0.0))
    same_factors(solution.flat, solve("als", data, flat, 3).flat)


def test_long_strides_need_fewer_sweeps_and_never_raise_the_cost():
    data = hide(planted((10, 12, 8), 2, 0, noise=0.1)[0], 0.6, 0)
    problem, flat, stopping = Problem.of(data), starts(data, 2, 0), Stopping(500, 1e-9)
    plain = als.solve(problem, list(flat), stopping, update=lambda g, r, f: solve_normal(g, r))
    strides = als.solve(problem, list(flat), stopping)
    assert (np.diff(strides.costs) <= 1e-12 * strides.costs[0]).all()
    assert len(strides.costs) < len(plain.costs)


def test_all_solvers_come_to_the_same_cost_with_missing_cells():
    data = hide(planted((10, 12, 8), 2, 0, noise=0.5)[0], 0.3, 0)
    costs = [
        CMTF(2, solver=name, max_iter=500, tol=1e-10).fit(data).report_.cost
        for name in SOLVERS
        if takes_missing_cells(name)
    ]
    np.testing.assert_allclose(costs, costs[0], rtol=1e-4)


def test_permuting_the_data_permutes_the_factors():
    data, _ = planted((8, 9, 7), 3, 0, noise=0.5)
    rng = np.random.default_rng(1)
    orders = [rng.permutation(size) for size in data.sizes]
    flat = starts(data, 3, 2)
    moved_start = [factor[order] for factor, order in zip(flat, orders, strict=True)]
    plain = solve("als", data, flat, 5).flat
    shuffled = solve("als", data.select(orders), moved_start, 5).flat
    for one, other, order in zip(plain, shuffled, orders, strict=True):
        np.testing.assert_allclose(one[order], other, rtol=1e-8)


def test_losses_agree_with_the_terms_whatever_the_update_order():
    data, _ = planted((5, 6, 4), 2, 0, modes=(0, 2), noise=0.5)
    terms, flat = terms_of(data), starts(data, 2, 0)
    losses = als.sweep(terms, flat, grams_of(flat), [4, 2, 0, 1, 3])
    np.testing.assert_allclose(losses, block_losses(terms, flat), rtol=1e-10)


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


# All at once.


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


def test_lbfgs_finds_the_least_of_a_narrow_bowl_and_keeps_to_its_bounds():
    scales = np.logspace(0, 3, 30)
    point, costs = np.ones(30), []

    def bowl(at, gradient):
        gradient[:] = scales * at
        return 0.5 * float(at @ (scales * at))

    cost, converged = lbfgs.minimise(bowl, point, 5, lbfgs.Limits(500, 1e-13), costs.append)
    assert converged
    assert cost == costs[-1] < 1e-9
    assert cost == bowl(point, np.empty(30))
    assert (np.diff(costs) <= 0).all()
    assert lbfgs.minimise(bowl, np.ones(30), 5, lbfgs.Limits(3, 0.0)) == (
        pytest.approx(costs[2]),
        False,
    )


def test_lbfgs_stays_where_no_step_lowers_the_cost():
    def slope(at, gradient):
        gradient[:] = 1.0
        return abs(float(at[0]))

    point = np.zeros(1)
    assert lbfgs.minimise(slope, point, 5, lbfgs.Limits(50, 0.0)) == (0.0, True)
    assert abs(point[0]) < 1e-6


def test_lbfgs_steps_back_from_where_the_cost_is_not_a_number():
    def walled(at, gradient):
        gradient[:] = 2 * at
        return float(at @ at) if at[0] > -0.5 else np.nan

    point = np.array([0.9])
    cost, converged = lbfgs.minimise(walled, point, 5, lbfgs.Limits(50, 1e-12))
    assert converged
    assert cost < 1e-9
