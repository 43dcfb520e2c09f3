"""Shards on disk give what the same tensor gives in memory, however they are cut and read."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoup import CMTF, SCOUP, CoupledData, kernels, machine
from scoup import sharded as module
from scoup.coupled import Dataset
from scoup.errors import DamagedFileError, ScoupError
from scoup.inspect import inspect
from scoup.listing import members
from scoup.manifest import MANIFEST_FILE
from scoup.merges._shared import sampled_rows
from scoup.metrics import core_consistency
from scoup.records import Labels
from scoup.restrict import restrict_tensor
from scoup.sample import densities, draw
from scoup.shard import shard_tensor, write_shards
from scoup.sharded import ShardedTensor
from scoup.specs import SampleSpec
from scoup.tensor import SparseTensor
from tests.planted import planted

SHAPES = st.lists(st.integers(1, 9), min_size=3, max_size=5)


@st.composite
def tensors(draw, counts=False):
    """A sparse tensor of 3 to 5 modes with at least one cell."""
    shape = tuple(draw(SHAPES))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(1, 200))
    coords = np.array([rng.integers(0, n, size) for n in shape])
    values = rng.integers(1, 9, size) if counts else rng.standard_normal(size)
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    return SparseTensor(coords, values.astype(dtype), shape)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("shards")


@settings(max_examples=8, deadline=None)
@given(tensor=tensors(counts=True), cells=st.integers(1, 50), threads=st.sampled_from([1, 2]))
def test_densities_and_samples_equal_those_in_memory(folder, tensor, cells, threads):
    sharded = shard_tensor(tensor, folder, cells)
    for ours, theirs in zip(
        densities(CoupledData(sharded)), densities(CoupledData(tensor)), strict=True
    ):
        assert ours.tobytes() == theirs.tobytes()
    rng = np.random.default_rng(cells)
    samples = [
        [rng.permutation(size)[: rng.integers(1, size + 1)] for size in tensor.shape]
        for _ in range(70)  # more than the 64 of one pass
    ]
    with machine.threads(threads):
        parts = sharded.select_all(samples)
    for part, indices in zip(parts, samples, strict=True):
        expected = tensor.select(indices)
        assert (part.shape, part.dtype) == (expected.shape, expected.dtype)
        assert part.coords.tobytes() == expected.coords.tobytes()
        assert part.values.tobytes() == expected.values.tobytes()


@settings(max_examples=8, deadline=None)
@given(tensor=tensors(), cells=st.integers(1, 50), rank=st.integers(1, 10))
def test_products_equal_those_in_memory(folder, tensor, cells, rank):
    sharded = shard_tensor(tensor, folder, cells)
    assert np.isclose(sharded.norm2, CoupledData(tensor).blocks[0].norm2, rtol=1e-12)
    rng = np.random.default_rng(rank)
    factors = [rng.standard_normal((size, rank)) for size in tensor.shape]
    cells_in_memory = kernels.arrange(tensor.coords, tensor.values.astype(float), tensor.shape)
    for mode in range(tensor.ndim):
        expected = kernels.mttkrp(cells_in_memory, factors, mode)
        np.testing.assert_allclose(sharded.mttkrp(factors, mode), expected, rtol=1e-10, atol=1e-10)


@settings(max_examples=8, deadline=None)
@given(
    tensor=tensors(),
    cells=st.integers(1, 50),
    threads=st.sampled_from([1, 2]),
    later=st.integers(1, 2),
    block=st.integers(1, 9),
)
def test_rows_are_solved_where_they_lie(folder, tensor, cells, threads, later, block):
    sharded, rng = shard_tensor(tensor, folder, cells), np.random.default_rng(cells)
    leading = sharded.leading
    later = (leading + later) % tensor.ndim
    factors = [rng.standard_normal((size, 3)) for size in tensor.shape]
    inverse, rest = rng.standard_normal((3, 3)), rng.standard_normal((tensor.shape[leading], 3))
    with machine.threads(threads), patch.object(module, "BLOCK_ROWS", block):
        solved, product = sharded.solve_rows(
            factors, lambda rows, part: part @ inverse + rest[rows], later
        )
    in_memory = kernels.arrange(tensor.coords, tensor.values.astype(float), tensor.shape)
    factors[leading] = kernels.mttkrp(in_memory, factors, leading) @ inverse + rest
    np.testing.assert_allclose(solved, factors[leading], rtol=1e-10, atol=1e-10)
    expected = kernels.mttkrp(in_memory, factors, later)
    np.testing.assert_allclose(product, expected, rtol=1e-10, atol=1e-10)


@settings(max_examples=10, deadline=None)
@given(tensor=tensors(), cells=st.integers(1, 50), batch=st.integers(1, 30))
def test_shards_do_not_depend_on_the_batches_they_come_in(folder, tensor, cells, batch):
    whole = shard_tensor(tensor, folder, cells).manifest
    order = np.argsort(tensor.coords[whole.leading], kind="stable")
    coords, values = tensor.coords[:, order], tensor.values[order]
    starts = range(0, values.size, batch)
    batches = [(coords[:, s : s + batch], values[s : s + batch]) for s in starts]
    assert write_shards(batches, tensor.shape, folder, cells).manifest == whole


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    """The same sparse data with a matrix, on disk and in memory."""
    data, _ = planted((24, 30, 12), 2, seed=0, noise=0.01)
    tensor = SparseTensor.from_dense(np.where(np.abs(data.tensor) > 0.5, data.tensor, 0))
    sharded = shard_tensor(tensor, tmp_path_factory.mktemp("sides"), 1500)
    assert len(sharded.manifest.shards) > 2
    return CoupledData(sharded, data.matrices), CoupledData(tensor, data.matrices)


def assert_same_factors(ours, theirs):
    for one, other in zip(ours.flat, theirs.flat, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10 * np.abs(other).max())


@pytest.mark.parametrize(
    ("finish", "merge"),
    [*((finish, "joint") for finish in members("scoup.finishes")), ("none", "paper"),
     ("refit", "authors")],
)  # fmt: skip
def test_scoup_finds_the_same_model_on_disk(sides, finish, merge):
    plan = {"sampling": 2, "repetitions": 3, "init": "random", "max_iter": 5}
    on_disk, in_memory = (SCOUP(2, finish=finish, merge=merge, **plan).fit(side) for side in sides)
    assert_same_factors(on_disk.factors_, in_memory.factors_)
    assert np.isclose(on_disk.report_.cost, in_memory.report_.cost, rtol=1e-10)


@settings(max_examples=6, deadline=None)
@given(
    shape=st.sampled_from([(14, 9, 7), (6, 11, 5, 4), (5, 4, 9, 3, 4)]),
    cells=st.integers(20, 400),
    threads=st.sampled_from([1, 2]),
    memory=st.sampled_from([None, 60_000]),
    merge=st.sampled_from(["joint", "paper"]),
)
def test_models_of_three_to_five_modes_are_the_same_however_shards_are_cut_and_read(
    folder, shape, cells, threads, memory, merge
):
    data, _ = planted(shape, 2, seed=len(shape), noise=0.01)
    tensor = SparseTensor.from_dense(np.where(np.abs(data.tensor) > 0.3, data.tensor, 0))
    shard_tensor(tensor, folder, cells)
    on_disk = CoupledData(ShardedTensor.open(folder, memory), data.matrices)
    in_memory = CoupledData(tensor, data.matrices)
    plan = {"sampling": 1.5, "repetitions": 2, "finish": "complete", "merge": merge}
    rows = np.ones((2, in_memory.sizes[-1]))
    for model in (CMTF(2, init="random", max_iter=4), SCOUP(2, init="random", **plan)):
        theirs = model.fit(in_memory)
        expected = theirs.factors_, theirs.score(in_memory), theirs.predict(rows)
        with machine.threads(threads):
            ours = model.fit(on_disk)
            assert_same_factors(ours.factors_, expected[0])
            assert np.isclose(ours.score(on_disk), expected[1], rtol=1e-10)
            assert np.allclose(ours.predict(rows), expected[2], rtol=1e-8)


def test_a_budget_of_cells_gives_the_same_samples_on_disk(sides):
    spec = SampleSpec(rank=2, sampling=(1.5, 1.5, 1), cells=500, repetitions=2)
    drawn = [draw(side, spec, seed=0) for side in sides]
    counts = [sides[1].tensor.select(sample.indices[:3]).nnz for sample in drawn[1]]
    assert counts[0] <= 500 < sides[1].tensor.nnz / 1.5**2
    for ours, theirs in zip(*drawn, strict=True):
        assert [i.tobytes() for i in ours.indices] == [i.tobytes() for i in theirs.indices]
    with pytest.raises(ScoupError, match=r"cells: expected .* or more with these sampling factors"):
        draw(sides[0], spec.model_copy(update={"cells": 1}), seed=0)


def test_als_finds_the_same_model_on_disk(sides):
    models = [CMTF(2, init="random", max_iter=8, tol=0).fit(side) for side in sides]
    assert_same_factors(*(model.factors_ for model in models))
    scores = [model.score(side) for model, side in zip(models, sides, strict=True)]
    assert np.isclose(*scores, rtol=1e-10)
    cores = [core_consistency(side, models[0].factors_) for side in sides]
    assert np.isclose(*cores, rtol=1e-8)
    rows = np.ones((1, sides[0].sizes[-1]))
    assert np.allclose(*(model.predict(rows) for model in models), rtol=1e-8)


def test_matrices_may_be_on_disk_too(sides, tmp_path):
    tensor, matrix = (sides[1].tensor, sides[1].matrices[0][0])
    likes = SparseTensor.from_dense(np.where(np.abs(matrix) > 0.3, matrix, 0))
    on_disk = CoupledData(sides[0].tensor, {0: shard_tensor(likes, tmp_path, 40)})
    in_memory = CoupledData(tensor, {0: likes})
    plan = {"init": "random", "max_iter": 4}
    for model in (CMTF(2, tol=0, **plan), SCOUP(2, finish="complete", **plan)):
        ours = model.fit(on_disk).factors_
        assert_same_factors(ours, model.fit(in_memory).factors_)


def test_als_takes_two_passes_per_sweep(sides):
    tensor = sides[0].tensor
    before = tensor.passes
    CMTF(2, init="random", max_iter=4, tol=0).fit(sides[0])
    assert tensor.passes - before == 2 * 4 + 1  # the last one for the final cost


@pytest.mark.parametrize("memory_limit", [None, 120_000])
def test_scoup_takes_a_few_passes_whether_covered_rows_fit_in_memory(sides, memory_limit):
    data, in_memory = sides
    tensor = ShardedTensor.open(data.tensor.folder, memory_limit)
    # The leading mode is covered least, hence completed first.
    plan = {"sampling": (1.2, 3, 1.2), "init": "random", "max_iter": 3, "finish": "complete"}
    model = SCOUP(2, **plan).fit(CoupledData(tensor, data.matrices))
    passes = tensor.passes
    covered = restrict_tensor(tensor, sampled_rows(model.samples_)[:3])
    assert isinstance(covered, SparseTensor if memory_limit is None else ShardedTensor)
    # Extraction of the samples and of the covered rows, and a full sweep of two; on disk also the
    # scale and three sweeps over the covered rows.
    repeats = 0 if memory_limit is None else 7
    assert np.isclose(passes, 4 + repeats * covered.nnz / tensor.nnz)
    assert_same_factors(model.factors_, SCOUP(2, **plan).fit(in_memory).factors_)


def test_a_restricted_tensor_takes_its_folder_with_it(sides):
    whole = ShardedTensor.open(sides[0].tensor.folder, memory_limit=120_000)
    indices = [np.arange(size - size // 8) for size in whole.shape]
    part = restrict_tensor(whole, indices)
    cells = part.select([np.arange(size) for size in part.shape])
    assert cells.values.tobytes() == sides[1].tensor.select(indices).values.tobytes()
    folder = part.folder
    assert folder.exists()
    del part
    assert not folder.exists()


def test_bytes_depend_neither_on_threads_nor_on_the_memory_limit(tmp_path):
    rng = np.random.default_rng(0)
    tensor = SparseTensor.from_dense(rng.poisson(0.3, (60, 20, 10)).astype(float))
    shard_tensor(tensor, tmp_path, 100)
    factors = [rng.standard_normal((size, 3)) for size in tensor.shape]
    products = []
    for threads, limit in ((1, None), (2, None), (2, 12_000)):
        with machine.threads(threads):
            sharded = ShardedTensor.open(tmp_path, memory_limit=limit)
            pair = sharded.solve_rows(factors, lambda rows, part: part, 1)
            products.append([sharded.mttkrp(factors, mode).tobytes() for mode in range(3)])
            products[-1] += [array.tobytes() for array in pair]
    assert products[0] == products[1] == products[2]


def test_inspection_says_the_same_of_data_on_disk(sides):
    facts = []
    for side in sides:
        labels = tuple(Labels(f"m{n}", np.arange(size)) for n, size in enumerate(side.sizes))
        facts.append(inspect(Dataset(side, labels, facts={"left_out": [0]})))
    heaviest = [[mode.pop("heaviest")[0]["index"] for mode in f["tensor"]["modes"]] for f in facts]
    assert heaviest[0] == heaviest[1]
    assert facts[0]["tensor"] == facts[1]["tensor"]
    assert facts[0]["advice"]["sampling"] == facts[1]["advice"]["sampling"]
    assert "16 times" in facts[0]["advice"]["because"][2]


def test_a_damaged_shard_is_named(tmp_path):
    tensor = SparseTensor.from_dense(np.ones((6, 5, 4)))
    sharded = shard_tensor(tensor, tmp_path, 30)
    file = tmp_path / sharded.manifest.shards[1].file
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    for broken in (file, file.unlink):
        if callable(broken):
            broken()
        with pytest.raises(DamagedFileError, match=r"cells-00001\.parquet"):
            ShardedTensor.open(tmp_path).mttkrp([np.ones((n, 1)) for n in tensor.shape], 0)


def test_what_cannot_be_is_refused_in_a_sentence(tmp_path):
    tensor = SparseTensor.from_dense(np.ones((6, 5, 4)))
    with pytest.raises(ScoupError, match="expected a folder of shards, got no manifest"):
        ShardedTensor.open(tmp_path)
    sharded = shard_tensor(tensor, tmp_path, 30)
    with pytest.raises(ScoupError, match=r"memory_limit: expected .* write smaller shards"):
        ShardedTensor.open(tmp_path, memory_limit=100)
    with pytest.raises(ScoupError, match="tensor mask: expected none for a tensor on disk"):
        CoupledData(sharded, tensor_mask=np.ones((6, 5, 4)))
    with pytest.raises(ScoupError, match="tensor: expected values in memory"):
        CMTF(1, solver="reference").fit(CoupledData(sharded))
    (tmp_path / MANIFEST_FILE).write_text("{}")
    with pytest.raises(ScoupError, match="manifest"):
        ShardedTensor.open(tmp_path)
