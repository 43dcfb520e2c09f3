"""Matrices on every mode recover what the noisy tensor alone does not; unrelated ones do harm."""

import numpy as np
import pytest

from scoup.coupled import CoupledData
from scoup.datasets import Traits
from scoup.errors import ScoupError
from scoup.evidence import Context, pick
from scoup.experiments.coupling import Spec, suits
from scoup.experiments.coupling.measure import (
    ALONE,
    COUPLED,
    RECOVERED,
    UNRELATED,
    claims,
    measure,
)
from tests.experiments.figures import assert_readable
from tests.experiments.models import inputs, model
from tests.planted import planted

CONTEXT = Context("coupling", "blocks", "whole", "", 0, "simulated")
SPEC = Spec(datasets=["blocks"], plans=["coupled"], noise=[0, 4])
PLAN = {
    "rank": 2,
    "weights": "balanced",
    "sampling": 1,
    "shared": 1.0,
    "repetitions": 1,
    "max_iter": 100,
}


@pytest.fixture(scope="module")
def given():
    data, factors = planted((20, 24, 8), 2, seed=0, modes=(0, 1, 2), noise=0.1)
    return inputs(data, model(data, "coupled", PLAN), planted={"factors": factors})


@pytest.fixture(scope="module")
def metrics(given):
    return measure(given, SPEC, CONTEXT).metrics


def values(metrics, name, **where):
    return np.array([run.value for run in pick(metrics, name, **where)])


def test_without_noise_everybody_recovers_the_tensor_but_with_unrelated_matrices(metrics):
    for contender in ("all matrices", "tensor alone"):
        assert values(metrics, "recovered_share", noise=0, contender=contender) > 0.95
        assert values(metrics, "factor_match", noise=0, contender=contender) > 0.95
    assert values(metrics, "recovered_share", noise=0, contender="unrelated matrices") < 0.9


def test_matrices_help_where_noise_is_strong(metrics):
    (claim,) = claims(metrics)
    assert list(claim.controls) == ["tensor alone", "unrelated matrices"]
    assert claim.ours > 0.9 > max(claim.controls.values())
    assert claim.verdict == "holds"


def test_unrelated_matrices_never_pass_for_related_ones(given):
    """Null: the rows of every matrix are shuffled before the experiment sees them."""
    rng = np.random.default_rng(0)
    data = given.dataset.data
    blocks = [np.asarray(block.values) for block in data.blocks]
    shuffled = {mode: rng.permutation(matrix) for mode, matrix in enumerate(blocks[1:])}
    null = inputs(CoupledData(blocks[0], shuffled), *given.models, planted=given.planted)
    (claim,) = claims(measure(null, SPEC, CONTEXT).metrics)
    assert claim.verdict == "does not hold"


def test_planted_factors_are_needed(given):
    with pytest.raises(ScoupError, match="planted: expected the factors"):
        measure(inputs(given.dataset, *given.models), SPEC, CONTEXT)


def test_one_matrix_is_not_enough():
    assert suits(Traits(("a", "b", "c"), sparse=True)) == "it needs 2 or more matrices"


def test_the_figure_is_readable(metrics):
    assert_readable("coupling", metrics)


def null(value):
    """The tensor alone, or with unrelated matrices, is recovered as well."""
    return [
        CONTEXT.metric(RECOVERED, min(value, 1.0), noise=4.0, contender=contender)
        for contender in (COUPLED, ALONE, UNRELATED)
    ]
