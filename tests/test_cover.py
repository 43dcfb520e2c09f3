"""A merge that gets the covered cells from jobs makes no pass, and gives the same bytes."""

import numpy as np
import pytest

from scoup import CoupledData
from scoup.cover import cover, row_sets
from scoup.errors import ScoupError
from scoup.listing import members
from scoup.merge import merge
from scoup.restrict import BYTES_PER_CELL
from scoup.sample import draw
from scoup.specs import PlanSpec
from scoup.tensor import SparseTensor
from tests.planted import planted
from tests.test_complete import assert_same_bytes, prepared, shared


@pytest.mark.parametrize("spills", [False, True])
@pytest.mark.parametrize("finish", members("scoup.finishes"))
def test_extracted_cells_change_no_byte(tmp_path, finish, spills):
    tensor = SparseTensor.from_dense(np.asarray(planted((30, 12, 9), 2, seed=0)[0].tensor))
    plan = PlanSpec(rank=2, sampling=(3, 1, 2), repetitions=3, max_iter=5, finish=finish)
    opened, samples, fits = prepared(tensor, plan, tmp_path, 150, matrices={0: np.ones((30, 2))})
    one, other = opened(), opened()
    if spills:
        for data in (one, other):
            data.blocks[0].values.memory_limit = 1000 * BYTES_PER_CELL
    expected = merge(fits, samples, one, plan)
    found = shared(other, samples, fits, plan, 3, tmp_path)
    assert_same_bytes(tmp_path, expected, found)
    ours, theirs = (data.blocks[0].values.passes for data in (other, one))
    assert ours < theirs
    assert ours == 0 or finish != "refit" or spills  # what was spilled is read again


def test_rows_of_all_samples_are_not_extracted_if_they_are_all_rows():
    data = CoupledData(np.ones((6, 5, 4)))
    samples = draw(data, PlanSpec(rank=1, sampling=1, repetitions=2), seed=0)
    assert row_sets(samples, data, PlanSpec(rank=1, finish="refit")) == []


def test_data_in_memory_is_refused():
    data = CoupledData(np.ones((6, 5, 4)))
    with pytest.raises(ScoupError, match="expected a tensor on disk"):
        cover(data, draw(data, PlanSpec(rank=1), seed=0), PlanSpec(rank=1), 1, 2)
