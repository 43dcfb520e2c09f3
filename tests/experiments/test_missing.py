"""Hidden cells are predicted down to the noise, by every plan that can."""

import numpy as np
import pytest

from scoup.errors import ScoupError
from scoup.experiments.missing import Spec
from scoup.experiments.missing.measure import claims, measure, visible_mean
from scoup.holdout import hold_out
from scoup.records import Context, pick
from tests.experiments.figures import assert_readable
from tests.experiments.models import inputs, model
from tests.planted import planted

CONTEXT = Context("missing", "planted", "whole", "", 0, "simulated")
FRACTIONS = {"whole": 0.0, "missing20": 0.2, "missing50": 0.5, "missing60": 0.6}
SPEC = Spec(datasets=["planted"], plans=["weighted", "descent"], variants=list(FRACTIONS))
PLAN = {"rank": 2, "sampling": 1, "shared": 1.0, "repetitions": 2, "max_iter": 100}
PLANS = {"weighted": PLAN, "descent": PLAN | {"solver": "cd"}}


@pytest.fixture(scope="module")
def data():
    return planted((20, 24, 8), 2, seed=0, noise=0.1)[0]


@pytest.fixture(scope="module")
def given(data):
    models = [
        model(data, plan, settings, variant=variant, fraction=fraction)
        for plan, settings in PLANS.items()
        for variant, fraction in FRACTIONS.items()
    ]
    return inputs(data, *models)


@pytest.fixture(scope="module")
def metrics(given):
    return measure(given, SPEC, CONTEXT).metrics


@pytest.mark.parametrize("plan", PLANS)
def test_hidden_cells_are_predicted_down_to_the_noise(metrics, plan):
    errors = pick(metrics, "held_out_error", plan=plan)
    assert len(errors) == 3
    for error in errors:
        assert error.value < 0.03
        where = {"plan": plan, "variant": error.variant, "fraction": error.at["fraction"]}
        assert pick(metrics, "mean_error", **where)[0].value > 0.5


@pytest.mark.parametrize("plan", PLANS)
def test_snr_falls_as_more_is_hidden(metrics, plan):
    few, many = (pick(metrics, "snr", plan=plan, fraction=f)[0].value for f in (0.2, 0.6))
    assert few > many > 10


def test_seconds_and_sweeps_are_those_of_all_fits(given, metrics):
    assert len(pick(metrics, "seconds")) == len(PLANS) * len(FRACTIONS)
    (sweeps,) = pick(metrics, "sweeps", plan="weighted", variant="missing20")
    assert sweeps.value == given.model("weighted", "missing20").sweeps


def test_a_variant_that_hides_nothing_is_needed(given):
    with pytest.raises(ScoupError, match="variants: expected one that hides nothing"):
        measure(given, SPEC.replace(variants=["missing20"]), CONTEXT)


def test_the_visible_mean_leaves_the_hidden_cells_out(data):
    cells = hold_out(data, 0.5, seed=0)
    visible = np.asarray(data.tensor)[np.asarray(cells.data.blocks[0].mask)]
    assert visible_mean(data, cells.truth) == pytest.approx(visible.mean())


def test_claims_are_judged_for_each_plan_with_half_of_the_cells(metrics):
    judged = claims(metrics)
    assert [claim.setting for claim in judged] == ["plan descent", "plan weighted"]
    assert {(claim.experiment, claim.provenance) for claim in judged} == {("missing", "simulated")}


def test_the_figure_is_readable(metrics):
    assert_readable("missing", metrics)
