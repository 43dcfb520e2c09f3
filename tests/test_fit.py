"""Fits of whole data and of samples: starts, compression, invariances, empty rows."""

import warnings

import numpy as np
import pytest

from scoup import CMTF, CoupledData, Factors, Observed, ScoupError, SparseTensor
from scoup.factors import wrap
from scoup.fit import fit, fit_repetition, repetition_seed
from scoup.match import factor_match_score
from scoup.records import Sample
from scoup.specs import FitSpec
from tests.planted import planted, starts


def sample_of(indices, repetition=0):
    return Sample(repetition, tuple(indices), tuple(index[:1] for index in indices))


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


@pytest.mark.parametrize("coupled", [(), (0,), (1,)])
@pytest.mark.parametrize("solver", ["cd", "opt", "reference"])
def test_a_long_mode_is_compressed_for_the_start_of_solvers_that_need_all_rows(solver, coupled):
    data, _ = planted((7, 300, 5), 3, 0, modes=coupled, noise=1.0)
    same = {"rank": 3, "solver": solver, "max_iter": 2, "starts": 2}
    short, long = (fit(data, FitSpec(**same, compress=way), seed=4) for way in (True, False))
    assert not short.report.compressed
    assert short.report.cost == pytest.approx(long.report.cost, rel=1e-8)
    assert short.report.starts == pytest.approx(long.report.starts, rel=1e-8)
    assert factor_match_score(short.factors.flat, long.factors.flat) > 1 - 1e-6


@pytest.mark.parametrize("coupled", [(), (0,), (1,), (0, 1, 2)])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_a_tucker_start_ends_where_that_of_parafac_does(coupled, dtype):
    data, _ = planted((40, 400, 6), 3, 1, modes=coupled, noise=2.0)
    data = CoupledData(
        data.tensor.astype(dtype),
        {mode: [y.astype(dtype) for y in group] for mode, group in data.matrices.items()},
    )
    tucker, parafac = (fit(data, FitSpec(rank=3, init=init)) for init in ("tucker", "parafac"))
    tolerance = 1e-6 if dtype == "f8" else 1e-4
    assert tucker.report.cost == pytest.approx(parafac.report.cost, rel=tolerance)
    assert factor_match_score(tucker.factors.modes, parafac.factors.modes) > 0.999
    assert tucker.report.losses[0] < 1.01 * parafac.report.cost


@pytest.mark.parametrize("kind", ["small", "sparse", "nonnegative", "no long mode"])
def test_a_tucker_start_is_that_of_parafac_where_compression_does_not_pay(kind):
    shape = {"small": (8, 60, 7), "no long mode": (6, 6, 7, 8, 9, 8)}.get(kind, (12, 900, 8))
    data, _ = planted(shape, 3, 0, noise=0.5, signed=kind != "nonnegative")
    if kind == "sparse":
        data = CoupledData(SparseTensor.from_dense(data.tensor * (data.tensor > 1)))
    constraints = "nonnegative" if kind == "nonnegative" else None
    same = {"rank": 3, "max_iter": 3, "constraints": constraints}
    one, other = (fit(data, FitSpec(**same, init=init)) for init in ("tucker", "parafac"))
    for left, right in zip(one.factors.flat, other.factors.flat, strict=True):
        assert left.tobytes() == right.tobytes()


def test_scaling_all_blocks_scales_the_weights_alone():
    data, _ = planted((8, 9, 7), 2, 0, noise=0.5)
    scaled = CoupledData(1000.0 * data.tensor, {0: 1000.0 * data.matrices[0][0]})
    one, other = (CMTF(2, tol=1e-12, max_iter=500).fit(d) for d in (data, scaled))
    np.testing.assert_allclose(other.factors_.weights, 1000 * one.factors_.weights, rtol=1e-6)
    assert factor_match_score(one.factors_.modes, other.factors_.modes) > 1 - 1e-8
    assert other.report_.block_fits["tensor"] == pytest.approx(
        one.report_.block_fits["tensor"], abs=1e-8
    )


