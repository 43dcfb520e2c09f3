"""Sizes and costs are compared with those of the full fit, next to the planted factors."""

import pytest

from scoup.experiments.sparsity import Spec
from scoup.experiments.sparsity.measure import claims, measure
from scoup.merge import merge
from scoup.metrics import output_size
from scoup.records import Context, pick
from scoup.specs import MergeSpec
from tests.experiments.figures import assert_readable
from tests.experiments.models import inputs, model
from tests.planted import planted

CONTEXT = Context("sparsity", "planted", "whole", "", 0, "simulated")
SPEC = Spec(
    datasets=["planted"], plans=["half", "weighty"], baseline="full", finishes=["none", "complete"]
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
        for finish in SPEC.finishes
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
    assert pick(metrics, "planted_output_size")[0].value == 1.0


def test_data_that_was_not_made_of_factors_has_no_such_control(given):
    plain = inputs(given.dataset, *given.models)
    assert not pick(measure(plain, SPEC, CONTEXT).metrics, "control_cost", control="planted")


def test_claims_are_judged_with_their_provenance(metrics):
    assert claims(metrics) == []  # the paper has no number for this data set


def test_the_figure_is_readable(metrics):
    assert_readable("sparsity", metrics)
