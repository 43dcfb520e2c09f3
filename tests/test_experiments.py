"""Each experiment measures what it says on data whose answer is known."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from scoup import metrics
from scoup.experiments.accuracy import measure as accuracy
from scoup.experiments.missing import measure as missing
from scoup.experiments.sparsity import measure as sparsity
from scoup.experiments.speedup import measure as speedup
from scoup.fit import fit, fit_repetition
from scoup.holdout import hold_out
from scoup.measures import Context, pick
from scoup.sample import draw
from scoup.specs import FitSpec, SampleSpec
from tests.planted import planted

CONTEXT = Context("accuracy", "planted", "whole", "scoup", 0, "simulated")
SPEC = FitSpec(rank=2, max_iter=100)


@pytest.fixture(scope="module")
def data():
    return planted((20, 24, 8), 2, seed=0, noise=0.1)[0]


@pytest.fixture(scope="module")
def full(data):
    return fit(data, SPEC, seed=0)


@pytest.fixture(scope="module")
def runs(data):
    samples = draw(data, SampleSpec(rank=2, sampling=[2, 2, 1], repetitions=4), seed=0)
    return [fit_repetition(data, sample, SPEC, seed=0) for sample in samples], samples


@pytest.fixture(scope="module")
def measured(data, full, runs):
    spec = accuracy.AccuracySpec(["joint", "paper"], ["none", "complete"])
    return accuracy.measure(data, *runs, full.report.cost, spec, CONTEXT)


def test_accuracy_reports_every_number_of_repetitions_for_every_merge(measured):
    for how in ("joint", "paper"):
        found = pick(measured, "relative_cost", merge=how, finish="none")
        assert [metric.at["repetitions"] for metric in found] == [1, 2, 3, 4]


def test_accuracy_of_the_joint_merge_improves_and_completion_reaches_the_full_fit(measured):
    first, *_, last = (
        metric.value for metric in pick(measured, "explained_share", merge="joint", finish="none")
    )
    assert last > first
    done = pick(measured, "relative_cost", merge="joint", finish="complete", repetitions=4)
    assert done[0].value == pytest.approx(1.0, abs=0.02)


def test_accuracy_calls_a_run_monotone_only_if_its_own_costs_never_rise(measured):
    for how in ("joint", "paper"):
        costs = [
            metric.value for metric in pick(measured, "relative_cost", merge=how, finish="none")
        ]
        told = pick(measured, "monotone", merge=how, finish="none")[0].value
        assert told == float(all(after <= before * (1 + 1e-9) for before, after in pairwise(costs)))


def test_sparsity_compares_non_zeros_with_the_full_fit(data, full, runs):
    found = sparsity.measure(
        data,
        {"half": runs},
        full.factors,
        ["none", "complete"],
        replace(CONTEXT, experiment="sparsity"),
    )
    size = {
        finish: pick(found, "output_size", finish=finish)[0].value
        for finish in ("none", "complete")
    }
    ratio = pick(found, "relative_output_size", finish="none")[0]
    assert ratio.value == pytest.approx(metrics.output_size(full.factors) / size["none"])
    assert ratio.plan == "half"
    assert size["none"] <= size["complete"] == metrics.output_size(full.factors)


def test_controls_bracket_the_results(measured, timed):
    for found in (measured, timed):
        (chance,) = pick(found, "control_share", control="random")
        assert 0 <= chance.value < 0.2
        assert all(
            run.value > chance.value for run in pick(found, "explained_share", finish="complete")
        )


def test_planted_factors_are_a_control_of_sparsity(runs):
    data, truth = planted((20, 24, 8), 2, seed=0, noise=0.1)
    full = fit(data, SPEC, seed=0).factors
    found = sparsity.measure(
        data, {"half": runs}, full, ["none"], replace(CONTEXT, experiment="sparsity"), truth
    )
    (cost,) = pick(found, "control_cost", control="planted")
    assert (
        1.0 <= cost.value < 1.2
    )  # no worse than the noise it was shaken by, and the fit goes a little below that
    assert pick(found, "planted_output_size")[0].value == 1.0


def hidden(data, fraction, solver="als"):
    cells = hold_out(data, fraction, seed=1)
    fitted = fit(cells.data, replace(SPEC, solver=solver), seed=0)
    return missing.Fitted(
        fraction,
        fitted.factors,
        [{"cpu": 0.5, "sweeps": 7}, {"cpu": 0.25, "sweeps": 3}],
        cells.coords,
        cells.truth,
    )


@pytest.fixture(scope="module", params=["als", "cd"])
def holes(request, data):
    variants = {
        f"missing{int(100 * share)}": hidden(data, share, request.param) for share in (0.2, 0.6)
    }
    whole = {
        "whole": missing.Fitted(0.0, fit(data, SPEC, seed=0).factors, [{"cpu": 1.0, "sweeps": 5}])
    }
    return missing.measure(data, whole | variants, replace(CONTEXT, experiment="missing"))


def test_missing_cells_are_predicted_down_to_the_noise(holes):
    for metric in pick(holes, "held_out_error"):
        assert metric.value < 0.03
        assert pick(holes, "mean_error", fraction=metric.at["fraction"])[0].value > 0.5


def test_missing_snr_falls_as_more_is_hidden(holes):
    few, many = (pick(holes, "snr", fraction=share)[0].value for share in (0.2, 0.6))
    assert few > many > 10


def test_missing_adds_up_what_the_fits_of_a_variant_took(holes):
    assert [metric.value for metric in pick(holes, "seconds")] == [1.0, 0.75, 0.75]
    assert [metric.value for metric in pick(holes, "sweeps", variant="missing20")] == [10]


def test_the_visible_mean_leaves_the_hidden_cells_out(data):
    cells = hold_out(data, 0.5, seed=0)
    visible = np.asarray(data.tensor)[np.asarray(cells.data.blocks[0].mask)]
    assert missing.visible_mean(data, cells.truth) == pytest.approx(visible.mean())


@pytest.fixture(scope="module")
def timed(data):
    spec = speedup.SpeedupSpec(
        2, 0.35, [[2, 2, 1]], 2, ["none", "complete"], [1, 2], sweeps=5, repeats=1
    )
    return speedup.measure(data, spec, replace(CONTEXT, experiment="speedup"))


def test_speedup_compares_everyone_with_the_reference(timed):
    reference = pick(timed, "speedup", contender="reference")[0]
    assert reference.value == 1
    assert {metric.at["contender"] for metric in pick(timed, "speedup")} == {
        "reference",
        "als",
        "compressed als",
        "SCOUP",
    }


def test_speedup_contenders_of_the_full_fit_reach_the_same_cost(timed):
    for name in ("als", "compressed als"):
        assert pick(timed, "relative_cost", contender=name)[0].value == pytest.approx(1, rel=1e-6)


def test_speedup_workers_do_not_change_the_cost(timed):
    for finish in ("none", "complete"):
        costs = {
            metric.value
            for metric in pick(timed, "relative_cost", contender="SCOUP", finish=finish)
        }
        assert len(costs) == 1


@pytest.mark.parametrize("module", ["accuracy", "missing", "sparsity", "speedup"])
def test_claims_carry_the_experiment_and_its_provenance(
    module, measured, holes, timed, data, full, runs
):
    found = {
        "accuracy": measured,
        "missing": [
            *holes,
            *(replace(m, at={**m.at, "fraction": 0.5}) for m in pick(holes, "snr")),
        ],
        "sparsity": sparsity.measure(
            data,
            {"half": runs},
            full.factors,
            ["none", "complete"],
            replace(CONTEXT, experiment="sparsity"),
        ),
        "speedup": timed,
    }[module]
    claims = {"accuracy": accuracy, "missing": missing, "sparsity": sparsity, "speedup": speedup}[
        module
    ].claims(found)
    assert claims
    assert {claim.experiment for claim in claims} == {module}
    assert {claim.provenance for claim in claims} == {"simulated"}
