"""Kernels against plain numpy, and the same bytes from any number of threads."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh

from scoup import kernels
from scoup.factors import scale_columns
from scoup.kernels import fibres as fibres_module
from scoup.kernels import sparse
from scoup.kernels.aligned import Alignment, add_aligned
from scoup.kernels.lapack import lapack, leading_eigenvectors
from scoup.machine import serial_blas, threads
from scoup.normal import solve_normal
from scoup.seeds import generator

SETTINGS = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)

shapes = st.lists(st.integers(1, 7), min_size=2, max_size=5).map(tuple)
ranks = st.integers(1, 19)
seeds = st.integers(0, 2**31)


def problem(shape, rank, seed, density=0.3, dtype=np.float64):
    """A random sparse tensor as (dense, coords, values) and its factors."""
    rng = generator(seed, "kernels")
    dense = np.where(rng.random(shape) < density, rng.standard_normal(shape), 0).astype(dtype)
    coords = np.array(np.nonzero(dense), dtype=np.int32)
    factors = [rng.standard_normal((size, rank)).astype(dtype) for size in shape]
    return dense, coords, dense[tuple(coords)], factors


def large(shape, nnz, rank, dtype=np.float64):
    """A sparse tensor large enough to be cut into chunks, with a few heavy rows."""
    rng = generator(0, "large")
    coords = np.vstack([np.floor(size * rng.random(nnz) ** 3) for size in shape]).astype(np.int64)
    flat = np.unique(np.ravel_multi_index(tuple(coords), shape))
    coords = np.array(np.unravel_index(flat, shape), dtype=np.int32)
    factors = [rng.standard_normal((size, rank)).astype(dtype) for size in shape]
    return coords, rng.standard_normal(flat.size).astype(dtype), factors


def letters(order):
    return "abcdefgh"[:order]


def plain_mttkrp(dense, factors, mode):
    names = letters(dense.ndim)
    rest = [n for n in range(dense.ndim) if n != mode]
    terms = ",".join([names, *(names[n] + "z" for n in rest)])
    return np.einsum(f"{terms}->{names[mode]}z", dense, *(factors[n] for n in rest))


def plain_model(weights, factors):
    names = letters(len(factors))
    return np.einsum(
        ",".join(["z", *(name + "z" for name in names)]) + "->" + names, weights, *factors
    )


def with_threads(count, call):
    # As in a fit: BLAS itself does not promise the same bytes on any number of threads.
    with threads(count), serial_blas():
        return call()


def same_bytes(call):
    return with_threads(1, call).tobytes() == with_threads(2, call).tobytes()


@SETTINGS
@given(shapes, ranks, seeds, st.sampled_from([0.0, 0.05, 0.4, 1.0]), st.sampled_from([0, 3, 8192]))
def test_the_product_from_a_list_of_cells_is_the_sum_over_cells(
    shape, rank, seed, density, max_short_rows
):
    dense, coords, values, factors = problem(shape, rank, seed, density)
    with pytest.MonkeyPatch.context() as patch:
        # So that all modes are short, or all long, or some of each.
        patch.setattr(fibres_module, "MAX_SHORT_ROWS", max_short_rows)
        for mode in range(len(shape)):
            fibres = kernels.arrange(coords, values, shape)
            np.testing.assert_allclose(
                sparse.mttkrp_from_list(fibres, factors, mode),
                plain_mttkrp(dense, factors, mode),
                rtol=1e-10,
                atol=1e-10,
            )


def test_a_large_tensor_is_not_arranged_and_gives_the_same_bytes_on_any_number_of_threads(
    monkeypatch,
):
    shape = (9000, 300, 9000, 40)
    coords, values, factors = large(shape, 40_000, 5)
    arranged = [
        kernels.mttkrp(kernels.arrange(coords, values, shape), factors, mode) for mode in range(4)
    ]
    monkeypatch.setattr(sparse, "MIN_LISTED_CELLS", 1000)
    for mode in range(4):
        fibres = kernels.arrange(coords, values, shape)
        np.testing.assert_allclose(
            kernels.mttkrp(fibres, factors, mode), arranged[mode], rtol=1e-9, atol=1e-9
        )
        assert not fibres.orders
        assert same_bytes(lambda mode=mode, fibres=fibres: kernels.mttkrp(fibres, factors, mode))


@SETTINGS
@given(shapes, ranks, seeds, st.sampled_from([0.0, 0.05, 0.4, 1.0]))
def test_mttkrp_is_the_sum_over_cells(shape, rank, seed, density):
    dense, coords, values, factors = problem(shape, rank, seed, density)
    fibres = kernels.arrange(coords, values, shape)
    for mode in range(len(shape)):
        np.testing.assert_allclose(
            kernels.mttkrp(fibres, factors, mode),
            plain_mttkrp(dense, factors, mode),
            rtol=1e-10,
            atol=1e-10,
        )


@pytest.mark.parametrize("mode", [0, 1])
def test_a_matrix_is_multiplied_both_ways(mode):
    dense, coords, values, factors = problem((9, 13), 6, 1)
    product = (dense if mode == 0 else dense.T) @ factors[1 - mode]
    got = kernels.mttkrp(kernels.arrange(coords, values, dense.shape), factors, mode)
    np.testing.assert_allclose(got, product, rtol=1e-12, atol=1e-12)


@SETTINGS
@given(shapes, ranks, seeds)
def test_row_grams_are_sums_of_outer_products(shape, rank, seed):
    _, coords, values, factors = problem(shape, rank, seed)
    fibres = kernels.arrange(coords, values, shape)
    for mode in range(len(shape)):
        rows = [factors[n][coords[n]] for n in range(len(shape)) if n != mode]
        v = np.prod(rows, axis=0)
        grams = np.zeros((shape[mode], rank, rank))
        np.add.at(grams, coords[mode], v[:, :, None] * v[:, None, :])
        np.testing.assert_allclose(
            kernels.row_grams(fibres, factors, mode), grams, rtol=1e-9, atol=1e-9
        )


@SETTINGS
@given(shapes, ranks, seeds)
def test_model_at_cells_is_the_dense_model(shape, rank, seed):
    _, coords, _, factors = problem(shape, rank, seed)
    weights = generator(seed, "weights").standard_normal(rank)
    model = plain_model(weights, factors)
    np.testing.assert_allclose(
        kernels.model_at(coords, weights, factors), model[tuple(coords)], rtol=1e-9, atol=1e-9
    )


@SETTINGS
@given(shapes, seeds)
def test_densities_are_marginal_sums(shape, seed):
    dense, coords, values, _ = problem(shape, 1, seed)
    for got in (kernels.densities(dense), kernels.sparse_densities(coords, values, shape)):
        assert len(got) == len(shape)
        for mode, vector in enumerate(got):
            rest = tuple(n for n in range(len(shape)) if n != mode)
            np.testing.assert_allclose(vector, np.abs(dense).sum(axis=rest), rtol=1e-12, atol=1e-12)


@SETTINGS
@given(shapes, seeds, st.sampled_from([np.float64, np.float32, bool]), st.booleans())
def test_a_part_is_what_numpy_takes(shape, seed, dtype, transposed):
    rng = generator(seed, "extract")
    array = np.round(rng.standard_normal(shape)).astype(dtype)
    array = array.T if transposed else array
    indices = [rng.permutation(size)[: rng.integers(size + 1)] for size in array.shape]
    part = kernels.extract(array, indices)
    assert part.dtype == array.dtype
    assert part.flags.c_contiguous
    np.testing.assert_array_equal(part, array[np.ix_(*indices)])


def test_selected_cells_are_those_of_numpy_on_any_number_of_threads():
    shape = (300, 200, 40)
    coords, values, _ = large(shape, 400_000, 1)
    rng = generator(0, "select")
    indices = [rng.permutation(size)[: size // 2] for size in shape]

    def select():
        return kernels.select_cells(coords, values, shape, indices)

    dense = np.zeros(shape)
    dense[tuple(coords)] = values
    part = np.zeros([len(index) for index in indices])
    part[tuple(select()[0])] = select()[1]
    np.testing.assert_array_equal(part, dense[np.ix_(*indices)])
    for number in (0, 1):
        assert same_bytes(lambda number=number: select()[number])


def test_a_product_in_place_has_the_same_bytes():
    rng = generator(0, "in place")
    rows, square = rng.standard_normal((9_000, 9)), rng.standard_normal((9, 9))
    expected = kernels.product(rows, square)
    assert kernels.product(rows, square, in_place=True) is rows
    assert rows.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("count", [0, 1, 700, 150_000])
def test_aligned_rows_are_added_as_numpy_adds_them(count, dtype):
    rng, rank = generator(count, "aligned"), 4
    factor = rng.standard_normal((count, rank)).astype(dtype)
    norms, order = np.array([0.0, 0.3, 1.0, 7.0]), rng.permutation(rank)
    signs, weights = rng.choice([-1.0, 1.0], rank), rng.random(rank)
    alignment = Alignment(order, norms, signs, weights)
    rows = np.sort(rng.permutation(count + 9)[:count])
    before = rng.standard_normal((2, count + 9, rank))
    expected = before.copy()
    expected[0, rows] += weights * signs * scale_columns(factor, norms)[:, order]
    expected[1, rows] += weights

    def add():
        sums = before.copy()
        add_aligned(factor, alignment, rows, tuple(sums))
        return sums

    np.testing.assert_array_equal(add(), expected)
    assert same_bytes(add)


@pytest.mark.parametrize("count", [1, 3])
def test_leading_eigenvectors_are_those_of_scipy(count):
    rows = generator(0, "eigen").standard_normal((40, 70))
    expected = eigh(rows @ rows.T, subset_by_index=[40 - count, 39])[1]
    vectors = leading_eigenvectors(lapack(), rows @ rows.T, count)
    np.testing.assert_allclose(np.abs(vectors), np.abs(expected), atol=1e-12)


@SETTINGS
@given(st.integers(1, 9), st.integers(1, 40), st.integers(1, 9), ranks, seeds)
def test_dense_passes_are_einsums(pre, n, post, rank, seed):
    rng = generator(seed, "dense")
    tensor, factor = rng.standard_normal((pre, n, post)), rng.standard_normal((n, rank))
    kernel = rng.standard_normal((pre, post, rank))
    near = {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(
        kernels.contract(tensor, factor), np.einsum("pjq,jf->pqf", tensor, factor), **near
    )
    np.testing.assert_allclose(
        kernels.spread(tensor, kernel), np.einsum("pjq,pqf->jf", tensor, kernel), **near
    )
    gram = np.einsum("pjq,rjs->pqrs", tensor, tensor).reshape(pre * post, -1)
    np.testing.assert_allclose(kernels.long_gram(tensor), gram, **near)


@pytest.mark.parametrize("shape", [(6, 3000, 7), (1, 2500, 3), (9, 2500, 1), (70, 80, 90)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dense_passes_over_many_blocks(shape, dtype):
    rng = generator(3, "blocks")
    tensor, factor = (
        rng.standard_normal(shape).astype(dtype),
        rng.standard_normal((shape[1], 5)).astype(dtype),
    )
    kernel = rng.standard_normal((shape[0], shape[2], 5)).astype(dtype)
    near = {"rtol": 1e-9, "atol": 1e-9} if dtype == np.float64 else {"rtol": 2e-3, "atol": 2e-3}
    wide = tensor.astype(np.float64)
    contracted, spread = kernels.contract(tensor, factor), kernels.spread(tensor, kernel)
    assert contracted.dtype == spread.dtype == dtype
    np.testing.assert_allclose(contracted, np.tensordot(wide, factor, (1, 0)), **near)
    np.testing.assert_allclose(spread, np.tensordot(wide, kernel, ((0, 2), (0, 1))), **near)
    flat = wide[:9].transpose(0, 2, 1).reshape(-1, shape[1])  # of all, 6300 rows and columns
    np.testing.assert_allclose(kernels.long_gram(tensor[:9]), flat @ flat.T, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("shape", [(6, 3000, 7), (1, 70_000, 3), (60, 1501, 9), (40, 30, 100)])
@pytest.mark.parametrize("rank", [1, 5, 19])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_solving_while_reading_gives_the_bytes_of_two_passes(shape, rank, dtype):
    rng = generator(rank, "fused")
    tensor = rng.standard_normal(shape).astype(dtype)
    kernel = rng.standard_normal((shape[0], shape[2], rank)).astype(dtype)
    inverse = rng.standard_normal((rank, rank)).astype(dtype)
    assert kernels.fuses(shape)
    grams = np.einsum("fg,hg->fh", inverse, inverse) + np.eye(rank) * rng.random((shape[1], 1, 1))
    grams[7] = 0
    sums = dtype(0.3) * kernels.spread(tensor, kernel)
    for rest in (np.empty(0), rng.standard_normal((shape[1], rank)).astype(dtype)):
        sides = sums + rest if rest.size else sums
        inverted = kernels.spread(sides[None], inverse[None]), np.zeros(shape[1], bool)
        solutions = {"inverse": inverted, "grams": kernels.solve_rows(grams, sides)}
        for count, (system, (solved, singular)) in product((1, 2), solutions.items()):
            with threads(count):
                rows, contracted, failed = kernels.solve_and_contract(
                    tensor, kernel, inverse if system == "inverse" else grams, 0.3, rest
                )
            assert rows.tobytes() == solved.tobytes()
            assert contracted.tobytes() == kernels.contract(tensor, solved).tobytes()
            assert failed.tolist() == singular.tolist()
            assert singular[7] == (system == "grams")


@pytest.mark.parametrize("rows", [1, 9, 40_000])
@pytest.mark.parametrize("rank", [2, 25, 40])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_of_tall_factors(rows, rank, dtype):
    rng = generator(rows, "tall")
    left, right = (rng.standard_normal((rows, rank)).astype(dtype) for _ in range(2))
    near = {"rtol": 1e-9, "atol": 1e-9} if dtype == np.float64 else {"rtol": 1e-3, "atol": 0.1}
    wide = left.astype(np.float64)
    np.testing.assert_allclose(kernels.gram(left), wide.T @ wide, **near)
    np.testing.assert_allclose(
        kernels.product(left, right[:rank].T @ right[:rank]),
        wide @ (right[:rank].T @ right[:rank]),
        **near,
    )
    np.testing.assert_allclose(
        kernels.inner(left, right), np.sum(wide * right), rtol=1e-9, atol=1e-6
    )
    for call in (
        lambda: kernels.gram(left),
        lambda: kernels.product(left, np.eye(rank, dtype=dtype)),
    ):
        assert same_bytes(call)
    assert same_bytes(lambda: np.array(kernels.inner(left, right)))


@SETTINGS
@given(st.integers(0, 30), ranks, seeds)
def test_solve_rows_gives_the_solution_of_least_norm(count, rank, seed):
    rng = generator(seed, "systems")
    heights = rng.integers(0, 2 * rank + 2, count)
    grams, rhs = np.zeros((count, rank, rank)), np.zeros((count, rank))
    for i, height in enumerate(heights):
        v = rng.standard_normal((height, rank))
        grams[i], rhs[i] = v.T @ v, v.T @ rng.standard_normal(height)
    got = solve_normal(grams, rhs)
    assert not got[heights == 0].any()
    for gram, right, row in zip(grams, rhs, got, strict=True):
        np.testing.assert_allclose(gram @ row, right, atol=1e-6 * max(1, np.abs(right).max()))
        # Of least norm: no part of it lies in the null space of the Gram matrix.
        determined = np.linalg.matrix_rank(
            gram, tol=1e-10 * max(np.trace(gram), 1e-300), hermitian=True
        )
        null_space = np.linalg.eigh(gram)[1][:, : rank - determined]
        assert np.abs(null_space.T @ row).max(initial=0) <= 1e-6 * max(1, np.abs(row).max())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_zeros_of_solved_rows_have_no_sign(dtype):
    rhs = np.eye(9, 3, dtype=dtype)
    rows, _ = kernels.solve_rows(np.tile(np.eye(3, dtype=dtype), (9, 1, 1)), rhs)
    assert rows.tobytes() == rhs.tobytes()


@pytest.mark.parametrize("shape", [(300, 200), (300, 200, 12), (40, 300, 200), (60, 50, 9, 30)])
def test_float32_is_near_float64(shape):
    coords, values, factors = large(shape, 30_000, 7)
    single = [factor.astype(np.float32) for factor in factors]
    fibres = kernels.arrange(coords, values, shape)
    fibres32 = kernels.arrange(coords, values.astype(np.float32), shape)
    for mode in range(len(shape)):
        for kernel in (kernels.mttkrp, kernels.row_grams):
            wide, narrow = kernel(fibres, factors, mode), kernel(fibres32, single, mode)
            assert narrow.dtype == np.float32
            np.testing.assert_allclose(narrow, wide, atol=1e-4 * np.abs(wide).max())
    wide, narrow = (kernels.model_at(coords, f[0][0], f) for f in (factors, single))
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, wide, atol=1e-5 * np.abs(wide).max())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "shape",
    [(3000, 2000), (3000, 2000, 40), (30, 3000, 2000), (9000, 9100, 9200), (60, 50, 9, 300)],
)
def test_bytes_do_not_depend_on_threads(shape, dtype):
    coords, values, factors = large(shape, 60_000, 9, dtype)
    fibres = kernels.arrange(coords, values, shape)
    for mode in range(len(shape)):
        assert same_bytes(lambda mode=mode: kernels.mttkrp(fibres, factors, mode))
        assert same_bytes(lambda mode=mode: kernels.row_grams(fibres, factors, mode))
    assert same_bytes(lambda: kernels.model_at(coords, factors[0][0], factors))
    grams = kernels.row_grams(fibres, factors, 0)
    assert same_bytes(lambda: kernels.solve_rows(grams, factors[0])[0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dense_bytes_do_not_depend_on_threads(dtype):
    rng = generator(5, "bytes")
    tensor = rng.standard_normal((20, 2500, 9)).astype(dtype)
    factor, kernel = (
        rng.standard_normal((2500, 5)).astype(dtype),
        rng.standard_normal((20, 9, 5)).astype(dtype),
    )
    assert same_bytes(lambda: np.concatenate(kernels.densities(tensor)))
    assert same_bytes(lambda: kernels.contract(tensor, factor))
    assert same_bytes(lambda: kernels.spread(tensor, kernel))
    assert same_bytes(lambda: kernels.long_gram(tensor))


def test_kernels_may_be_called_from_many_threads():
    shape = (3000, 2000, 40)
    coords, values, factors = large(shape, 60_000, 9)
    alone = kernels.mttkrp(kernels.arrange(coords, values, shape), factors, 0).tobytes()
    fibres = kernels.arrange(coords, values, shape)
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda _: kernels.mttkrp(fibres, factors, 0).tobytes(), range(24)))
    assert set(results) == {alone}


def test_empty_rows_are_zero():
    coords, values = np.array([[1], [0], [2]], np.int32), np.array([2.0])
    fibres = kernels.arrange(coords, values, (3, 2, 4))
    factors = [np.ones((size, 3)) for size in (3, 2, 4)]
    for mode, row in enumerate((1, 0, 2)):
        product = kernels.mttkrp(fibres, factors, mode)
        assert np.flatnonzero(product.any(axis=1)).tolist() == [row]
        assert product[row].tolist() == [2.0] * 3


def test_arrangement_of_sorted_cells_copies_nothing_for_the_first_mode():
    coords, values, _ = large((300, 200, 12), 30_000, 1)
    order = kernels.arrange(coords, values, (300, 200, 12)).order(0)
    assert np.shares_memory(order.values, values)
    assert np.shares_memory(order.leaves, coords)
    assert prod(order.middles.shape) == order.starts.size - 1


ONCE = """
import numpy as np
from scoup import kernels
tensor, factor = np.ones((3, 8, 2)), np.ones((8, 2))
kernels.contract(tensor, factor), kernels.spread(tensor, np.ones((3, 2, 2)))
coords = np.array([[0, 1], [1, 2], [0, 1]])
factors = [np.ones((3, 2)), factor, np.ones((2, 2))]
kernels.mttkrp(kernels.arrange(coords, np.ones(2), (3, 8, 2)), factors, 1)
"""


def test_kernels_are_compiled_once_and_then_found_by_every_process(tmp_path):
    """A run starts hundreds of jobs, and compiling would take longer than what each computes."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    compiled = []
    for _ in range(2):
        subprocess.run([sys.executable, "-c", ONCE], env=environment, check=True)
        compiled.append({path.name for path in tmp_path.rglob("*.nbc")})
    assert compiled[0] == compiled[1] != set()
