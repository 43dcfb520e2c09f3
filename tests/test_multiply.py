"""The jobs of a round read each shard once, and the rows of their own shards only."""

import numpy as np
import pytest

from scoup import CoupledData, rounds
from scoup.errors import DamagedFileError
from scoup.multiply import multiply
from scoup.records import Request, Round
from scoup.shard import shard_tensor
from scoup.sharded import ShardedTensor
from scoup.specs import MergeSpec
from scoup.tensor import SparseTensor

RANK, PARTS = 2, 3


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    tensor = SparseTensor.from_dense(rng.standard_normal((9, 4, 3)))
    return CoupledData(shard_tensor(tensor, tmp_path, 12))


@pytest.fixture(params=[Request(1), Request(1, np.eye(RANK), np.ones((9, RANK)), 2.0)])
def state(request):
    rng = np.random.default_rng(1)
    flat = [rng.standard_normal((size, RANK)) for size in (9, 4, 3)]
    return Round(flat, [1, 2], {}, {}, request.param)


def test_all_parts_together_read_each_shard_once(data, state, monkeypatch):
    tensor, read, seen = data.blocks[0].values, ShardedTensor.read, []
    monkeypatch.setattr(
        ShardedTensor, "read", lambda self, shard: seen.append(shard.file) or read(self, shard)
    )
    for number in range(1, PARTS + 1):
        multiply(tensor.part(number, PARTS), state, data, MergeSpec())
    # Two are read at a time, in any order.
    assert sorted(seen) == [shard.file for shard in tensor.manifest.shards]


def test_the_rows_of_other_parts_are_neither_read_nor_needed(data, state, tmp_path):
    tensor = data.blocks[0].values
    path = tmp_path / "round.npz"
    rounds.write_round(path, state, tensor.manifest)
    for number in range(1, PARTS + 1):
        part = tensor.part(number, PARTS)
        own = rounds.read_round(path, tensor.manifest, part.groups)
        spans = [tensor.manifest.group_rows()[group] for group in part.groups]
        inside = np.zeros(9, bool)
        inside[spans[0].start : spans[-1].stop] = True
        assert np.array_equal(own.flat[0][inside], state.flat[0][inside])
        assert not own.flat[0][~inside].any()
        ours, theirs = (multiply(part, some, data, MergeSpec()) for some in (own, state))
        for one, other in zip(ours.rows + ours.sums, theirs.rows + theirs.sums, strict=True):
            assert one.tobytes() == other.tobytes()


def test_a_part_without_shards_answers_nothing(data, state, tmp_path):
    tensor = data.blocks[0].values
    rounds.write_round(tmp_path / "round.npz", state, tensor.manifest)
    part = tensor.part(1, 1000)
    own = rounds.read_round(tmp_path / "round.npz", tensor.manifest, part.groups)
    products = multiply(part, own, data, MergeSpec())
    assert (products.rows, products.sums) == ([], [])


def test_a_damaged_shard_is_named(data, state):
    tensor = data.blocks[0].values
    last = tensor.folder / tensor.manifest.shards[-1].file
    last.write_bytes(last.read_bytes()[:-1])
    multiply(tensor.part(1, 2), state, data, MergeSpec())
    with pytest.raises(DamagedFileError, match=last.name):
        multiply(tensor.part(2, 2), state, data, MergeSpec())
