"""The planted rank is found, noise is called noise, and every number of a scan is right."""

import numpy as np
import pytest

from benchmarks.ranks import planted
from scoup import CoupledData, Factors
from scoup.coupled import Dataset
from scoup.errors import ScoupError
from scoup.evidence import Context, pick
from scoup.experiments._records import Inputs, Model
from scoup.experiments.rank import Spec
from scoup.experiments.rank import measure as rank
from scoup.experiments.rank.figure import rank as draw
from scoup.experiments.rank.recommend import recommend
from scoup.experiments.rank.scan import DEFAULT_FIT, Look, agreement, derived_seed, scan, split
from scoup.factors import matrix_of, tensor_of, upright
from scoup.records import Fit, FitReport, Labels
from scoup.seeds import generator
from scoup.specs import PlanSpec

CONTEXT = Context("rank", "planted", "whole", "full", 0, "simulated")
SETTINGS = {"ranks": range(1, 6), "folds": 3, "starts": 2, "halves": 2}


def look(number, errors, weakest=1.0, seeds=1.0, core=100.0, triple=0.0):
    """One rank of a made-up scan."""
    factors = Factors(np.ones(number), tuple(np.eye(6)[:, :number] for _ in range(3)))
    fit = Fit(factors, FitReport((1.0,), {"tensor": 1.0}, {"tensor": 0.5}, "converged", "als"))
    again = np.full((2, number), seeds)
    halves = np.ones((3, number))
    halves[:, 0] = weakest
    return Look(number, fit, np.asarray(errors, dtype=float), again, halves, core, triple)


def curve(*middles, spread=0.01):
    """Errors of five folds about each middle; folds differ by the same amounts at every rank."""
    return [np.array(middle) + spread * np.arange(-2, 3) for middle in middles]


@pytest.mark.parametrize("seed", range(3))
def test_the_planted_rank_is_recommended(seed):
    data, truth = planted(seed, ranks=(2, 4), sizes=(14, 24))
    advice = recommend(scan(data, **SETTINGS))
    assert advice.rank == truth, advice
    assert len(advice.reasons) == 2


def test_pure_noise_is_not_sure():
    data, _ = planted(0, "noise", sizes=(14, 24))
    advice = recommend(scan(data, **SETTINGS))
    assert advice.rank is None
    assert "better than zero" in advice.reasons[0]


def test_hidden_cells_touch_no_fit_that_predicts_them():
    """With the hidden cells replaced by anything, a fold's model is the same."""
    data, _ = planted(1, sizes=(10, 14))
    from scoup.fit import fit
    from scoup.holdout import hold_out

    models, spec, seed = [], DEFAULT_FIT.replace(rank=2), derived_seed(0, 0)
    for change in (0.0, 1000.0):
        fold = hold_out(data, 0.1, seed)
        values = np.asarray(data.tensor).copy()
        values[tuple(fold.coords)] += change
        again = hold_out(CoupledData(values, data.matrices), 0.1, seed)
        assert np.array_equal(again.coords, fold.coords)
        models.append(fit(again.data, spec, seed).factors.flat)
    for one, other in zip(*models, strict=True):
        assert np.array_equal(one, other)


def test_a_fold_that_went_astray_at_one_rank_does_not_discredit_the_others():
    *errors, last = curve(0.5, 0.1, 0.09, spread=0.001)
    last[1] = 20.0
    looks = [look(n + 1, error) for n, error in enumerate([*errors, last])]
    assert recommend(looks).rank == 2


def test_the_smallest_of_ranks_that_predict_alike_is_not_preferred_to_a_larger_stable_one():
    errors = curve(0.5, 0.201, 0.2, 0.2)
    looks = [
        look(n + 1, error, weakest)
        for n, (error, weakest) in enumerate(zip(errors, (1, 1, 0.9, 0.1), strict=True))
    ]
    assert recommend(looks).rank == 3


def test_a_component_is_not_negligible_because_the_first_explains_nearly_everything():
    errors = curve(0.18, 0.1, 0.0925, 0.0837, 0.084)
    stable = (1, 1, 0.7, 0.5, 0.1)
    advice = recommend(
        [
            look(n + 1, one, weakest)
            for n, (one, weakest) in enumerate(zip(errors, stable, strict=True))
        ]
    )
    assert (advice.rank, advice.shown) == (None, 3)


def test_a_curve_that_still_falls_is_not_sure():
    advice = recommend([look(n + 1, error) for n, error in enumerate(curve(0.8, 0.6, 0.4))])
    assert advice.rank is None
    assert "try larger" in advice.reasons[0]
    assert advice.shown == 2


def test_components_that_do_not_come_back_are_not_sure_and_the_stable_rank_is_named():
    errors = curve(0.8, 0.4, 0.4)
    looks = [
        look(n + 1, error, weakest)
        for n, (error, weakest) in enumerate(zip(errors, (1, 0.1, 0.1), strict=True))
    ]
    advice = recommend(looks)
    assert (advice.rank, advice.shown) == (None, 1)
    assert "is 1; it predicts worse" in advice.reasons[-1]


