"""Missing cells: exact row systems against a plain reference, and the way to a good start."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scoup import CoupledData, HeldOut, SparseTensor, kernels
from scoup.factors import khatri_rao
from scoup.fit import fit
from scoup.machine import serial_blas, threads
from scoup.metrics import cost
from scoup.records import Factors
from scoup.seeds import generator
from scoup.solvers import Stopping, als
from scoup.solvers._filled import MIN_CELLS, Filled, explains
from scoup.solvers._strides import Strides
from scoup.specs import FitSpec
from scoup.terms import Problem, grams_of, weighted

SETTINGS = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
SHAPE = (40, 300, 6)


@st.composite
def masked_problems(draw):
    """Coupled data with up to 95 % of its cells missing, some slices whole, and factors."""
    rng = generator(draw(st.integers(0, 2**31)), "masked")
    dtype = draw(st.sampled_from([np.float64, np.float32]))
    shape = tuple(draw(st.lists(st.integers(1, 7), min_size=3, max_size=5)))
    rank, hidden = draw(st.integers(1, 6)), draw(st.sampled_from([0.0, 0.1, 0.5, 0.95]))

    def block(size):
        values = rng.standard_normal(size).astype(dtype)
        values[rng.random(size) < hidden] = np.nan
        values.flat[0] = 1.0
        return values

    tensor = block(shape)
    if shape[0] > 1 and draw(st.booleans()):
        tensor[-1] = np.nan
    modes = draw(st.lists(st.integers(0, len(shape) - 1), max_size=3))
    matrices = {mode: [block((shape[mode], 4)) for _ in range(modes.count(mode))] for mode in modes}
    weights = rng.uniform(0.1, 10, 1 + len(modes)).tolist()
    data = CoupledData(tensor, matrices, weights=weights)
    return data, [rng.standard_normal((n, rank)).astype(dtype) for n in data.sizes]


def plain_rows(data, flat, position):
    """Minimise over each row of a factor by ``lstsq`` of its weighted, observed cells."""
    rows = np.zeros(flat[position].shape)
    for i in range(len(rows)):
        lines, targets = [], []
        for block, weight in zip(data.blocks, data.block_weights, strict=True):
            if position not in block.factors:
                continue
            axis = block.factors.index(position)
            others = [flat[k].astype(np.float64) for k in block.factors if k != position]
            known = np.ones(block.shape, bool) if block.mask is None else block.mask
            seen = known.take(i, axis).ravel()
            lines.append(np.sqrt(weight) * khatri_rao(others)[seen])
            targets.append(np.sqrt(weight) * block.values.take(i, axis).ravel()[seen])
        rows[i] = np.linalg.lstsq(np.vstack(lines), np.concatenate(targets), rcond=1e-7)[0]
    return rows


@given(masked_problems())
@SETTINGS
@pytest.mark.filterwarnings("ignore:mode")
def test_every_row_is_the_least_squares_solution_over_its_observed_cells(drawn):
    data, flat = drawn
    problem = Problem.of(data)
    for position in range(len(flat)):
        new = list(flat)
        als.sweep(problem.terms, new, grams_of(flat), [position])
        expected = list(flat)
        expected[position] = plain_rows(data, flat, position)
        # Rows with fewer cells than unknowns have many solutions, all of the same cost.
        got, least = (
            cost(data, Factors.from_flat(np.ones(flat[0].shape[1]), model, data.owners))
            for model in (new, expected)
        )
        digits = 1e-10 if data.dtype == np.float64 else 1e-3
        zero = sum(w * b.norm2 for w, b in zip(data.block_weights, data.blocks, strict=True))
        assert got <= least + digits * zero
        seen = sum(
            b.rows_observed(b.factors.index(position)) for b in data.blocks if position in b.factors
        )
        assert not new[position][seen == 0].any()
        full = (seen >= 4 * flat[0].shape[1]) & (data.dtype == np.float64)
        size = np.abs(expected[position]).max(initial=1.0)
        conditions = _conditions(data, flat, position)
        sharp = full & (conditions < 1e4)
        assert np.allclose(new[position][sharp], expected[position][sharp], atol=1e-10 * size)


def _conditions(data, flat, position):
    """Condition number of each row's Gram matrix."""
    total = 0.0
    for term in Problem.of(data).terms:
        if position in term.factors:
            rows = term.gram(flat, grams_of(flat), position).astype(np.float64)
            total = total + term.weight * np.broadcast_to(
                rows, (len(flat[position]), *rows.shape[-2:])
            )
    return np.array([np.linalg.cond(gram) if gram.any() else np.inf for gram in total])


