"""Small inputs that once broke a fit: each of these was a wrong number, a traceback or silence."""

import numpy as np
import pytest
from scipy import sparse

from scoup import (
    CMTF,
    SCOUP,
    CoupledData,
    Factors,
    HeldOut,
    Observed,
    ScoupError,
    SparseTensor,
    metrics,
)
from tests.planted import planted

pytestmark = pytest.mark.filterwarnings("ignore::scoup.errors.ScoupWarning")


def noise(*shape, seed=0, dtype=float):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("rank", [10, 40])
def test_float32_at_a_rank_above_the_dimensions_fits(rank):
    data = CoupledData(noise(3, 4, 5, dtype="f4"), {0: noise(3, 4, dtype="f4")})
    report = CMTF(rank).fit(data).report_
    assert max(report.losses) < 1e-4 * metrics.zero_cost(data)


def test_float32_with_missing_cells_at_a_high_rank_fits():
    tensor = noise(4, 5, 6, dtype="f4")
    tensor[noise(4, 5, 6, seed=1) > 0] = np.nan
    assert CMTF(12).fit(CoupledData(tensor)).report_.block_fits["tensor"] > 0.999


@pytest.mark.parametrize("init", ["random", "parafac", "tucker"])
@pytest.mark.parametrize("solver", ["als", "opt"])
@pytest.mark.parametrize("scale", [1e-20, 1e-3, 1e4, 1e6])
def test_a_fit_does_not_depend_on_the_unit(scale, solver, init):
    data, _ = planted((10, 12, 8), 3, seed=0, modes=(), noise=0.15)
    model = CMTF(3, solver=solver, init=init)
    here = model.fit(data).report_.block_fits["tensor"]
    there = model.fit(CoupledData(data.tensor * scale)).report_.block_fits["tensor"]
    assert there == pytest.approx(here, abs=1e-5)


def test_a_component_without_a_part_of_the_tensor_keeps_that_of_the_matrix():
    data = CoupledData(np.zeros((4, 5, 6)), {0: noise(4, 3)})
    for init in ("random", "parafac", "tucker"):
        model = CMTF(2, init=init).fit(data)
        assert model.report_.cost == pytest.approx(metrics.cost(data, model.factors_))
        assert model.report_.block_fits["matrix0"] > 0.5


def test_components_that_the_tensor_has_no_use_for_fit_the_matrix():
    for seed in range(20):
        one = [noise(n, seed=seed * 10 + n) for n in (6, 7, 8)]
        matrix = noise(6, 2, seed=seed) @ noise(2, 5, seed=seed + 99)
        data = CoupledData(np.einsum("i,j,k->ijk", *one), {0: matrix})
        assert CMTF(3, seed=seed).fit(data).report_.block_fits["matrix0"] > 0.9


@pytest.mark.parametrize("seed", range(4))
def test_scoup_takes_ratings(seed):
    rng = np.random.default_rng(seed)
    cells = np.array([rng.integers(0, n, 600) for n in (100, 100, 30)])
    ratings = SparseTensor(cells, rng.random(600) + 1, (100, 100, 30))
    data = CoupledData(ratings, {0: noise(100, 5)}, Observed(ratings))
    assert np.isfinite(SCOUP(2, sampling=10, seed=seed).fit(data).report_.cost)


def test_scoup_takes_blocks_of_zeros():
    assert SCOUP(2).fit(CoupledData(noise(10, 12, 8), {0: np.zeros((10, 4))})).report_.cost > 0
    assert SCOUP(2).fit(CoupledData(np.zeros((10, 12, 8)), {0: noise(10, 4)})).report_.cost >= 0


def test_a_masked_array_is_a_mask():
    tensor, matrix = noise(4, 5, 6), noise(4, 3)
    data = CoupledData(
        np.ma.array(tensor, mask=tensor > 1), {0: np.ma.array(matrix, mask=matrix > 0)}
    )
    assert [block.observed for block in data.blocks] == [(tensor <= 1).sum(), (matrix <= 0).sum()]


