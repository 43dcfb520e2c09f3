"""Contenders are timed against the reference, and end where they should."""

import pytest

from scoup.evidence import Context, pick
from scoup.experiments._controls import EXPLAINED, RELATIVE_COST
from scoup.experiments.speedup import Spec, pinv
from scoup.experiments.speedup.measure import (
    FULL_FITS,
    OTHERS_SECONDS,
    SAMPLED,
    SAMPLED_AGAIN,
    SECONDS,
    SPEEDUP,
    WORKER_GAIN,
    claims,
    measure,
)
from scoup.machine import max_threads
from tests.experiments.figures import assert_readable
from tests.experiments.models import inputs, model
from tests.planted import planted

CONTEXT = Context("speedup", "planted", "whole", "", 0, "simulated")
SPEC = Spec(
    datasets=["planted"], sampling=[[2, 2, 1]], repetitions=2, finishes=["none", "complete"],
    workers=[1, 2], sweeps=5, rounds=2, pinv_ranks=[1, 3], pinv_rows=[10, 100],
)  # fmt: skip


@pytest.fixture(scope="module")
def metrics():
    data, _ = planted((20, 24, 8), 2, seed=0, noise=0.1)
    plan = model(data, "scoup", {"rank": 2, "repetitions": 1, "max_iter": 2})
    return measure(inputs(data, plan), SPEC, CONTEXT).metrics


def test_everyone_is_compared_with_the_reference_of_the_same_round(metrics):
    references = pick(metrics, "speedup", contender="reference")
    assert [(run.value, run.at["round"]) for run in references] == [(1, 0), (1, 1)]
    assert references[0].at["workers"] == max_threads()
    for number in (0, 1):
        names = {run.at["contender"] for run in pick(metrics, "speedup", round=number)}
        assert names == {"reference", "als", "compressed als", "SCOUP", "SCOUP again"}
        (full,) = pick(metrics, "seconds", contender="reference", round=number)
        for run in pick(metrics, "speedup", round=number):
            (seconds,) = pick(metrics, "seconds", **run.at)
            assert run.value == pytest.approx(full.value / seconds.value)


def test_rounds_have_their_own_samples(metrics):
    where = {"contender": "SCOUP", "finish": "none", "workers": 1}
    first, second = (
        pick(metrics, "relative_cost", round=number, **where)[0].value for number in (0, 1)
    )
    assert first != second


def test_full_fits_reach_the_same_cost(metrics):
    for name in ("als", "compressed als"):
        cost = pick(metrics, "relative_cost", contender=name)[0].value
        assert cost == pytest.approx(1, rel=1e-6)


def test_workers_do_not_change_the_cost(metrics):
    for finish in ("none", "complete"):
        runs = pick(metrics, "relative_cost", contender="SCOUP", finish=finish, round=0)
        assert [run.at["sampling"] for run in runs] == ["2x2x1"] * 2
        assert len({run.value for run in runs}) == 1


def test_random_factors_are_worse_than_every_completed_model(metrics):
    (chance,) = pick(metrics, "control_share", control="random")
    assert 0 <= chance.value < 0.2
    runs = pick(metrics, "explained_share", finish="complete")
    assert all(run.value > chance.value for run in runs)


def timed(name, speedup, cost, share, **at):
    """Metrics of a contender in three rounds."""
    at = {"contender": name, "workers": 1, "sampling": "2", "finish": "none", **at}
    return [
        CONTEXT.metric(measure, value, round=number, **at)
        for number in range(3)
        for measure, value in (
            (SECONDS, 100 / speedup), (SPEEDUP, speedup), (RELATIVE_COST, cost), (EXPLAINED, share)
        )
    ]  # fmt: skip


def rows(*contenders):
    metrics = [*timed("reference", 1, 1, 1), *(run for runs in contenders for run in runs)]
    return {claim.bar: claim for claim in claims(metrics)}


def test_a_fast_model_of_nothing_is_not_reasonable():
    judged = rows(
        timed("SCOUP", 300, 1.5, 0.02), timed("SCOUP", 120, 1.05, 0.91, finish="complete"),
        timed("compressed als", 40, 1, 1),
    )  # fmt: skip
    assert (judged[100].ours, judged[100].verdict) == (120, "holds")
    assert "finish complete" in judged[100].setting
    assert "0.83 s for 100 s" in judged[100].setting
    assert (judged[50].verdict, judged[50].note) == (
        "does not hold",
        "no setting reaches equal cost",
    )


def test_a_full_fit_that_is_as_fast_leaves_nothing_to_sampling():
    judged = rows(timed("SCOUP", 60, 1.001, 1), timed("compressed als", 70, 1, 1))
    assert judged[50].verdict == "cannot tell"
    assert judged[50].controls == {"compressed als on all data": 70}


def test_claims_name_workers_and_the_lemma(metrics):
    judged = {claim.claim: claim for claim in claims(metrics)}
    assert all(claim.controls for claim in judged.values())
    workers = judged["times faster with 2 workers than with one"]
    assert (workers.runs, list(workers.controls)) == (4, ["one worker, timed again"])
    lemma = judged["pseudoinverse by the lemma, times faster"]
    assert (lemma.runs, lemma.setting) == (8, "R 1, 3; I 10 to 100")


@pytest.mark.parametrize("name", ["speedup", "pinv"])
def test_the_figures_are_readable(metrics, name):
    assert_readable(name, metrics)


def null(value):
    """Everybody is as fast, reaches the same cost, and gains nothing by workers or the lemma."""
    metrics = []
    for name in (*FULL_FITS, SAMPLED, SAMPLED_AGAIN):
        at = {"contender": name, "workers": 2, "sampling": "2", "finish": "none", "round": 0}
        metrics += [
            CONTEXT.metric(SECONDS, 1, **at),
            CONTEXT.metric(SPEEDUP, value, **at),
            CONTEXT.metric(WORKER_GAIN, value, **at),
            CONTEXT.metric(RELATIVE_COST, 1, **at),
            CONTEXT.metric(EXPLAINED, 1, **at),
        ]
    for name in (pinv.BY_LEMMA, pinv.AGAIN):
        at = {"contender": name, "components": 1, "rows": 10, "round": 0}
        metrics.append(CONTEXT.metric(pinv.PINV_SPEEDUP, value, **at))
    return metrics


@pytest.mark.parametrize(("cores", "marked"), [(0.05, False), (1.3, True)])
def test_a_busy_machine_is_marked_in_the_scorecard(cores, marked):
    metrics = timed("reference", 1, 1, 1) + timed("als", 8, 1, 1) + timed(SAMPLED, 60, 1, 1)
    taken = cores * sum(run.value for run in pick(metrics, "seconds"))
    metrics.append(CONTEXT.metric(OTHERS_SECONDS, taken, round=0))
    assert all(("busy machine" in claim.note) == marked for claim in claims(metrics))
    assert any("1.3 cores" in claim.note for claim in claims(metrics)) == marked


def test_time_of_other_processes_is_measured(metrics):
    others = pick(metrics, "others_seconds")
    assert [run.at["round"] for run in others] == [0, 1]
    assert all(run.value >= 0 for run in others)