def test_one_fold_in_a_local_minimum_does_not_decide():
    errors = curve(0.8, 0.2, 0.201)
    errors[1] = errors[1].copy()
    errors[1][0] = 0.5
    looks = [
        look(n + 1, error, weakest)
        for n, (error, weakest) in enumerate(zip(errors, (1, 1, 0.1), strict=True))
    ]
    assert recommend(looks).rank == 2


def test_what_speaks_against_the_chosen_rank_is_said():
    looks = [look(1, error) for error in curve(0.8)] + [
        look(2, error, triple=-0.99, core=5.0, seeds=0.2) for error in curve(0.3)
    ]
    advice = recommend([*looks, look(3, curve(0.3)[0], weakest=0.0)])
    assert advice.rank == 2
    assert [text.split()[0] for text in advice.warnings] == ["Degenerate", "Core", "Different"]


def test_halves_share_no_row_of_the_mode_that_is_split():
    data = CoupledData(
        np.arange(4 * 9 * 3.0).reshape(4, 9, 3) + 1, {1: np.arange(9.0)[:, None] + 1}
    )
    mode, one, two = split(data, seed=3, number=1)
    assert mode == 1
    rows = np.concatenate([part.matrices[1][0][:, 0] for part in (one, two)])
    assert sorted(rows) == list(np.arange(9.0) + 1)
    assert np.array_equal(one.tensor[:, 0, :], data.tensor[:, int(one.matrices[1][0][0, 0]) - 1, :])


def test_agreement_is_the_factor_match_score_in_parts():
    from scoup.match import factor_match_score

    rng = np.random.default_rng(0)
    one, other = ([rng.standard_normal((7, 3)) for _ in range(3)] for _ in range(2))
    assert agreement(one, other).mean() == pytest.approx(factor_match_score(one, other))
    assert np.all(np.diff(agreement(one, other)) >= 0)


def test_upright_keeps_the_model_and_points_up():
    rng = np.random.default_rng(0)
    modes = tuple(rng.standard_normal((n, 3)) for n in (5, 6, 7))
    factors = Factors(np.array([2.0, -1.0, 0.5]), modes, {1: rng.standard_normal((4, 3))})
    turned = upright(factors)
    np.testing.assert_allclose(tensor_of(turned), tensor_of(factors))
    np.testing.assert_allclose(matrix_of(turned, 1), matrix_of(factors, 1))
    assert (turned.weights > 0).all()
    down = [(mode**3).sum(axis=0) < 0 for mode in turned.modes]
    assert np.sum(down, axis=0).max() <= 1  # at most one mode gives way
    for one, other in zip(upright(turned).flat, turned.flat, strict=True):
        assert np.array_equal(one, other)


def test_the_strongest_labels_are_named_with_their_signs():
    column = np.array([[0.1], [0.9], [-0.2]])
    labels = [Labels(name, np.array(["a", "b", "c"])) for name in ("x", "y", "z")]
    rows = rank.strongest(Factors(np.ones(1), (column, column, column)), labels, top=2)
    assert [(row["mode"], row["label"], row["loading"]) for row in rows[:2]] == [
        ("x", "b", 0.9),
        ("x", "c", -0.2),
    ]
    assert len(rows) == 6


@pytest.fixture(scope="module")
def scanned():
    data, _ = planted(2, ranks=(2, 3), sizes=(10, 14))
    return data, scan(data, ranks=(1, 2, 3), folds=2, starts=2, halves=1)


def test_every_measure_is_there_for_every_rank(scanned):
    metrics = rank.scan_metrics(scanned[1], CONTEXT)
    for name, count in [
        ("held_out_error", 2),
        ("match_seeds", 1),
        ("match_halves", 1),
        ("block_fit", 2),
        ("core_consistency", 1),
    ]:
        assert len(pick(metrics, name, rank=2)) == count, name
    assert len(pick(metrics, "recommended_rank")) == 1
    fits = [pick(metrics, "block_fit", rank=r, block="tensor")[0].value for r in (1, 2, 3)]
    assert fits == sorted(fits)


def test_missing_cells_leave_core_consistency_out(scanned):
    values = np.asarray(scanned[0].tensor).copy()
    values[0, 0, 0] = np.nan
    looks = scan(CoupledData(values), ranks=(1, 2), folds=2, starts=1, halves=1)
    metrics = rank.scan_metrics(looks, CONTEXT)
    assert not pick(metrics, "core_consistency")
    assert pick(metrics, "held_out_error")
    facts = rank.summary(looks, Dataset(CoupledData(values)), 2, CONTEXT)
    assert draw(metrics, [(facts, {})]).axes


@pytest.mark.parametrize(
    ("middles", "words"),
    [
        ((0.9, 0.5, 0.2), "try larger ones"),  # still falling: not sure
        ((0.9, 0.2, 0.2), "Rank 3 is the largest that was tried: try larger ones."),
        ((0.2,), "Rank 1 is the only one that was tried: try others."),
        ((0.9, 0.2, 0.4, 0.4), ""),
    ],
)
def test_the_end_of_the_ranks_is_named_where_it_is_chosen(middles, words):
    advice = recommend([look(n, errors) for n, errors in enumerate(curve(*middles), start=1)])
    text = " ".join([*advice.reasons, *advice.warnings])
    assert words in text
    assert bool(words) == ("try" in text)


