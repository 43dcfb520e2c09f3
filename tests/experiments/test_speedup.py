"""Contenders are timed against the reference, and end where they should."""

import pytest

from scoup.experiments.speedup import Spec
from scoup.experiments.speedup.measure import claims, measure
from scoup.machine import max_threads
from scoup.records import Context, pick
from tests.experiments.figures import assert_readable
from tests.experiments.models import inputs, model
from tests.planted import planted

CONTEXT = Context("speedup", "planted", "whole", "", 0, "simulated")
SPEC = Spec(
    datasets=["planted"], sampling=[[2, 2, 1]], repetitions=2, finishes=["none", "complete"],
    workers=[1, 2], sweeps=5, repeats=1,
)  # fmt: skip


@pytest.fixture(scope="module")
def metrics():
    data, _ = planted((20, 24, 8), 2, seed=0, noise=0.1)
    plan = model(data, "scoup", {"rank": 2, "repetitions": 1, "max_iter": 2})
    return measure(inputs(data, plan), SPEC, CONTEXT).metrics


def test_everyone_is_compared_with_the_reference(metrics):
    (reference,) = pick(metrics, "speedup", contender="reference")
    assert (reference.value, reference.plan, reference.at["workers"]) == (1, "full", max_threads())
    contenders = {metric.at["contender"] for metric in pick(metrics, "speedup")}
    assert contenders == {"reference", "als", "compressed als", "SCOUP"}


def test_full_fits_reach_the_same_cost(metrics):
    for name in ("als", "compressed als"):
        cost = pick(metrics, "relative_cost", contender=name)[0].value
        assert cost == pytest.approx(1, rel=1e-6)


def test_workers_do_not_change_the_cost(metrics):
    for finish in ("none", "complete"):
        runs = pick(metrics, "relative_cost", contender="SCOUP", finish=finish)
        assert [run.at["sampling"] for run in runs] == ["2x2x1"] * 2
        assert len({run.value for run in runs}) == 1


def test_random_factors_are_worse_than_every_completed_model(metrics):
    (chance,) = pick(metrics, "control_share", control="random")
    assert 0 <= chance.value < 0.2
    runs = pick(metrics, "explained_share", finish="complete")
    assert all(run.value > chance.value for run in runs)


def test_claims_are_judged_with_their_provenance(metrics):
    judged = claims(metrics)
    assert {(claim.experiment, claim.provenance) for claim in judged} == {("speedup", "simulated")}
    assert {claim.paper for claim in judged} >= {"100", "2"}


def test_the_figure_is_readable(metrics):
    assert_readable("speedup", metrics)
