"""Non-negative factors: found where planted, kept by every path, and the cost never rises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.sparse import csr_array

from scoup import CMTF, SCOUP, CoupledData, ScoupError
from scoup.constraints import Constraints
from scoup.factors import unwrap, wrap
from scoup.fit import fit
from scoup.kernels import solve_nonnegative
from scoup.kernels.nonnegative import SWEEP_GAIN
from scoup.listing import load, members
from scoup.match import factor_match_score
from scoup.merge import merge
from scoup.metrics import cost
from scoup.scale import rescale, scaled_cost
from scoup.shard import shard_tensor
from scoup.solvers import Stopping
from scoup.specs import FitSpec, MergeSpec
from scoup.tensor import SparseTensor
from scoup.terms import Problem, terms_of
from tests.planted import as_sparse, hide, planted, problems, starts
from tests.test_compiled import assert_same, solve_both

pytestmark = pytest.mark.filterwarnings("ignore::scoup.errors.ScoupWarning")
NONNEGATIVE = "nonnegative"
SEEDS = range(3)
SOLVERS = [
    n for n in members("scoup.solvers") if hasattr(load("scoup.solvers", n), "CONSTRAINABLE")
]


def parts(seed, rank=3, noise=0.0, shape=(14, 16, 12)):
    """Non-negative planted data of which two entries in five are zero, and its factors."""
    rng = np.random.default_rng(seed)
    sizes = (*shape, 10)
    truth = [rng.random((n, rank)) * (rng.random((n, rank)) < 0.6) for n in sizes]
    tensor = np.einsum("if,jf,kf->ijk", *truth[:3])
    tensor += noise * tensor.std() * rng.standard_normal(tensor.shape)
    return CoupledData(tensor, {0: truth[0] @ truth[3].T}), truth


def assert_nonnegative(factors, positions=None):
    flat = factors.flat
    for position in range(len(flat)) if positions is None else positions:
        assert flat[position].min() >= 0
    assert factors.weights.min() >= 0


# The rows.


@settings(max_examples=40, deadline=None)
@given(rank=st.integers(1, 12), columns=st.integers(1, 15), seed=st.integers(0, 2**20))
def test_rows_are_those_of_lawson_and_hanson(rank, columns, seed):
    rng = np.random.default_rng(seed)
    design, data = (
        rng.standard_normal((rank + columns, rank)),
        rng.standard_normal((5, rank + columns)),
    )
    gram, rhs = design.T @ design, data @ design
    best = np.array([nnls(design, row)[0] for row in data])
    one = solve_nonnegative(gram, rhs, rng.standard_normal((5, rank)))
    each = solve_nonnegative(np.repeat(gram[None], 5, axis=0), rhs, np.zeros((5, rank)))
    np.testing.assert_allclose(one, best, atol=1e-6 * (1 + best.max()))
    np.testing.assert_allclose(each, best, atol=1e-6 * (1 + best.max()))


@settings(max_examples=40, deadline=None)
@given(
    rank=st.integers(1, 12),
    columns=st.integers(1, 12),
    zeros=st.integers(0, 3),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 2**20),
)
def test_no_row_gets_worse_whatever_the_system(rank, columns, zeros, dtype, seed):
    rng = np.random.default_rng(seed)
    design = rng.standard_normal((columns, rank))
    design[:, rng.permutation(rank)[:zeros]] = 0
    gram, rhs = design.T @ design, (rng.standard_normal((6, columns)) @ design).astype(dtype)
    old = np.maximum(rng.standard_normal((6, rank)), 0).astype(dtype)
    new = solve_nonnegative(gram, rhs, old, SWEEP_GAIN)

    def objective(rows):
        return np.einsum("if,if->i", rows @ gram - 2.0 * rhs, rows.astype(np.float64))

    assert new.dtype == dtype
    assert new.min() >= 0
    rounding = 100 * np.finfo(dtype).eps * (1 + np.abs(objective(old)))
    assert (objective(new) <= objective(old) + rounding).all()


def test_a_row_without_observed_cells_is_zero():
    assert not solve_nonnegative(np.zeros((1, 2, 2)), np.zeros((1, 2)), np.ones((1, 2))).any()


# Fits.


@pytest.mark.parametrize("form", ["dense", "sparse", "masked", "masked and sparse", "alone"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_planted_factors_are_found(solver, form):
    for seed in SEEDS:
        data, truth = parts(seed)
        data = hide(data, 0.3, seed) if "masked" in form else data
        data = as_sparse(data)[0] if "sparse" in form else data
        data = CoupledData(data.tensor) if form == "alone" else data
        model = CMTF(3, solver=solver, constraints=NONNEGATIVE, max_iter=2000, tol=1e-9, seed=seed)
        factors = model.fit(data).factors_
        assert_nonnegative(factors)
        assert factor_match_score(factors.flat, truth[: len(factors.flat)]) > 0.99


@pytest.mark.parametrize("solver", SOLVERS)
@settings(max_examples=15, deadline=None)
@given(drawn=st.data())
def test_the_cost_never_rises(solver, drawn):
    data = drawn.draw(problems(masked=drawn.draw(st.booleans())))
    names = [str(mode) for mode in range(data.ndim)] + [block.name for block in data.blocks[1:]]
    chosen = drawn.draw(st.sets(st.sampled_from(names), min_size=1))
    constraints = Constraints.of(dict.fromkeys(chosen, NONNEGATIVE), data)
    flat = constraints.absolute(starts(data, 2, 3))
    problem = Problem.of(data, constraints=constraints)
    solution = load("scoup.solvers", solver).solve(problem, flat, Stopping(15, 0.0))
    costs = solution.costs
    assert (np.diff(costs) <= 1e-9 * (costs[0] + 1e-6)).all()
    constraints.check("solution", solution.flat)
    spec = FitSpec(
        rank=2, solver=solver, max_iter=3, constraints=dict.fromkeys(chosen, NONNEGATIVE)
    )
    assert_nonnegative(fit(data, spec).factors, constraints.nonnegative)


@settings(max_examples=20, deadline=None)
@given(data=problems(), dtype=st.sampled_from([np.float64, np.float32]), seed=st.integers(0, 99))
def test_compiled_sweeps_are_those_of_the_plain_path(data, dtype, seed):
    data = CoupledData(data.tensor.astype(dtype))
    constraints = Constraints.of({0: NONNEGATIVE, 2: NONNEGATIVE}, data)
    flat = [factor.astype(dtype) for factor in constraints.absolute(starts(data, 2, seed))]
    compiled, plain = solve_both(data, flat, Stopping(4, 0.0), constraints=constraints)
    constraints.check("solution", compiled.flat)
    assert_same(compiled, plain, 1e-9 if dtype == np.float64 else 1e-3)


def test_a_long_mode_is_compressed_only_if_it_is_free():
    data, _ = parts(0, shape=(5, 200, 4))
    compressed = [
        CMTF(2, constraints=c, compress=True, max_iter=3).fit(data).report_.compressed
        for c in (None, {0: NONNEGATIVE}, {1: NONNEGATIVE}, NONNEGATIVE)
    ]
    assert compressed == [True, True, False, False]


def test_negative_data_is_fitted_as_well_as_non_negative_factors_can():
    data = CoupledData(-np.ones((3, 4, 5)), {0: np.ones((3, 2))})
    model = CMTF(2, constraints=NONNEGATIVE).fit(data)
    assert_nonnegative(model.factors_)
    assert model.report_.block_fits == pytest.approx({"tensor": 0.0, "matrix0": 1.0})
    free = CMTF(1, constraints={0: NONNEGATIVE, 2: NONNEGATIVE}).fit(data)
    assert free.report_.block_fits["tensor"] == pytest.approx(1.0)
    assert_nonnegative(free.factors_, [0, 2])


def test_what_only_the_matrix_holds_is_fitted_too():
    for seed in SEEDS:
        data, truth = parts(seed, rank=4)
        tensor = np.einsum("if,jf,kf->ijk", *(factor[:, :3] for factor in truth[:3]))
        data = CoupledData(tensor, data.matrices, weights="balanced")
        model = CMTF(4, constraints=NONNEGATIVE, max_iter=500, seed=seed).fit(data)
        assert min(model.report_.block_fits.values()) > 0.99


def test_a_tensor_on_disk_gives_the_same_factors(tmp_path):
    data, truth = parts(0)
    tensor = SparseTensor.from_dense(data.tensor)
    on_disk = CoupledData(shard_tensor(tensor, tmp_path), data.matrices)
    model = CMTF(3, constraints=NONNEGATIVE, max_iter=50)
    one, other = (model.fit(d).factors_ for d in (on_disk, CoupledData(tensor, data.matrices)))
    assert_nonnegative(one)
    assert factor_match_score(one.flat, truth) > 0.99
    assert factor_match_score(one.flat, other.flat) > 0.9999
    merged = SCOUP(3, sampling=1.3, finish="complete", constraints=NONNEGATIVE).fit(on_disk)
    assert_nonnegative(merged.factors_)
    assert factor_match_score(merged.factors_.flat, truth) > 0.99


# Samples and merges.


@pytest.mark.parametrize("rule", members("scoup.merges"))
def test_merged_factors_are_non_negative_and_those_planted(rule):
    for seed in SEEDS:
        data, truth = parts(seed, noise=0.05)
        for finish in members("scoup.finishes"):
            model = SCOUP(
                3, sampling=(1.5, 1.5, 1), merge=rule, finish=finish, constraints=NONNEGATIVE,
                seed=seed,
            ).fit(data)  # fmt: skip
            assert_nonnegative(model.factors_)
            rows = [mask.nonzero()[0] for mask in model.factors_.coverage]
            if finish != "none" and rule == "joint":
                flat = [f[r] for f, r in zip(model.factors_.flat, rows, strict=True)]
                kept = [f[r] for f, r in zip(truth, rows, strict=True)]
                assert factor_match_score(flat, kept) > 0.99


def test_merges_keep_the_signs_of_some_factors():
    """Where only some factors are non-negative, another one takes the signs."""
    data, _ = planted((12, 14, 10), 2, seed=4, noise=0.5)
    constraints = {2: NONNEGATIVE, "matrix0": NONNEGATIVE}
    for finish in members("scoup.finishes"):
        model = SCOUP(2, sampling=1.5, finish=finish, constraints=constraints).fit(data)
        assert_nonnegative(model.factors_, [2, 3])
        assert model.factors_.modes[1].min() < 0


@pytest.mark.parametrize("setting", [NONNEGATIVE, {0: NONNEGATIVE}, {"matrix0": NONNEGATIVE}])
def test_scales_are_the_best_that_keep_the_signs(setting):
    data, _ = planted((6, 7, 5), 2, seed=1, noise=1.0)
    constraints = Constraints.of(setting, data)
    wrong = constraints.absolute(starts(data, 2, 0))
    scaled = rescale(terms_of(data), wrong, 3, constraints)
    constraints.check("scaled", scaled)
    floor, rng = scaled_cost(terms_of(data), wrong, constraints), np.random.default_rng(0)
    assert cost(data, wrap(scaled, data)) == pytest.approx(floor)
    for _ in range(20):
        nudged = [factor * (1 + 0.1 * rng.standard_normal(2)) for factor in scaled]
        assert cost(data, wrap(nudged, data)) >= floor - 1e-9 * floor


@pytest.mark.parametrize("holes", [False, True])
def test_new_rows_are_projected_to_non_negative_ones(holes):
    data, _ = parts(0)
    model = CMTF(3, constraints=NONNEGATIVE).fit(data)
    rows = data.matrices[0][0] - 0.3
    rows = np.where(np.random.default_rng(0).random(rows.shape) < 0.2 * holes, np.nan, rows)
    side, latent = model.factors_.sides[0][0], model.transform(rows, rule="nonnegative")
    for row, got in zip(rows, latent, strict=True):
        known = ~np.isnan(row)
        np.testing.assert_allclose(got, nnls(side[known], row[known])[0], atol=1e-6)
    if not holes:
        from_sparse = model.transform(csr_array(rows), rule="nonnegative")
        np.testing.assert_allclose(from_sparse, latent, atol=1e-9)


# Refusals.


def test_what_cannot_be_had_is_refused_in_a_sentence():
    data, _ = parts(0)
    for solver in sorted(set(members("scoup.solvers")) - set(SOLVERS)):
        with pytest.raises(
            ScoupError, match=r"solver: expected one that keeps constraints \(als, cd\)"
        ):
            CMTF(2, solver=solver, constraints=NONNEGATIVE).fit(data)
    with pytest.raises(
        ScoupError, match="constraints: expected one of the modes and matrices 0, 1"
    ):
        CMTF(2, constraints={3: NONNEGATIVE}).fit(data)
    with pytest.raises(ScoupError, match=r"matrix1.*perhaps 'matrix0'"):
        CMTF(2, constraints={"matrix1": NONNEGATIVE}).fit(data)
    with pytest.raises(ScoupError, match="constraints: expected nonnegative or"):
        CMTF(2, constraints="positive").fit(data)
    free = CMTF(2, max_iter=2).fit(planted((14, 16, 12), 2, 0)[0])
    with pytest.raises(ScoupError, match="init: expected factors that are non-negative"):
        CMTF(2, constraints=NONNEGATIVE, init=free.factors_).fit(data)
    sampled = SCOUP(2, max_iter=2).fit(planted((14, 16, 12), 2, 0)[0])
    with pytest.raises(ScoupError, match=r"fits: expected .* fit with the same constraints"):
        merge(sampled.fits_, sampled.samples_, data, MergeSpec(constraints=NONNEGATIVE))


def test_settings_by_number_and_by_word_are_the_same():
    assert FitSpec(rank=1, constraints={0: NONNEGATIVE}) == FitSpec(
        rank=1, constraints={"0": NONNEGATIVE}
    )
    data, _ = parts(0)
    everything = dict.fromkeys(["0", "1", "2", "matrix0"], NONNEGATIVE)
    assert Constraints.of(everything, data) == Constraints.of(NONNEGATIVE, data)


def test_a_fit_continues_from_its_own_factors():
    data, _ = parts(1, noise=0.3)
    short = CMTF(3, constraints=NONNEGATIVE, max_iter=3, tol=0.0).fit(data)
    longer = CMTF(3, constraints=NONNEGATIVE, init=short.factors_).fit(data)
    assert longer.report_.cost <= short.report_.cost
    assert min(factor.min() for factor in unwrap(longer.factors_)) >= 0