def test_the_figure_of_one_rank_shows_every_fold(scanned):
    data, looks = scanned
    facts = rank.summary(looks[1:2], Dataset(data), 3, CONTEXT)
    panels = draw(rank.scan_metrics(looks[1:2], CONTEXT), [(facts, {})]).axes
    for axes in panels:
        assert [
            tick for tick in axes.get_xticks() if axes.get_xlim()[0] <= tick <= axes.get_xlim()[1]
        ]
    folds = [line for line in panels[1].lines if line.get_marker() == "."]
    assert len(folds) == looks[1].errors.size


def test_the_figure_says_what_is_recommended_and_why(scanned):
    data, looks = scanned
    facts = rank.summary(looks, Dataset(data), 3, CONTEXT)
    drawing = draw(rank.scan_metrics(looks, CONTEXT), [(facts, {})])
    texts = [artist.get_text() for artist in drawing.findobj(lambda a: hasattr(a, "get_text"))]
    assert any(facts["words"] in text and facts["reasons"][0][:40] in text for text in texts)


def test_matrices_are_called_by_what_their_rows_and_columns_are():
    rng = generator(0, "test", "names")
    data = CoupledData(rng.standard_normal((6, 5, 4)), {0: rng.standard_normal((6, 3))})
    names = ("wall", "poster", "day", "friend")
    labels = [Labels(name, np.arange(size)) for name, size in zip(names, data.sizes, strict=True)]
    looks = scan(data, ranks=(1,), folds=2, starts=1, halves=1)
    facts = rank.summary(looks, Dataset(data, labels), 3, CONTEXT)
    drawing = draw(rank.scan_metrics(looks, CONTEXT), [(facts, {})])
    assert "wall x friend" in [text.get_text() for text in drawing.axes[0].get_legend().get_texts()]


def test_the_experiment_scans_the_data_as_its_plan_sees_it(scanned):
    data, _ = scanned
    spec = Spec(datasets=["planted"], plan="full", ranks=[1, 2], folds=2, starts=1, halves=1)
    plan = PlanSpec(rank=5, max_iter=20, tol=1e-3, weights=[1, 0])
    inputs = Inputs(Dataset(data), [Model("full", "whole", plan, (), (), None)])
    outcome = rank.measure(inputs, spec, CONTEXT)
    assert {metric.at["block"] for metric in pick(outcome.metrics, "block_fit")} == {"tensor"}
    assert outcome.notes["words"] == outcome.facts["words"]
    settings = {"folds": 2, "starts": 1, "halves": 1}
    fit_spec = DEFAULT_FIT.replace(max_iter=20, tol=1e-3)
    looks = scan(CoupledData(data.tensor), [1, 2], **settings, fit_spec=fit_spec)
    expected = rank.scan_metrics(looks, CONTEXT)
    assert [m.value for m in outcome.metrics] == [m.value for m in expected]


def test_non_negative_factors_are_drawn_next_to_the_scan():
    rng = generator(0, "test", "parts")
    data = CoupledData(tensor_of(Factors(np.ones(2), tuple(rng.random((9, 2)) for _ in range(3)))))
    spec = Spec(datasets=["planted"], plan="full", ranks=[1, 2], folds=2, starts=2, halves=1)
    plan = PlanSpec(rank=2, max_iter=200, tol=1e-8)
    plans = {"full": plan, "parts": plan.replace(constraints="nonnegative")}
    models = [Model(name, "whole", plan, (), (), None) for name, plan in plans.items()]
    alone, both = (
        rank.measure(Inputs(Dataset(data), models), chosen, CONTEXT)
        for chosen in (spec, spec.replace(nonnegative="parts"))
    )
    assert both.metrics[: len(alone.metrics)] == alone.metrics
    fits = [run.value for run in pick(both.metrics, "block_fit", plan="parts")]
    assert fits[0] < fits[1]
    assert fits[1] > 0.999  # the factors that it was made of do not go below zero
    assert len(pick(both.metrics, "match_seeds", plan="parts")) == 2
    labels = draw(both.metrics, [(both.facts, {})]).axes[0].get_legend().get_texts()
    assert [text.get_text() for text in labels] == ["tensor", "tensor, non-negative"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ranks": []}, "ranks: expected at least one rank, got none"),
        ({"hidden": 0.9}, "hidden: expected a number from 0.01 to 0.5, got 0.9"),
        ({"folds": 1}, "folds: expected an integer of at least 2, got 1"),
    ],
)
def test_a_wrong_setting_is_refused_in_a_sentence(settings, message):
    with pytest.raises(ScoupError, match=message):
        scan(CoupledData(np.ones((3, 3, 3))), **{"ranks": [1], **settings})
