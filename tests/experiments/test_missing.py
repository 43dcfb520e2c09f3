"""Hidden cells are predicted down to the noise, by every plan that can."""

from dataclasses import replace

import numpy as np
import pytest

from scoup.errors import ScoupError
from scoup.evidence import Context, pick
from scoup.experiments.missing import Spec
from scoup.experiments.missing.measure import (
    SINGLE_SNR,
    SLOWDOWN,
    SNR,
    STARTS_SNR,
    claims,
    measure,
    visible_mean,
)
from scoup.holdout import hold_out
from tests.experiments.figures import assert_readable
from tests.experiments.models import inputs, model
from tests.planted import planted

CONTEXT = Context("missing", "planted", "whole", "", 0, "simulated")
FRACTIONS = {"whole": 0.0, "missing10": 0.1, "missing20": 0.2, "missing50": 0.5, "missing60": 0.6}
SPEC = Spec(
    datasets=["planted"], plans=["weighted", "descent", "sampled"], variants=list(FRACTIONS)
)
PLAN = {"rank": 2, "sampling": 1, "shared": 1.0, "repetitions": 2, "max_iter": 100}
SAMPLED = PLAN | {"sampling": [1, 2, 1], "shared": 0.5, "finish": "complete"}
PLANS = {"weighted": PLAN, "descent": PLAN | {"solver": "cd"}, "sampled": SAMPLED}
SPEC = Spec(datasets=["planted"], plans=list(PLANS), variants=list(FRACTIONS))


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
    assert len(errors) == 4
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


def test_a_model_of_zeros_has_a_finite_snr(given):
    """A fit with missing cells may end at the zero model."""
    full = given.model("weighted")
    none = full.merged.factors.replace_flat([0 * factor for factor in full.merged.factors.flat])
    zero = replace(given.model("weighted", "missing20"), merged=replace(full.merged, factors=none))
    spec = SPEC.replace(plans=["weighted"], variants=["whole", "missing20"])
    metrics = measure(replace(given, models=[full, zero]), spec, CONTEXT).metrics
    assert pick(metrics, "snr")[0].value == -100


def test_claims_are_judged_for_each_plan_with_their_controls(metrics):
    judged = claims(metrics)
    assert [claim.setting for claim in judged] == [f"plan {plan}" for plan in sorted(PLANS)] * 2
    assert {(claim.experiment, claim.provenance) for claim in judged} == {("missing", "simulated")}
    for claim in judged[: len(PLANS)]:
        assert claim.controls["one component"] < 10 < claim.ours
        assert (claim.verdict, claim.note[:28]) == ("holds", "two starts, no cell missing:")
    assert all(claim.controls == {"60% missing": 1} for claim in judged[len(PLANS) :])
    assert {claim.verdict for claim in judged[len(PLANS) :]} == {"cannot tell"}


def test_a_single_component_that_does_as_well_leaves_nothing_to_tell(metrics):
    alike = [
        replace(metric, value=12.0) if metric.name in ("snr", "single_snr") else metric
        for metric in metrics
    ]
    assert claims(alike)[0].verdict == "cannot tell"


def test_the_figure_is_readable(metrics):
    assert_readable("missing", metrics)


def null(value):
    """One component is as near to the whole, and any amount of missing cells takes as long."""
    here = CONTEXT.on(plan="weighted")
    return [
        here.metric(SNR, value, fraction=0.5),
        here.metric(SINGLE_SNR, value, fraction=0.5),
        here.metric(STARTS_SNR, value),
        here.metric(SLOWDOWN, value, fraction=0.1),
        here.metric(SLOWDOWN, value, fraction=0.9),
    ]
