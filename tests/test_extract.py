"""Samples that jobs extract part by part are those of one pass, whatever the number of parts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoup import CoupledData, machine, results
from scoup.coupled import Dataset
from scoup.errors import DamagedFileError, ScoupError
from scoup.extract import extract, gather
from scoup.sample import draw
from scoup.shard import shard_tensor
from scoup.sharded import ShardedTensor
from scoup.specs import SampleSpec
from scoup.tensor import SparseTensor
from tests.test_sharded import tensors


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("extract")


def sampled(tensor, folder, cells, repetitions=3):
    """Return coupled data on disk and the samples of some repetitions."""
    matrix = np.arange(1.0, 2 * tensor.shape[0] + 1).reshape(-1, 2).astype(tensor.dtype)
    data = CoupledData(shard_tensor(tensor, folder / "shards", cells), {0: matrix})
    return data, draw(data, SampleSpec(rank=1, sampling=2, repetitions=repetitions), seed=0)


@settings(max_examples=15, deadline=None)
@given(tensor=tensors(), cells=st.integers(1, 50), parts=st.integers(1, 7))
def test_the_parts_of_a_sample_together_are_the_sample(folder, tensor, cells, parts):
    data, samples = sampled(tensor, folder, cells)
    paths = [folder / f"{number}-of-{parts}.npz" for number in range(1, parts + 1)]
    for number, path in enumerate(paths, start=1):
        results.write_extracted(path, extract(data, samples, number, parts))
    for sample in samples:
        pieces = [results.read_extracted(path, sample.repetition) for path in paths]
        gathered, expected = gather(data, sample, pieces), data.select(sample.indices)
        assert gathered.block_weights == expected.block_weights
        assert (gathered.sizes, gathered.dtype) == (expected.sizes, expected.dtype)
        ours, theirs = gathered.blocks[0].values, expected.blocks[0].values
        assert ours.coords.tobytes() == theirs.coords.tobytes()
        assert ours.values.tobytes() == theirs.values.tobytes()
        assert np.array_equal(gathered.blocks[1].values, expected.blocks[1].values)


def test_all_parts_together_read_each_shard_once(folder, monkeypatch):
    data, samples = sampled(SparseTensor.from_dense(np.ones((9, 4, 3))), folder, 12)
    read, seen = ShardedTensor.read, []
    monkeypatch.setattr(
        ShardedTensor, "read", lambda self, shard: seen.append(shard.file) or read(self, shard)
    )
    for number in range(1, 5):
        extract(data, samples, number, 4)
    # Several are read at a time, in any order.
    assert sorted(seen) == [shard.file for shard in data.blocks[0].values.manifest.shards]


def test_jobs_on_machines_of_any_size_use_the_same_memory_for_shards(folder, monkeypatch):
    data, _ = sampled(SparseTensor.from_dense(np.ones((9, 4, 3))), folder, 12)
    results.write_dataset(folder / "data.npz", Dataset(data, ()))
    monkeypatch.setattr("scoup.sharded.available_bytes", lambda: 1000)
    tensor = results.read_dataset(folder / "data.npz").data.blocks[0].values
    assert tensor.memory_limit == machine.SHARDS_MEMORY_BYTES


def test_a_damaged_shard_is_named_and_data_in_memory_refused(folder):
    data, samples = sampled(SparseTensor.from_dense(np.ones((9, 4, 3))), folder, 12)
    last = folder / "shards" / data.blocks[0].values.manifest.shards[-1].file
    last.write_bytes(last.read_bytes()[:-1])
    extract(data, samples, 1, 2)
    with pytest.raises(DamagedFileError, match=last.name):
        extract(data, samples, 2, 2)
    with pytest.raises(ScoupError, match="expected a tensor on disk"):
        extract(CoupledData(np.ones((2, 2, 2))), samples, 1, 1)
