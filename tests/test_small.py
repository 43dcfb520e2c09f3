"""A small fit in one compiled call is the fit that its steps make."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoup import CoupledData, fit, small, start
from scoup.kernels import blocks as blocks_of
from scoup.solvers import _compiled
from scoup.specs import FitSpec
from scoup.terms import Problem
from tests.planted import as_sparse, hide, planted, problems


def fit_both(data, spec, seed=0):
    """Return the fit in one call, whether it was one, and the fit step by step."""
    calls, solve = [], small.solve

    def spy(*arguments):
        calls.append(solved := solve(*arguments))
        return solved

    with patch.object(small, "solve", spy):
        whole_fit = fit.fit(data, spec, seed)
    with patch.object(small, "suits", lambda *arguments: False):
        return whole_fit, calls[0] is not None, fit.fit(data, spec, seed)


def assert_same(one, other, tolerance):
    assert one.report.stop == other.report.stop
    np.testing.assert_allclose(one.report.losses, other.report.losses, rtol=tolerance)
    for name, loss in other.report.block_losses.items():
        assert one.report.block_losses[name] == pytest.approx(loss, rel=tolerance)
    for left, right in zip(one.factors.flat, other.factors.flat, strict=True):
        assert left.dtype == right.dtype
        assert left.flags.c_contiguous
        np.testing.assert_allclose(left, right, atol=tolerance * np.abs(right).max())


@settings(max_examples=60, deadline=None)
@given(data=problems(), rank=st.integers(1, 4), sparse=st.booleans(), seed=st.integers(0, 9))
def test_fits_are_those_of_the_steps(data, rank, sparse, seed):
    data = as_sparse(data)[0] if sparse else data
    spec = FitSpec(rank=rank, max_iter=3, tol=0.0, compress=False)
    with (
        patch.multiple(small, CANDIDATE_SWEEPS=2, PARAFAC_SWEEPS=2),
        patch.multiple(start, CANDIDATE_SWEEPS=2, PARAFAC_SWEEPS=2),
    ):
        one, _, other = fit_both(data, spec, seed)
    assert_same(one, other, 1e-7)


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("side", [4, 90])
def test_a_long_mode_is_compressed(mode, side):
    """Wherever it is, and whether it has matrices, of which one is wider than the core."""
    shape = np.insert([4, 7], mode, 400)
    data, _ = planted(tuple(shape), 3, seed=1, side=side, modes=(0, 1, 2), noise=0.5)
    one, at_once, other = fit_both(data, FitSpec(rank=3, max_iter=20, tol=0.0, compress=True))
    assert at_once
    assert one.report.compressed
    assert other.report.compressed
    assert_same(one, other, 1e-9)


def test_compression_changes_no_iterate():
    data, _ = planted((8, 300, 5), 2, seed=1, noise=0.5)
    spec = FitSpec(rank=2, max_iter=4, tol=0.0)
    short, long = (fit.fit(data, spec.replace(compress=way)) for way in (True, False))
    assert short.report.compressed > long.report.compressed
    assert_same(short, long, 1e-9)


def test_four_modes_units_weights_and_single_precision():
    data, _ = planted((9, 4, 80, 3), 2, seed=2, modes=(1, 2), noise=0.3, weights="balanced")
    spec = FitSpec(rank=2, max_iter=5, tol=0.0)
    one, at_once, other = fit_both(data, spec)
    assert at_once
    assert_same(one, other, 1e-9)
    tiny = CoupledData(data.tensor * 1e-40, data.matrices, weights="balanced")
    again = fit.fit(tiny, spec)
    np.testing.assert_allclose(again.factors.weights, one.factors.weights * 1e-40, rtol=1e-9)
    single = CoupledData(
        data.tensor.astype(np.float32),
        {mode: [y.astype(np.float32) for y in group] for mode, group in data.matrices.items()},
        weights="balanced",
    )
    one, at_once, other = fit_both(single, spec)
    assert at_once
    assert one.factors.modes[0].dtype == np.float32
    assert one.report.cost == pytest.approx(other.report.cost, rel=1e-4)


def test_planted_factors_are_found_and_the_cost_never_rises():
    data, _ = planted((20, 900, 9), 4, seed=0, side=30)
    result = fit.fit(data, FitSpec(rank=4))
    assert result.report.compressed
    assert min(result.report.block_fits.values()) > 1 - 1e-9
    noisy, _ = planted((20, 900, 9), 4, seed=0, side=30, noise=1.0)
    losses = fit.fit(noisy, FitSpec(rank=4)).report.losses
    assert (np.diff(losses) <= 1e-12 * losses[0]).all()


@pytest.mark.parametrize(
    "data",
    [
        CoupledData(np.ones((4, 5, 6))),  # components beyond the first add nothing
        CoupledData(np.zeros((3, 4, 5))),
        CoupledData(np.ones((3, 60, 2)), {1: np.zeros((60, 2))}),  # a singular Gram matrix
        CoupledData(np.ones((1, 1, 1))),
        hide(planted((6, 7, 8), 2, seed=0, noise=0.1)[0], 0.2, 0),
    ],
)
def test_what_cannot_be_done_at_once_is_done_in_steps(data):
    one, at_once, other = (
        fit_both(data, FitSpec(rank=3))
        if small.suits(data, FitSpec(rank=3))
        else (fit.fit(data, FitSpec(rank=3)), False, fit.fit(data, FitSpec(rank=3)))
    )
    assert not at_once
    assert one.report.losses == other.report.losses


def test_large_data_and_unusual_fits_are_left_to_the_steps():
    data = CoupledData(np.random.default_rng(0).standard_normal((5, 6, 7)))
    large = CoupledData(np.ones((200, 200, 60)))
    assert small.solve(Problem.of(large), FitSpec(rank=2), 0) is None
    with patch.object(small, "MAX_UNFOLDED_NUMBERS", 100):
        assert small.solve(Problem.of(data), FitSpec(rank=1, compress=True), 0) is None
    for settings_of_fit in ({"starts": 2}, {"init": "random"}, {"solver": "cd"}):
        assert not small.suits(data, FitSpec(rank=2, **settings_of_fit))
    assert not small.suits(data, FitSpec(rank=2, constraints="nonnegative"))
    assert small.suits(data, FitSpec(rank=2))


def test_zeros_below_the_diagonal_of_a_core_are_not_read():
    """The same sweeps as with a core of which all cells are read, to the last bit."""
    data, _ = planted((6, 300, 9), 2, seed=1, noise=0.5)
    problem, results = Problem.of(data), []
    for triangular in (True, False):
        lay_out = _compiled.lay_out

        def laid_out(*arguments, keep=triangular, lay_out=lay_out):
            blocks, cells = lay_out(*arguments)
            blocks.table[:, blocks_of.IS_TRIANGULAR] *= keep
            return blocks, cells

        with patch.object(_compiled, "lay_out", laid_out):
            results.append(small.solve(problem, FitSpec(rank=2, compress=True), 0)[0])
    for one, other in zip(*(result.flat for result in results), strict=True):
        np.testing.assert_array_equal(one, other)