def test_a_mask_looks_at_the_cells_not_at_their_values():
    cells = SparseTensor([[0, 1], [0, 1], [0, 1]], [0.0, 4.0], (2, 2, 2))
    assert CoupledData(cells, tensor_mask=Observed(cells)).blocks[0].observed == 2
    assert CoupledData(cells, tensor_mask=HeldOut(cells)).blocks[0].observed == 6


@pytest.mark.parametrize("seed", [2, 8, 14, 15])
def test_one_observed_cell_never_raises_the_cost(seed):
    tensor = np.full((5, 5, 5), np.nan)
    tensor[2, 3, 1] = noise(1, seed=seed)[0]
    data = CoupledData(tensor, {0: noise(5, 6, seed=seed)})
    losses = CMTF(3, seed=seed).fit(data).report_.losses
    assert max(np.diff(losses), default=0) <= 1e-9 * metrics.zero_cost(data)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_held_out_cells_are_as_a_dense_mask_where_most_are_hidden(dtype):
    tensor = noise(6, 7, 8, dtype=dtype)
    known = np.random.default_rng(1).random(tensor.shape) < 0.1
    cells = np.array(np.nonzero(~known))
    hidden = HeldOut(SparseTensor(cells, np.ones(cells.shape[1], dtype), tensor.shape))
    data = CoupledData(SparseTensor.from_dense(tensor), tensor_mask=hidden)
    report = CMTF(2, init="random").fit(data).report_
    zero = metrics.zero_cost(data)
    assert max(np.diff(report.losses)) <= {"f8": 1e-12, "f4": 1e-5}[dtype] * zero
    dense = CMTF(2, init="random").fit(CoupledData(np.where(known, tensor, np.nan))).report_
    assert report.losses[0] == pytest.approx(dense.losses[0], rel=1e-3)


def test_the_loss_of_float32_data_far_from_zero_is_not_cancelled():
    tensor = (1e4 + noise(20, 30, 10)).astype("f4")
    model = CMTF(1).fit(CoupledData(tensor))
    double = metrics.cost(CoupledData(tensor.astype(float)), model.factors_)
    assert model.report_.cost == pytest.approx(double, rel=1e-3)
    assert double > 1000


@pytest.mark.parametrize("scale", [1e160, 1e-160, 1e-170])
def test_numbers_without_squares_are_refused(scale):
    with pytest.raises(ScoupError, match="numbers whose squares a float64 holds"):
        CMTF(3).fit(CoupledData(noise(4, 5, 6) * scale))


@pytest.mark.parametrize("scale", [1e18, 1e30, 1e-20, 1e-30])
def test_float32_reaches_to_the_ends_of_its_range(scale):
    tensor = noise(4, 5, 6)
    fits = [CMTF(3).fit(CoupledData((tensor * s).astype("f4"))) for s in (1.0, scale)]
    one, other = (fit.report_.block_fits["tensor"] for fit in fits)
    assert other == pytest.approx(one, abs=1e-3)


def fitted():
    return CMTF(2, max_iter=3).fit(CoupledData(noise(5, 6, 7), {0: noise(5, 4)}))


def with_nan():
    factors = fitted().factors_
    return Factors(factors.weights * np.nan, factors.modes, factors.sides)


DATA = CoupledData(noise(5, 6, 7), {0: noise(5, 4)})


