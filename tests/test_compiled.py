"""The compiled sweeps of small problems are those of :func:`scoup.solvers.als.solve`."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoup import CoupledData, normal, start
from scoup.constraints import UNCONSTRAINED
from scoup.kernels import loop
from scoup.kernels.singular import pseudoinverse
from scoup.solvers import Stopping, _compiled, als
from scoup.specs import FitSpec
from scoup.start import begin, candidates
from scoup.terms import Problem
from scoup.units import Units
from tests.planted import as_sparse, hide, planted, problems, starts

TOLERANCE = {np.float64: 1e-10, np.float32: 1e-4}


def solve_both(data, flat, stopping, units=None, constraints=UNCONSTRAINED):
    """Return the compiled solution and that of the plain path."""
    problem = Problem.of(data, units, constraints)
    assert _compiled.suits(problem, flat[0].shape[1])
    compiled = als.solve(problem, list(flat), stopping)
    with patch.object(_compiled, "MAX_STEPS", -1):
        plain = als.solve(problem, list(flat), stopping)
    return compiled, plain


def assert_same(compiled, plain, tolerance):
    assert compiled.stop == plain.stop
    np.testing.assert_allclose(compiled.costs, plain.costs, rtol=tolerance)
    for one, other in zip(compiled.flat, plain.flat, strict=True):
        assert one.dtype == other.dtype
        assert one.flags.c_contiguous
        np.testing.assert_allclose(one, other, atol=tolerance * np.abs(other).max())


def cast(data, dtype):
    tensor, *matrices = (
        block.values.with_values(block.values.values.astype(dtype))
        if block.is_sparse
        else block.values.astype(dtype)
        for block in data.blocks
    )
    named = dict(zip(data.owners, matrices, strict=True))
    return CoupledData(tensor, named, weights=data.block_weights)


@settings(max_examples=60, deadline=None)
@given(
    data=problems(),
    rank=st.integers(1, 11),
    dtype=st.sampled_from([np.float64, np.float32]),
    sparse=st.booleans(),
    seed=st.integers(0, 9),
)
def test_iterates_are_those_of_the_plain_path(data, rank, dtype, sparse, seed):
    form = cast(as_sparse(data)[0] if sparse else data, dtype)
    flat = [factor.astype(dtype) for factor in starts(form, rank, seed)]
    # Few sweeps: rounding errors of float32 grow from sweep to sweep.
    assert_same(*solve_both(form, flat, Stopping(3, 0.0)), TOLERANCE[dtype])


@pytest.mark.parametrize("weights", [[1.0, 3.0, 0.0], [1.0, 1e-6, 50.0]])
def test_weights_and_several_matrices_on_one_mode(weights):
    rng = np.random.default_rng(0)
    matrices = {2: [rng.standard_normal((8, 5)), rng.standard_normal((8, 30))]}
    data = CoupledData(rng.standard_normal((6, 7, 8)), matrices, weights=weights)
    both = solve_both(data, starts(data, 3, 1), Stopping(30, 0.0), Units.of(data))
    assert_same(*both, 1e-9)


@settings(max_examples=20, deadline=None)
@given(data=problems(), rank=st.integers(1, 4), sparse=st.booleans(), seed=st.integers(0, 9))
def test_starts_are_those_of_the_plain_path(data, rank, sparse, seed):
    problem = Problem.of(as_sparse(data)[0] if sparse else data)
    spec = FitSpec(rank=rank)
    draws = candidates(problem.data, spec, seed)[0]
    with patch.multiple(start, CANDIDATE_SWEEPS=2, PARAFAC_SWEEPS=2):
        compiled = begin(problem, spec, draws, seed)
        with patch.object(_compiled, "MAX_STEPS", -1):
            plain = begin(problem, spec, draws, seed)
    for one, other in zip(compiled, plain, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-7 * np.abs(other).max())


def test_unsafe_starts_are_left_to_the_plain_path():
    data, _ = planted((6, 9, 5), 2, seed=3, noise=0.5)
    problem, flat = Problem.of(data), starts(data, 2, 0)
    limits = als.limits_for(problem, Stopping(9, 0.0), 2)._replace(max_cancellation=1e-9)
    assert _compiled.sweep_from_best(problem, [flat], (2, 2), limits) is None
    assert _compiled.with_sides(problem, flat, limits) is None


def test_stops_for_the_same_reason_at_the_same_sweep():
    noisy, _ = planted((6, 9, 5), 2, seed=3, noise=0.5)
    exact, _ = planted((6, 9, 5), 2, seed=3)
    cases = [(noisy, 1e-5, "converged"), (exact, 0.0, "exact"), (noisy, 0.0, "max_iter")]
    for data, tol, reason in cases:
        limit = 5 if reason == "max_iter" else 500
        compiled, plain = solve_both(data, starts(data, 2, 0), Stopping(limit, tol))
        assert compiled.stop == plain.stop == reason
        assert abs(len(compiled.costs) - len(plain.costs)) <= (reason == "exact")


def test_singular_systems_have_the_same_solution():
    data, _ = planted((6, 9, 5), 2, seed=3, noise=0.5)
    once = starts(data, 2, 0)
    for columns in ([0, 0], [0, 1, 0], [1, 1, 1]):
        flat = [np.ascontiguousarray(factor[:, columns]) for factor in once]
        assert_same(*solve_both(data, flat, Stopping(9, 0.0)), 1e-9)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6), st.integers(0, 6), st.floats(0, 3), st.integers(0, 99))
def test_pseudoinverses_are_those_of_the_plain_path(rank, rows, spread, seed):
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((rows, rank)) * 10.0 ** (spread * rng.standard_normal(rank))
    gram = columns.T @ columns
    plain = normal.pseudoinverse(gram)
    cutoff = normal.CUTOFF_EPS * rank * np.finfo(float).eps
    compiled = pseudoinverse(gram, cutoff, normal.MAX_SCALE_RATIO)
    np.testing.assert_allclose(compiled, plain, rtol=1e-6, atol=1e-6 * np.abs(plain).max())


def test_a_sweep_whose_loss_has_no_digits_is_left_to_the_plain_path():
    data, _ = planted((6, 9, 5), 2, seed=3, noise=0.5)
    problem, flat = Problem.of(data), starts(data, 2, 0)
    limits = als.limits_for(problem, Stopping(9, 0.0), 2)._replace(max_cancellation=1e-9)
    before = [factor.copy() for factor in flat]
    assert _compiled.sweep(problem, flat, Stopping(9, 0.0), limits) == ([], "")
    for factor, old in zip(flat, before, strict=True):
        np.testing.assert_array_equal(factor, old)


def test_each_cost_is_told_when_it_is_known():
    data, _ = planted((6, 9, 5), 2, seed=3, noise=0.5)
    told, calls = [], []
    run = loop.run_sweeps

    def spy(*arguments):
        calls.append(len(told))
        return run(*arguments)

    with patch.object(loop, "run_sweeps", spy):
        stopping = Stopping(6, 0.0, told.append)
        solution = als.solve(Problem.of(data), starts(data, 2, 0), stopping)
    assert told == solution.costs
    assert calls == [0, 1, 2, 3, 4, 5]
    quiet = als.solve(Problem.of(data), starts(data, 2, 0), Stopping(6, 0.0))
    assert quiet.costs == told


def test_large_masked_and_mixed_problems_take_the_plain_path():
    data, _ = planted((6, 9, 5), 2, seed=3)
    mixed = CoupledData(data.tensor.astype(np.float32), data.matrices)
    large = CoupledData(np.ones((200, 200, 60)))
    assert not _compiled.suits(Problem.of(hide(data, 0.1, 0)), 2)
    assert not _compiled.suits(Problem.of(mixed), 2)
    assert not _compiled.suits(Problem.of(large), 2)
    assert _compiled.suits(Problem.of(as_sparse(data)[0]), 2)