@given(st.integers(1, 90), st.integers(1, 90), st.integers(1, 40), st.sampled_from(["f4", "f8"]))
@SETTINGS
def test_picked_rows_are_summed_exactly(rows, columns, rank, dtype):
    rng = generator(rows, "bits", columns)
    mask = rng.random((rows, columns)) < rng.random()
    factor = rng.integers(-9, 9, (columns, rank)).astype(dtype)  # sums without rounding errors
    bits = kernels.pack_bits(mask)
    assert np.array_equal(kernels.transpose_bits(bits, columns), kernels.pack_bits(mask.T))
    assert np.array_equal(kernels.sum_picked(bits, factor), mask.astype(dtype) @ factor)


@given(
    st.lists(st.integers(1, 60), min_size=2, max_size=4).map(tuple),
    st.integers(1, 7),
    st.booleans(),
    st.sampled_from(["f4", "f8"]),
)
@SETTINGS
def test_squared_error_is_that_of_the_residuals(shape, rank, masked, dtype):
    rng = generator(rank, "squares", *shape)
    values = rng.standard_normal(shape).astype(dtype)
    factors = [rng.standard_normal((n, rank)).astype(dtype) for n in shape]
    known = rng.random(shape) < 0.5 if masked else np.ones(shape, bool)
    model = khatri_rao([factor.astype(np.float64) for factor in factors]).sum(axis=1).reshape(shape)
    error = np.where(known, values / 4.0 - model, 0.0)
    values[~known] = np.nan  # what is not known is never read as a number
    mask = known if masked else None
    assert np.isclose(kernels.squared_error(values, mask, factors, 2), np.sum(error**2), rtol=1e-12)


def noisy(hidden=0.3, seed=0, noise=2.0, dtype=np.float64):
    """Planted data large enough for a small problem to pay, and a random start."""
    rng = generator(seed, "noisy")
    factors = [rng.standard_normal((n, 3)) for n in SHAPE]
    tensor = khatri_rao(factors).sum(axis=1).reshape(SHAPE)
    tensor += noise * tensor.std() * rng.standard_normal(SHAPE)
    answers = factors[0] @ rng.standard_normal((3, 8))
    observed = rng.random(SHAPE) >= hidden
    assert tensor.size >= MIN_CELLS
    data = CoupledData(tensor.astype(dtype), {0: answers.astype(dtype)}, observed)
    return data, [rng.standard_normal((n, 3)).astype(dtype) for n in data.sizes]


@pytest.mark.parametrize("hidden", [0.1, 0.6])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_small_problem_leads_close_to_the_minimum(hidden, dtype):
    data, flat = noisy(hidden, dtype=dtype)
    problem = Problem.of(data)
    start = list(flat)
    assert not explains(problem, start)
    assert als.warm_up(problem, start) == [0, 2, 3]
    grams, costs = grams_of(start), []
    for _ in range(40):
        costs.append(weighted(problem.terms, als.sweep(problem.terms, start, grams)))
    solution = als.solve(problem, list(flat), Stopping(100, 1e-8))
    assert costs[0] <= 1.01 * costs[-1]
    assert solution.costs[-1] <= (1 + 1e-4) * costs[-1]
    assert all(
        after <= before for before, after in zip(solution.costs, solution.costs[1:], strict=False)
    )


def test_a_start_that_explains_something_is_kept():
    data, flat = noisy()
    problem = Problem.of(data)
    good = als.solve(problem, list(flat), Stopping(100, 1e-8)).flat
    start = list(good)
    assert als.warm_up(problem, start) == [0, 1, 2, 3]
    assert all(new is old for new, old in zip(start, good, strict=True))