@pytest.mark.parametrize(
    "call",
    [
        lambda: DATA.with_weights(0.5),
        lambda: DATA.with_weights(None),
        lambda: DATA.with_weights(["a", "b"]),
        lambda: CoupledData(DATA.tensor, {0: noise(5, 4), "a": noise(5, 4)}),
        lambda: CoupledData(DATA.tensor, {0: noise(5, 4)}, matrix_masks=[None]),
        lambda: CoupledData(DATA.tensor.astype("datetime64[s]")),
        lambda: SparseTensor([[0], [0], [0]], [1.0], None),
        lambda: SparseTensor.from_dense(DATA.tensor).select([[9], [0], [0]]),
        lambda: HeldOut(DATA.tensor),
        lambda: CMTF(2, init=DATA.tensor).fit(DATA),
        lambda: CMTF(2, init=with_nan()).fit(DATA),
        lambda: CMTF(2, compress=DATA.tensor).fit(DATA),
        lambda: CMTF(10**12).fit(DATA),
        lambda: SCOUP(2, sampling=None).fit(DATA),
        lambda: SCOUP(2, sampling=[[2], [2], [2]]).fit(DATA),
        lambda: SCOUP(2, sampling={0: 2}).fit(DATA),
        lambda: SCOUP(2, side_sampling={0: None}).fit(DATA),
        lambda: CMTF(2).score(DATA),
        lambda: CMTF(2).reconstruct_matrix(),
        lambda: fitted().transform(noise(1, 4), position=5),
        lambda: fitted().transform(noise(5, 6, 7), block="tensor", position=5),
        lambda: fitted().transform(noise(1, 4) * 1j),
        lambda: fitted().transform(noise(1, 4), mode="a"),
        lambda: fitted().reconstruct_matrix(0, 5),
        lambda: fitted().predict(noise(1, 4), at=[2]),
        lambda: fitted().predict(noise(1, 4), at={2: slice(2)}),
        lambda: metrics.cost(DATA, with_nan()),
        lambda: metrics.cost(None, fitted().factors_),
        lambda: metrics.held_out_error(np.ones(1), np.full((3, 1), 99), fitted().factors_),
        lambda: Factors(np.ones(1), 3),
        lambda: Factors(np.ones(1), (np.ones((1, 1)),) * 3, {7: np.ones((1, 1))}),
    ],
)
def test_nonsense_is_answered_in_a_sentence(call):
    with pytest.raises(ScoupError) as caught:
        call()
    assert str(caught.value).endswith(".")


def test_sparse_and_masked_and_no_rows_are_projected():
    model, rows = fitted(), noise(3, 4)
    plain = model.transform(rows)
    np.testing.assert_allclose(model.transform(sparse.csr_array(rows)), plain)
    assert model.transform(rows[:0]).shape == (0, 2)
    holes = np.where(rows > 0, np.nan, rows)
    masked = np.ma.array(rows, mask=rows > 0)
    np.testing.assert_allclose(model.transform(masked), model.transform(holes))


@pytest.mark.parametrize("shift", [-5, 1, 2, 7])
@pytest.mark.parametrize("solver", ["als", "cd", "opt"])
def test_data_whose_size_is_between_two_units_follows_the_scale(solver, shift):
    """Half of the squares of ones and zeros is 1: their size is exactly 2^-0.5."""
    cells = np.array([0.0, 1.0, 1.0, 0.0]).reshape(1, 4, 1)
    model, moved = (
        CMTF(1, solver=solver, init="random", max_iter=1, tol=0.0).fit(CoupledData(tensor))
        for tensor in (cells.astype("f4"), np.ldexp(cells.astype("f4"), shift))
    )
    assert np.array_equal(moved.factors_.weights, np.ldexp(model.factors_.weights, shift))
    assert np.array_equal(moved.factors_.modes[1], model.factors_.modes[1])


def test_factors_that_float32_cannot_hold_are_refused():
    """The lone cell of a row and a column may be split in any way, here as 1e-9 by 1e39."""
    matrix, known = np.diag([1e30, 1e33]).astype("f4"), np.eye(2, dtype=bool)
    data = CoupledData(np.zeros((2, 2, 2), "f4"), {0: matrix}, None, {0: known})
    start = Factors(
        np.zeros(1, "f4"),
        (np.array([[1e-9], [1.0]], "f4"), np.ones((2, 1), "f4"), np.ones((2, 1), "f4")),
        {0: np.ones((2, 1), "f4")},
    )
    with pytest.raises(ScoupError, match=r"float32 can hold, got an overflow; change the unit"):
        CMTF(1, init=start, max_iter=1).fit(data)


def test_a_cost_that_float64_cannot_hold_is_refused():
    tensor = 1e153 * noise(3, 3, 3)
    with pytest.raises(ScoupError, match="change the unit of the data"):
        CMTF(1).fit(CoupledData(tensor, weights=[1e6]))


def test_a_matrix_that_is_tiny_next_to_the_tensor_is_fitted():
    """Its weight relative to the tensor, 1e-310, has no inverse in float64."""
    data = CoupledData(1e149 * noise(3, 3, 3), {0: 1e-6 * noise(3, 2)})
    assert CMTF(2).fit(data).report_.block_fits["matrix0"] > 0.5
