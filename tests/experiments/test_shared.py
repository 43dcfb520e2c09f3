"""Repetitions that share everything add nothing, and other fractions are the controls."""

import pytest

from scoup.evidence import Context, pick
from scoup.experiments._controls import EXPLAINED
from scoup.experiments.shared import Spec
from scoup.experiments.shared.measure import SHARE_OF_BEST, claims, measure
from tests.experiments.figures import assert_readable
from tests.experiments.models import inputs, model
from tests.planted import planted

CONTEXT = Context("shared", "planted", "whole", "", 0, "simulated")
FULL = {"rank": 2, "sampling": 1, "shared": 1.0, "repetitions": 1, "max_iter": 100}
PART = {"rank": 2, "sampling": [3, 3, 1], "repetitions": 4, "max_iter": 100}
FRACTIONS = {"little": 0.05, "some": 0.2, "half": 0.5, "all": 1.0}
SPEC = Spec(datasets=["planted"], plans=list(FRACTIONS))


def measured(noise):
    data, _ = planted((40, 40, 8), 2, seed=0, noise=noise)
    plans = {name: PART | {"shared": fraction} for name, fraction in FRACTIONS.items()}
    models = [model(data, name, plan) for name, plan in {"full": FULL, **plans}.items()]
    return measure(inputs(data, *models), SPEC, CONTEXT).metrics


@pytest.fixture(scope="module")
def metrics():
    return measured(0.1)


def test_repetitions_that_share_everything_add_nothing(metrics):
    shares = {run.at["shared"]: run.value for run in pick(metrics, "explained_share")}
    assert shares[1.0] < shares[0.5] < shares[0.2]
    assert [run.value for run in pick(metrics, "match", shared=1.0)] == pytest.approx(
        [1.0], abs=1e-3
    )


def test_fractions_outside_the_range_are_the_controls(metrics):
    judged = claims(metrics)
    assert [claim.setting for claim in judged] == ["p = 0.2, plan some", "p = 0.5, plan half"]
    for claim in judged:
        assert list(claim.controls) == ["p = 0.05", "p = 1"]


def test_no_claim_holds_if_the_fraction_does_not_matter(metrics):
    """All plans as good as the best: the controls pass as well."""
    same = [run for run in metrics if run.name != "share_of_best"]
    for plan, fraction in FRACTIONS.items():
        (run,) = pick(metrics, "share_of_best", plan=plan, shared=fraction)
        same.append(type(run)(**{**vars(run), "value": 1.0}))
    assert {claim.verdict for claim in claims(same)} == {"cannot tell"}


def test_the_figure_is_readable(metrics):
    assert_readable("shared", metrics)


def null(value):
    """Every fraction is as good."""
    share = min(value, 1.0)
    return [
        CONTEXT.on(plan=plan).metric(measure, share, shared=fraction)
        for plan, fraction in FRACTIONS.items()
        for measure in (SHARE_OF_BEST, EXPLAINED)
    ]
