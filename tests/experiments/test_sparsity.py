"""Sizes and costs are compared with those of the full fit, next to the planted factors."""

from dataclasses import replace

import numpy as np
import pytest

from scoup import CoupledData
from scoup.evidence import Context, pick
from scoup.experiments._controls import CONTROL_COST, RELATIVE_COST
from scoup.experiments.sparsity import Spec
from scoup.experiments.sparsity.measure import (
    CONTROL_SIZE,
    DROP_CONTROLS,
    PAPER_SIZES,
    RELATIVE_SIZE,
    claims,
    measure,
)
from scoup.merge import merge
from scoup.metrics import output_size
from scoup.specs import MergeSpec
from tests.experiments.figures import assert_readable
from tests.experiments.models import inputs, model
from tests.planted import cp, planted

CONTEXT = Context("sparsity", "planted", "whole", "", 0, "simulated")
SPEC = Spec(
    datasets=["planted"],
    plans=["half", "weighty"],
    baseline="full",
    finishes=["none", "complete", "prune"],
)
FULL = {"rank": 2, "sampling": 1, "shared": 1.0, "repetitions": 1, "max_iter": 100}
HALF = {"rank": 2, "sampling": [2, 2, 1], "repetitions": 2, "max_iter": 100}


@pytest.fixture(scope="module")
def given():
    data, truth = planted((20, 24, 8), 2, seed=0, noise=0.1)
    plans = {"full": FULL, "half": HALF, "weighty": HALF | {"weights": [1, 5]}}
    models = [model(data, name, plan) for name, plan in plans.items()]
    return inputs(data, *models, planted={"factors": [factor.tolist() for factor in truth]})


@pytest.fixture(scope="module")
def metrics(given):
    return measure(given, SPEC, CONTEXT).metrics


def test_non_zeros_are_compared_with_the_full_fit(given, metrics):
    full = output_size(given.model("full").merged.factors)
    sizes = {
        finish: pick(metrics, "output_size", plan="half", finish=finish)[0].value
        for finish in ("none", "complete")
    }
    (ratio,) = pick(metrics, "relative_output_size", plan="half", finish="none")
    assert ratio.value == pytest.approx(full / sizes["none"])
    assert sizes["none"] <= sizes["complete"] == full


@pytest.mark.parametrize("plan", ["half", "weighty"])
def test_every_plan_is_merged_under_the_weights_of_the_baseline(given, metrics, plan):
    stored, data = given.model(plan), given.view("full")
    again = merge(stored.fits, stored.samples, data, MergeSpec(merge="joint", finish="none"))
    (relative,) = pick(metrics, "relative_cost", plan=plan, finish="none")
    full = given.model("full").merged.report.cost
    assert relative.value == pytest.approx(again.report.cost / full, rel=1e-9)


def test_planted_factors_are_a_control(metrics):
    (cost,) = pick(metrics, "control_cost", control="planted")
    assert 1.0 <= cost.value < 1.2  # the noise it was shaken by; the fit goes a little below that
    assert pick(metrics, "control_output_size", control="planted")[0].value == 1.0


def test_data_that_was_not_made_of_factors_has_no_such_control(given):
    plain = inputs(given.dataset, *given.models)
    assert not pick(measure(plain, SPEC, CONTEXT).metrics, "control_cost", control="planted")


def test_data_without_a_number_in_the_paper_has_no_claim(metrics):
    assert claims(metrics) == []


def renamed(metrics, dataset):
    return [replace(metric, dataset=dataset) for metric in metrics]


def test_pruning_keeps_the_bound_on_the_cost_and_drops_more_when_it_may(metrics):
    (completed,) = pick(metrics, "relative_cost", plan="half", finish="complete")
    pruned = [
        pick(metrics, "relative_cost", plan="half", rise=rise)[0].value for rise in SPEC.rises
    ]
    sizes = [
        pick(metrics, "relative_output_size", plan="half", rise=rise)[0].value
        for rise in SPEC.rises
    ]
    for cost, rise in zip(pruned, SPEC.rises, strict=True):
        assert cost <= (1 + rise) * completed.value * (1 + 1e-9)
    assert 1 <= sizes[0] <= sizes[1]


def test_a_claim_shows_what_full_als_gets_by_dropping_entries(metrics):
    sampled, pruned = claims(renamed(metrics, "portion"))
    assert "prune" in pruned.setting
    assert set(sampled.controls) == set(pruned.controls) == set(DROP_CONTROLS.values())
    assert pruned.controls["thresholded ALS"] >= pruned.controls["ALS, random entries dropped"] >= 1


def test_full_als_with_entries_dropped_starts_at_itself(metrics):
    for name in DROP_CONTROLS:
        (cost,) = pick(metrics, "control_cost", control=name, dropped=0.0)
        (size,) = pick(metrics, "control_output_size", control=name, dropped=0.0)
        assert (cost.value, size.value) == (pytest.approx(1.0), 1.0)


def test_no_claim_holds_where_dropping_entries_of_full_als_does_as_well():
    """On data of sparse factors, thresholding is enough: the claim can tell nothing."""
    rng = np.random.default_rng(0)
    truth = [rng.random((n, 2)) * (rng.random((n, 2)) < 0.15) for n in (40, 40, 40)]
    data = CoupledData(cp(truth) + 0.001 * rng.standard_normal((40, 40, 40)))
    given = inputs(data, model(data, "full", FULL), model(data, "half", HALF))
    metrics = measure(given, SPEC.replace(plans=["half"]), CONTEXT).metrics
    pruned = claims(renamed(metrics, "portion"))[-1]
    assert pruned.ours >= pruned.bar
    assert pruned.verdict == "cannot tell"


def test_the_figure_is_readable(metrics):
    assert_readable("sparsity", metrics)


def null(value):
    """Full ALS without its small entries, or without any of them, is as sparse at equal cost."""
    metrics = []
    for dataset in PAPER_SIZES:
        here = CONTEXT.on(dataset=dataset, plan="half")
        for finish in ("none", "prune"):
            metrics.append(here.metric(RELATIVE_SIZE, value, finish=finish))
            metrics.append(here.metric(RELATIVE_COST, 1, finish=finish))
        for name in DROP_CONTROLS:
            at = {"control": name, "dropped": 0.5}
            metrics.append(here.metric(CONTROL_SIZE, value, **at))
            metrics.append(here.metric(CONTROL_COST, 1, **at))
    return metrics
