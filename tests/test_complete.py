"""A completion that jobs share gives the bytes of one process, whatever the number of parts."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoup import CoupledData, manifest, results, rounds
from scoup.complete import begin, end, resume
from scoup.cover import cover, provide
from scoup.fit import fit_repetition
from scoup.merge import merge
from scoup.multiply import multiply
from scoup.sample import draw
from scoup.shard import shard_tensor
from scoup.sharded import ShardedTensor
from scoup.specs import PlanSpec
from scoup.tensor import SparseTensor
from tests.planted import planted
from tests.test_sharded import tensors


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("complete")


def shared(data, samples, fits, plan, parts, folder):
    """Merge and complete as the jobs of a workflow do, through files; the data is opened anew."""
    tensor = data.blocks[0].values
    numbers = range(1, parts + 1)
    covered = [folder / f"cover-{number}-of-{parts}.npz" for number in numbers]
    for number, path in zip(numbers, covered, strict=True):
        results.write_extracted(path, cover(data, samples, plan, number, parts))
    provide(data, samples, plan, results.read_covered(covered))
    if plan.finish != "complete":
        return merge(fits, samples, data, plan)
    state = begin(fits, samples, data, plan)
    for step in range(1, tensor.ndim):
        rounds.write_round(folder / "round.npz", state, tensor.manifest)
        answers = []
        for number in numbers:
            part = tensor.part(number, parts)
            own = rounds.read_round(folder / "round.npz", tensor.manifest, part.groups)
            rounds.write_products(folder / f"{number}.npz", multiply(part, own, data, plan))
            answers.append(rounds.read_products(folder / f"{number}.npz"))
        state = rounds.read_round(folder / "round.npz", tensor.manifest)
        if step == tensor.ndim - 1:
            return end(state, answers, data, plan)
        state = resume(state, answers, data, plan)
    raise AssertionError


def assert_same_bytes(folder, one, other):
    for name, model in (("one", one), ("other", other)):
        results.write_merged(folder / f"{name}.npz", model)
    assert (folder / "one.npz").read_bytes() == (folder / "other.npz").read_bytes()


def prepared(tensor, plan, folder, cells, **blocks):
    """Return a function that opens coupled data on disk, samples of it and their fits."""
    sharded = shard_tensor(tensor, folder / "shards", cells)

    def opened():
        return CoupledData(ShardedTensor.open(sharded.folder), **blocks)

    data = opened()
    samples = draw(data, plan, seed=0)
    return opened, samples, [fit_repetition(data, sample, plan, 0) for sample in samples]


@settings(max_examples=12, deadline=None)
@given(
    tensor=tensors(),
    cells=st.integers(1, 50),
    parts=st.integers(1, 6),
    groups=st.sampled_from([2, 3, 64]),
    sampling=st.sampled_from([1, 1.5, 3]),
    constraint=st.sampled_from([{}, {"constraints": "nonnegative"}]),
)
def test_parts_and_groups_change_no_byte(
    folder, tensor, cells, parts, groups, sampling, constraint
):
    plan = PlanSpec(
        rank=2, sampling=sampling, repetitions=2, max_iter=3, finish="complete", **constraint
    )
    matrix = np.arange(1.0, 2 * tensor.shape[0] + 1).reshape(-1, 2).astype(tensor.dtype)
    with patch.object(manifest, "MAX_GROUPS", groups):
        opened, samples, fits = prepared(tensor, plan, folder, cells, matrices={0: matrix})
        one = merge(fits, samples, opened(), plan)
        assert_same_bytes(folder, one, shared(opened(), samples, fits, plan, parts, folder))


MASK = np.arange(90).reshape(30, 3) % 7 > 0
CASES = {
    "no matrix": {},
    "matrix on the leading mode": {"matrices": {0: np.ones((30, 3))}},
    "missing cells": {"matrices": {0: np.ones((30, 3))}, "matrix_masks": {0: MASK}},
    "several": {"matrices": {0: np.ones((30, 3)), 1: np.eye(12), 2: np.ones((9, 2))}},
    "a matrix without weight": {"matrices": {1: np.eye(12)}, "weights": [2.0, 0.0]},
}


@pytest.mark.parametrize("sampling", [(3, 1, 1), (1.1, 2, 2), (1, 2, 3)])
@pytest.mark.parametrize("blocks", CASES.values(), ids=CASES)
def test_whatever_is_coupled_and_wherever_the_leading_mode_comes(tmp_path, blocks, sampling):
    tensor = planted((30, 12, 9), 2, seed=0, noise=0.1)[0].tensor
    plan = PlanSpec(rank=2, sampling=sampling, repetitions=2, max_iter=5, finish="complete")
    opened, samples, fits = prepared(
        SparseTensor.from_dense(np.asarray(tensor)), plan, tmp_path, 400, **blocks
    )
    one = merge(fits, samples, opened(), plan)
    assert_same_bytes(tmp_path, one, shared(opened(), samples, fits, plan, 3, tmp_path))