def test_balanced_weights_do_not_care_how_a_block_is_scaled():
    data, _ = planted((8, 9, 7), 2, 0, noise=0.5, weights="balanced")
    scaled = CoupledData(data.tensor, {0: 50.0 * data.matrices[0][0]}, weights="balanced")
    one, other = (CMTF(2, tol=1e-12, max_iter=500).fit(d) for d in (data, scaled))
    assert one.report_.cost == pytest.approx(other.report_.cost, rel=1e-8)
    np.testing.assert_allclose(
        50 * one.factors_.sides[0][0], other.factors_.sides[0][0], rtol=1e-6, atol=1e-6
    )


def test_float32_is_near_float64():
    data, _ = planted((12, 40, 6), 3, 0, noise=0.3)
    single = CoupledData(
        data.tensor.astype(np.float32), {0: data.matrices[0][0].astype(np.float32)}
    )
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
    both = CoupledData(data.tensor, {0: [*data.matrices[0], extra]}, weights=(1.0, 1.0, 0.0))
    model = CMTF(2).fit(both)
    assert [side.shape for side in model.factors_.sides[0]] == [(10, 2), (5, 2)]
    assert model.report_.block_fits["matrix0.1"] == pytest.approx(1.0, abs=1e-6)


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


def test_a_sample_without_empty_rows_is_fitted_as_it_is():
    data, _ = planted((9, 10, 8), 2, 0, noise=0.5)
    sample = sample_of([np.arange(0, size, 2) for size in data.sizes], repetition=3)
    direct = fit(data.select(sample.indices), FitSpec(rank=2), repetition_seed(5, 3))
    repetition = fit_repetition(data, sample, FitSpec(rank=2), 5)
    for one, other in zip(direct.factors.flat, repetition.factors.flat, strict=True):
        assert one.tobytes() == other.tobytes()
    assert direct.report.losses == repetition.report.losses


def test_rows_without_mass_are_zero_and_the_others_are_fitted_alone():
    data, _ = planted((9, 10, 8), 2, 0)
    tensor, matrix = data.tensor.copy(), data.matrices[0][0].copy()
    tensor[2], matrix[2], matrix[:, 7] = 0.0, 0.0, 0.0
    tensor[:, 4] = 0.0
    for values in (tensor, SparseTensor.from_dense(tensor)):
        holes = CoupledData(values, {0: matrix})
        everything = sample_of([np.arange(size) for size in holes.sizes])
        result = fit_repetition(holes, everything, FitSpec(rank=2, tol=1e-12), 0)
        flat = result.factors.flat
        assert not np.concatenate([flat[0][2], flat[1][4], flat[3][7]]).any()
        assert [len(factor) for factor in flat] == list(holes.sizes)
        assert result.report.block_fits["tensor"] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.filterwarnings("ignore::scoup.errors.ScoupWarning")
def test_an_empty_sample_gives_a_fit_of_zeros():
    cells = SparseTensor([[0, 1], [0, 1], [0, 1]], [2.0, 3.0], (6, 6, 6))
    sample = sample_of([np.array([3, 4])] * 3)
    for mask in (None, Observed(cells)):
        empty = fit_repetition(CoupledData(cells, tensor_mask=mask), sample, FitSpec(rank=2), 0)
        assert not any(factor.any() for factor in empty.factors.flat)
        assert not empty.factors.weights.any()
        assert [len(factor) for factor in empty.factors.flat] == [2, 2, 2]
        assert empty.report.cost == 0


def test_few_sweeps_after_a_tucker_start_are_made_without_compression():
    data, _ = planted((40, 2000, 8), 2, seed=0, noise=0.5)
    fits = {
        (init, way): fit(data, FitSpec(rank=2, init=init, compress=way))
        for init in ("parafac", "tucker")
        for way in ("auto", True)
    }
    whole = [key for key, one in fits.items() if not one.report.compressed]
    assert whole == [("tucker", "auto")]
    costs = [one.report.cost for one in fits.values()]
    assert max(costs) == pytest.approx(min(costs), rel=1e-6)
