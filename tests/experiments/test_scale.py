"""On disk, SCOUP explains in a few passes what ALS needs many for, and finds the groups."""

from math import ceil

import pytest

from scoup.datasets.events import SIZES, Options
from scoup.datasets.events.couple import couple
from scoup.datasets.events.simulate import write_events
from scoup.errors import ScoupError
from scoup.evidence import Context, pick
from scoup.experiments._controls import EXPLAINED
from scoup.experiments.scale import Spec
from scoup.experiments.scale.measure import (
    ANYBODY,
    EARLY,
    FOUND,
    HEAVIEST,
    PASSES,
    SAMPLED,
    claims,
    measure,
)
from scoup.simulate import read_planted
from tests.experiments.figures import assert_readable
from tests.experiments.models import inputs, model
from tests.planted import planted

CONTEXT = Context("scale", "events", "whole", "streamed", 0, "simulated")
SPEC = Spec(datasets=["events"], sweeps=8)
PLAN = {
    "rank": 4, "sampling": [2, 1, 1], "repetitions": 2, "init": "random", "max_iter": 20,
    "finish": "complete",
}  # fmt: skip


def null(value):
    """ALS explains as much after as many passes, and any users look like a group."""
    share = min(value, 1.0)
    return [
        CONTEXT.metric(PASSES, 5, contender=SAMPLED, cells=1_000_000),
        *(CONTEXT.metric(EXPLAINED, value, contender=name, passes=5) for name in (SAMPLED, EARLY)),
        *(
            CONTEXT.metric(FOUND, share, contender=name, group=0, members=20)
            for name in (SAMPLED, HEAVIEST, ANYBODY)
        ),
    ]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    folder = tmp_path_factory.mktemp("events")
    write_events(folder, SIZES["tiny"], seed=0)
    dataset = couple(folder, Options(), None)
    streamed = model(dataset.data, "streamed", PLAN)
    return measure(inputs(dataset, streamed, planted=read_planted(folder)), SPEC, CONTEXT)


def value(outcome, name, **where):
    (metric,) = pick(outcome.metrics, name, **where)
    return metric.value


def test_passes_are_counted_and_memory_agrees_with_disk(outcome):
    sampled = value(outcome, "passes_read", contender="SCOUP")
    assert sampled <= 4
    # Two per sweep, and the final loss.
    passes = 2 * SPEC.sweeps
    assert value(outcome, "passes_read", contender="streaming ALS") == passes + 1
    assert value(outcome, "explained_share", contender="streaming ALS", passes=passes) == 1
    # The control sweeps for at least as many passes as SCOUP took.
    early = value(outcome, "explained_share", contender="ALS, same passes")
    swept = 2 * ceil(sampled / 2)
    assert early == value(outcome, "explained_share", contender="streaming ALS", passes=swept)
    for name in ("SCOUP", "streaming ALS", "ALS in memory"):
        assert 50 < value(outcome, "peak_memory", contender=name) < 5_000
    for group in (0, 1):
        found = [
            value(outcome, "members_found", contender=name, group=group)
            for name in ("streaming ALS", "ALS in memory")
        ]
        assert found[0] == found[1]


def test_groups_are_found_by_the_model_and_not_by_chance(outcome):
    explained, found = claims(outcome.metrics)
    assert list(explained.controls) == ["ALS, same passes"]
    assert found.ours > 0.8 > max(found.controls.values())
    assert found.verdict == "holds"


def test_other_data_is_refused():
    data, _ = planted((20, 24, 8), 2, seed=0)
    with pytest.raises(ScoupError, match="expected shards with planted groups"):
        measure(inputs(data, model(data, "streamed", PLAN | {"max_iter": 2})), SPEC, CONTEXT)


def test_the_figure_is_readable(outcome):
    assert_readable("scale", outcome.metrics)