def test_whole_slices_may_be_missing_from_the_small_problem():
    data, flat = noisy()
    observed = np.array(data.blocks[0].mask)
    observed[:, :100], observed[:5] = False, False
    observed[:, :, 5] = False
    with pytest.warns(UserWarning, match="nothing is observed"):
        sliced = CoupledData(data.tensor, data.matrices, observed)
    problem = Problem.of(sliced)
    solution = als.solve(problem, list(flat), Stopping(100, 1e-8))
    assert solution.costs[-1] < 0.9 * problem.zero_cost
    assert not solution.flat[1][:100].any()
    assert not solution.flat[2][5].any()


def test_several_modes_and_matrices_shrink_and_expand():
    rng = generator(0, "shrunk")
    shape = (12, 400, 11, 4)
    factors = [rng.standard_normal((n, 2)) for n in shape]
    tensor = khatri_rao(factors).sum(axis=1).reshape(shape)
    matrices = {n: factors[n] @ rng.standard_normal((2, 5)) for n in (0, 1, 3)}
    observed = rng.random(shape) < 0.7
    data = CoupledData(tensor, matrices, observed)
    problem = Problem.of(data)
    filled = Filled.of(problem, 2)
    assert filled is not None
    assert filled.problem.data.shape[0] == filled.problem.data.shape[2] == 4
    sides = [np.ones((5, 2)) for _ in range(3)]
    whole = filled.expand(filled.shrink([rng.standard_normal((n, 2)) for n in shape] + sides))
    assert [factor.shape for factor in whole] == [(n, 2) for n in data.sizes]
    fitted = fit(data, FitSpec(rank=2, max_iter=100, tol=1e-12), seed=0)
    assert fitted.report.cost < 1e-6 * data.blocks[0].norm2


def test_bytes_of_a_fit_do_not_depend_on_threads():
    data, flat = noisy()
    results = []
    for count in (1, 2):
        with threads(count), serial_blas():
            results.append(als.solve(Problem.of(data), list(flat), Stopping(20, 1e-8)).flat)
    assert all(one.tobytes() == two.tobytes() for one, two in zip(*results, strict=True))


def test_hidden_cells_that_hold_most_of_a_row_leave_its_digits():
    rng = generator(0, "hidden mass")
    shape = (6, 40, 30)
    flat = [rng.standard_normal((n, 2)).astype(np.float32) for n in shape]
    flat[1][0] *= 1e3
    hidden = np.zeros(shape, np.float32)
    hidden[:3, 0] = 1.0  # a fortieth of the cells of these rows
    tensor = SparseTensor.from_dense(rng.standard_normal(shape).astype(np.float32) * (hidden == 0))
    data = CoupledData(tensor, tensor_mask=HeldOut(SparseTensor.from_dense(hidden)))
    grams = Problem.of(data).terms[0].gram(flat, grams_of(flat), 0)
    _, second, third = (factor.astype(np.float64) for factor in flat)
    rest = (second[1:].T @ second[1:]) * (third.T @ third)
    assert np.allclose(grams[:3], rest, rtol=1e-5)
    assert grams.dtype == np.float32


def test_a_mask_takes_one_bit_per_cell_and_direction():
    data, _ = noisy()
    Problem.of(data)  # compiles
    tracemalloc.start()
    problem = Problem.of(data)
    size, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert problem.masked
    assert size < 0.3 * data.tensor.size
    assert peak < 0.3 * data.nbytes


def test_strides_near_the_minimum_aim_where_steps_vanish():
    flat = [np.zeros((3, 1)), np.array([[8.0], [4.0]])]
    strides, target = Strides(flat, near=[0, 1]), np.array([[2.0], [1.0]])
    for cost_now in (3.0, 2.0, 1.0):  # each sweep halves the error of the second factor
        strides.set_out(flat, grams_of(flat))
        flat[1] = (flat[1] + target) / 2
        strides.accept(cost_now, flat, grams_of(flat))
    assert np.allclose(flat[1], target)
