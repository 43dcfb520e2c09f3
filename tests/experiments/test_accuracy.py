"""Every repetition is measured for every merge and finish, and every run is drawn."""

from itertools import pairwise, product

import pytest

from scoup import plot
from scoup.evidence import Context, pick
from scoup.experiments._controls import CONTROL_COST, CONTROL_SHARE, EXPLAINED, RELATIVE_COST
from scoup.experiments.accuracy import Spec
from scoup.experiments.accuracy.measure import (
    MONOTONE,
    NULL_MONOTONE,
    claims,
    measure,
    never_rises,
)
from scoup.merge import merge
from scoup.metrics import cost
from scoup.specs import MergeSpec
from tests.experiments.figures import assert_readable
from tests.experiments.models import inputs, model
from tests.planted import planted

CONTEXT = Context("accuracy", "planted", "whole", "", 0, "simulated")
SPEC = Spec(
    datasets=["planted"], plans=["half", "weighty"], merges=["joint", "paper"],
    finishes=["none", "complete"],
)  # fmt: skip
FULL = {"rank": 2, "sampling": 1, "shared": 1.0, "repetitions": 1, "max_iter": 100}
HALF = {"rank": 2, "sampling": [2, 2, 1], "repetitions": 4, "max_iter": 100}
WEIGHTY = HALF | {"weights": [1, 5], "repetitions": 2, "finish": "complete"}


@pytest.fixture(scope="module")
def data():
    return planted((20, 24, 8), 2, seed=0, noise=0.1)[0]


@pytest.fixture(scope="module")
def given(data):
    plans = {"full": FULL, "half": HALF, "weighty": WEIGHTY}
    return inputs(data, *(model(data, name, plan) for name, plan in plans.items()))


@pytest.fixture(scope="module")
def outcome(given):
    return measure(given, SPEC, CONTEXT)


@pytest.fixture(scope="module")
def half(outcome):
    return [metric for metric in outcome.metrics if metric.plan == "half"]


def test_every_number_of_repetitions_is_reported_for_every_merge(half):
    for merge_name in ("joint", "paper"):
        metrics = pick(half, "relative_cost", merge=merge_name, finish="none")
        assert [metric.at["repetitions"] for metric in metrics] == [1, 2, 3, 4]


def test_the_joint_merge_improves_and_completion_reaches_the_full_fit(half):
    shares = pick(half, "explained_share", merge="joint", finish="none")
    assert shares[-1].value > shares[0].value
    last = pick(half, "relative_cost", merge="joint", finish="complete", repetitions=4)
    assert last[0].value == pytest.approx(1.0, abs=0.02)


def test_a_run_is_monotone_only_if_its_own_costs_never_rise(half):
    for name in ("joint", "paper"):
        costs = [m.value for m in pick(half, "relative_cost", merge=name, finish="none")]
        monotone = pick(half, "monotone", merge=name, finish="none")[0].value
        assert monotone == float(all(b <= a * (1 + 1e-9) for a, b in pairwise(costs)))


def test_all_plans_are_measured_each_on_its_own_view(given, outcome):
    """The merged model of the corridor and a merge of the stored fits give the same number."""
    assert {metric.plan for metric in outcome.metrics} == {"half", "weighty"}
    view, weighty = given.view("weighty"), given.model("weighty")
    reference = cost(view, given.model("full").merged.factors)
    for name, finish in (("joint", "complete"), ("joint", "none")):
        again = merge(weighty.fits, weighty.samples, view, MergeSpec(merge=name, finish=finish))
        where = {"plan": "weighty", "merge": name, "finish": finish, "repetitions": 2}
        (metric,) = pick(outcome.metrics, "relative_cost", **where)
        assert metric.value == again.report.cost / reference


def test_random_factors_on_the_same_rows_are_worse_than_every_merge(half):
    for finish in SPEC.finishes:
        (chance,) = pick(half, "control_share", control="random", finish=finish)
        runs = pick(half, "explained_share", merge="joint", finish=finish, repetitions=4)
        assert all(run.value > chance.value for run in runs)
    assert pick(half, "control_share", control="random", finish="none")[0].value < 0.2


def test_no_merge_passes_what_the_sampled_rows_allow(half):
    (ceiling,) = pick(half, "control_share", control="covered")
    shares = [run.value for run in pick(half, "explained_share", finish="none")]
    assert max(shares) <= ceiling.value + 1e-6
    assert ceiling.value < 1


def test_a_sequence_may_rise_by_rounding_only():
    assert never_rises([1.0, 1.0 + 1e-12, 0.5])
    assert not never_rises([1.0, 1.0 + 1e-6])


def test_every_claim_names_its_setting_and_what_a_control_got(outcome):
    judged = claims(outcome.metrics)
    # For each plan: joint with two finishes and paper with none, monotone and relative cost.
    assert len(judged) == 2 * 3 * 2
    assert len({(claim.claim, claim.setting) for claim in judged}) == len(judged)
    assert all(claim.controls for claim in judged)
    assert {(claim.experiment, claim.provenance) for claim in judged} == {("accuracy", "simulated")}


def test_what_holds_by_construction_is_said_to_and_cannot_tell(outcome):
    (claim,) = (
        c for c in claims(outcome.metrics) if "by construction" in c.note and "half" in c.setting
    )
    assert claim.ours == 1.0
    assert claim.controls == {"repetitions with shuffled rows": 1.0}
    assert claim.verdict == "cannot tell"


def test_no_claim_holds_on_noise():
    spec = SPEC.replace(plans=["half"], merges=["joint", "paper", "authors"])
    metrics = []
    for seed in range(4):  # by chance the cost falls with every repetition of one of them
        noise = planted((12, 14, 8), 2, seed=seed, noise=30.0)[0]
        models = [model(noise, name, plan) for name, plan in (("full", FULL), ("half", HALF))]
        metrics += measure(inputs(noise, *models), spec, CONTEXT.on(seed=seed)).metrics
    judged = claims(metrics)
    assert judged
    assert not [claim for claim in judged if claim.verdict == "holds"]


def test_the_figure_is_readable(half):
    assert_readable("accuracy", half)


def test_every_run_and_every_merge_and_finish_is_drawn(half):
    figure = plot.draw("accuracy", half)
    assert len(figure.axes) == 2 * len(SPEC.finishes)
    thin = [line for line in figure.axes[0].lines if line.get_linewidth() == 0.6]
    assert len([line for line in thin if len(line.get_xdata()) == 4]) == len(SPEC.merges)


def null(value):
    """Everybody costs as much, and shuffled repetitions lower the cost as often."""
    here, share = CONTEXT.on(plan="half"), min(value, 1.0)
    metrics = [
        here.metric(CONTROL_COST, value, control="zero"),
        here.metric(CONTROL_SHARE, share, control="covered"),
    ]
    for merge_name, finish in product(("joint", "paper", "authors"), ("none", "complete")):
        at = {"merge": merge_name, "finish": finish}
        metrics += [
            here.metric(MONOTONE, share, **at),
            here.metric(NULL_MONOTONE, share, **at),
            here.metric(RELATIVE_COST, value, repetitions=4, **at),
            here.metric(EXPLAINED, share, repetitions=4, **at),
            here.metric(CONTROL_COST, value, control="random", finish=finish),
        ]
    return metrics
