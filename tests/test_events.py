"""Simulated events: the same cells however they are cut, and groups that can be found."""

import numpy as np
import pytest

from scoup import SCOUP
from scoup.datasets.events import SIZES, EventsSize, Options
from scoup.datasets.events.couple import couple
from scoup.datasets.events.simulate import write_events
from scoup.sharded import ShardedTensor
from scoup.simulate import read_planted


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("events")
    write_events(folder, SIZES["tiny"], seed=0)
    return folder


def joined(folder):
    coords, values = zip(*ShardedTensor.open(folder).batches(), strict=True)
    return np.concatenate(coords, axis=1), np.concatenate(values)


def test_cells_do_not_depend_on_the_shards_they_are_in(folder, tmp_path):
    write_events(tmp_path, SIZES["tiny"], seed=0, shard_cells=1000)
    assert len(ShardedTensor.open(tmp_path).manifest.shards) > 10
    for ours, theirs in zip(joined(folder), joined(tmp_path), strict=True):
        assert ours.tobytes() == theirs.tobytes()
    write_events(tmp_path / "other", SIZES["tiny"], seed=1)
    assert ShardedTensor.open(tmp_path / "other").norm2 != ShardedTensor.open(folder).norm2


def test_there_are_as_many_cells_as_requested(folder):
    size = EventsSize.of(100_000)
    assert abs(ShardedTensor.open(folder).nnz / SIZES["tiny"].cells - 1) < 0.1
    assert (size.users, size.cells) == (1_000, 100_000)


def test_planted_groups_are_in_the_events_and_are_found(folder):
    data = couple(folder, Options(), None).data
    groups = [event for event in read_planted(folder)["planted"] if event["kind"] == "group"]
    assert [len(group["users"]) for group in groups] == [100, 20]
    for group in groups:
        part = data.tensor.select([group["users"], group["pages"], group["days"]])
        assert part.nnz == len(group["users"]) * len(group["pages"]) * len(group["days"])
        assert part.values.min() >= group["posts"]
    model = SCOUP(6, sampling=(2, 1, 1), init="random", finish="complete", max_iter=30).fit(data)
    users = np.abs(model.factors_.modes[0])
    top = [set(np.argsort(-column)[:20]) for column in users.T]
    assert max(len(set(groups[0]["users"]) & chosen) for chosen in top) >= 18
