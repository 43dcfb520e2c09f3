"""Batched folds equal single fits, never see their test nouns, and decide planted pairs."""

from itertools import combinations

import numpy as np
import pytest

from scoup.coupled import CoupledData, Dataset
from scoup.errors import ScoupError
from scoup.experiments import leave_two_out
from scoup.experiments._records import Inputs, Model
from scoup.experiments.leave_two_out import choices, folds, rival, stable
from scoup.experiments.leave_two_out import measure as experiment
from scoup.experiments.leave_two_out.folds import Matches, Setting
from scoup.fit import fit
from scoup.project import dictionary, expand, project
from scoup.records import Context, Labels, pick
from scoup.seeds import generator
from scoup.specs import FitSpec, PlanSpec

NOUNS, VOXELS, SUBJECTS, QUESTIONS = 20, 40, 3, 25
SPEC = leave_two_out.Spec(
    datasets=["planted"], pairs=[["noun0", "noun1"]], runs=3, pair_weights=["paper", 10.0],
    ranks=[2, 3], weights=[1.0, 100.0], ridges=[0.1], groups=5, sweeps=15, alpha=20.0,
    shuffles=2, parts=3,
)  # fmt: skip
PLAN = PlanSpec(rank=2, sampling=[1, 2, 1], shared=0.5, repetitions=2, max_iter=20)
CONTEXT = Context("leave_two_out", "planted", "whole", "pairs", 0, "simulated")


@pytest.fixture(scope="module")
def data():
    """Images and answers of the same two latent numbers of each noun, with noise."""
    rng = generator(0, "test", "nouns")
    latent, voxels, subjects, asked = (
        rng.standard_normal((n, 2)) for n in (NOUNS, VOXELS, SUBJECTS, QUESTIONS)
    )
    images = np.einsum("if,jf,kf->ijk", latent, voxels, 1 + 0.3 * subjects) + 3.0
    images += 0.5 * rng.standard_normal(images.shape)
    answers = latent @ asked.T + 0.3 * rng.standard_normal((NOUNS, QUESTIONS)) + 2.0
    return CoupledData(images, {0: answers})


@pytest.fixture(scope="module")
def inner(data):
    return folds.products(data)


def prepared(data, held, weight):
    """The same preparation, in plain numpy on the long data: a slow reference."""
    images, answers = (np.asarray(block.values) for block in data.blocks)
    keep = np.setdiff1d(np.arange(len(images)), held)
    mean, centre, spread = (
        images[keep].mean(axis=0),
        answers[keep].mean(axis=0),
        answers[keep].std(axis=0),
    )
    images, answers = images - mean, (answers - centre) / spread
    norms = np.sum(images[keep] ** 2), np.sum(answers[keep] ** 2)
    train = CoupledData(images[keep], {0: answers[keep]}, weights=(1 / norms[0], weight / norms[1]))
    return train, images[list(held)], answers[list(held)]


def reference(data, held, setting, ridge):
    """Fit one fold by the library and predict with it."""
    train, images, answers = prepared(data, held, setting.weight)
    factors = fit(
        train, FitSpec(rank=setting.rank, max_iter=1500, tol=1e-13, compress=False)
    ).factors
    latent = project(dictionary(factors, 0), answers, ridge)
    guess = np.stack([expand(factors, latent, 0, {2: k}) for k in range(images.shape[2])], axis=2)
    return Matches.of(
        np.einsum("ivk,jvk->ijk", images, guess)[None],
        np.sum(images**2, axis=1)[None],
        np.sum(guess**2, axis=1)[None],
    )


@pytest.mark.parametrize("weight", [1.0, 5.0])
def test_a_fold_of_a_batch_equals_the_librarys_own_fit(data, inner, weight):
    held, setting = np.array([[0, 5], [3, 7]]), Setting(2, weight, sweeps=1500)
    batched = folds.match_folds(inner, held, setting, [("least_squares", 0.1)])[0]
    for number, pair in enumerate(held):
        alone = reference(data, pair, setting, 0.1)
        np.testing.assert_allclose(batched.cosine[number], alone.cosine[0], atol=2e-3)
        np.testing.assert_allclose(batched.distance[number], alone.distance[0], rtol=2e-3)


def test_the_start_is_the_optimum_for_one_subject(inner):
    held = np.array([[1, 2]])
    few, many = (
        folds.match_folds(inner.only(0), held, Setting(2, 5.0, sweeps=n), [("least_squares", 0.0)])[
            0
        ]
        for n in (1, 60)
    )
    np.testing.assert_allclose(few.cosine, many.cosine, atol=1e-8)


def test_ridge_in_its_dual_form_equals_the_plain_one(data, inner):
    held, alpha = np.array([[2, 9]]), 20.0
    train, images, answers = prepared(data, held[0], 1.0)
    asked, seen = (np.asarray(train.blocks[n].values) for n in (1, 0))
    beta = np.linalg.solve(
        asked.T @ asked + alpha * np.eye(QUESTIONS), asked.T @ seen.reshape(len(seen), -1)
    )
    guess = (answers @ beta).reshape(2, VOXELS, SUBJECTS)
    cosine = np.einsum("ivk,jvk->ijk", images, guess)
    cosine /= np.linalg.norm(images, axis=1)[:, None] * np.linalg.norm(guess, axis=1)[None]
    np.testing.assert_allclose(rival.match_ridge(inner, held, alpha).cosine[0], cosine, atol=1e-10)


def test_held_out_nouns_never_touch_the_training(data, inner):
    """The fitted model stays the same when the left-out nouns are replaced by anything."""
    held, setting = np.array([[0, 5]]), Setting(2, 10.0, sweeps=5)
    images, answers = (np.asarray(block.values).copy() for block in data.blocks)
    images[[0, 5]] *= -7.0
    answers[[0, 5]] += 100.0
    other = folds.products(CoupledData(images, {0: answers}))
    models = []
    for products in (inner, other):
        fold = folds.prepare(products, held, setting)
        model = folds.fit_folds(products, fold, setting, folds.starts(fold, 2))
        models.append(
            (fold.weights, model.nouns, model.subjects, model.gram_images, model.gram_answers)
        )
    for one, two in zip(*models, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)


def test_the_choice_of_a_pair_never_looks_at_its_own_groups():
    members = choices.deal(NOUNS, 4, seed=1)
    for fold in choices.triples(4):
        held = choices.inner_held(members, [fold])[0]
        assert set(held) == set(members[list(fold)].reshape(-1))
    # A candidate that is right only inside groups 0 and 1 is never chosen for their nouns.
    table = np.zeros((2, 2, len(choices.triples(4)), 3, 1))
    for number, fold in enumerate(choices.triples(4)):
        for position, group in enumerate(fold):
            table[0, :, number, position] = group in (0, 1)
            table[1, :, number, position] = 0.5
    picks = choices.choose(table, 4)
    assert (picks[:, 0, 1] == 1).all()
    assert (picks[:, 2, 3] == 0).all()


def inputs_of(data, nouns="noun", plan=PLAN, **changes):
    """What earlier stages provide: the data with labels, and the plan of the pairs."""
    names = (nouns, "voxel", "P", "question")
    modes = ("noun", "voxel", "subject", "question")
    labels = [
        Labels(mode, np.array([f"{name}{n}" for n in range(size)]))
        for mode, name, size in zip(modes, names, data.sizes, strict=True)
    ]
    model = Model("pairs", "whole", plan, (), (), None)
    return Inputs(Dataset(data, labels), [model], **changes)


def computed(data, spec):
    """All parts of the experiment, by name."""
    return {
        part: experiment.measure_part(inputs_of(data), spec, part, 0)
        for part in leave_two_out.parts(spec)
    }


@pytest.fixture(scope="module")
def metrics(data):
    inputs = inputs_of(data, parts=computed(data, SPEC))
    return experiment.measure(inputs, SPEC, CONTEXT).metrics


def test_planted_pairs_are_decided_correctly_and_shuffled_ones_are_not(metrics):
    for contender in ("chosen", "averaged", "chosen alone", "ridge"):
        values = [metric.value for metric in pick(metrics, "accuracy", contender=contender)]
        assert min(values) > 0.8
    shuffled = [metric.value for metric in pick(metrics, "accuracy", contender="shuffled")]
    assert 0.2 < np.mean(shuffled) < 0.8


def test_every_candidate_is_reported_for_every_subject_and_decision(metrics):
    grid = pick(metrics, "accuracy", contender="grid")
    assert len(grid) == len(SPEC.candidates) * SUBJECTS * 2
    low, share, high = (
        pick(metrics, name, contender="chosen", subject="P1", decision="cosine")[0].value
        for name in ("accuracy_low", "accuracy", "accuracy_high")
    )
    assert low <= share <= high


def test_parts_joined_equal_the_whole(data, metrics):
    spec = SPEC.replace(parts=1)
    whole = experiment.measure(inputs_of(data, parts=computed(data, spec)), spec, CONTEXT).metrics
    assert [metric.at for metric in whole] == [metric.at for metric in metrics]
    np.testing.assert_allclose([m.value for m in whole], [m.value for m in metrics], atol=1e-12)


def test_stable_voxels_of_a_fold_are_those_of_its_training_nouns():
    from tests.stability import stability

    values = generator(0, "test", "stable").standard_normal((6, 60, 7))
    values[:, :, 3] = 1.0  # constant: correlated with nothing
    held = np.array([4, 50])
    training = np.setdiff1d(np.arange(60), held)
    np.testing.assert_allclose(
        stable.PresentationSums.of(values).without(held), stability(values, training), atol=1e-10
    )


def test_stable_voxels_find_the_signal(data):
    rng = generator(1, "test", "stable")
    images, answers = (np.asarray(block.values) for block in data.blocks)
    noise = rng.standard_normal((6, NOUNS, 200))
    single = [np.concatenate([np.stack([images[:, :, k]] * 6), noise], axis=2) for k in range(2)]
    every = experiment.all_pairs(NOUNS)[::10]
    margins = stable.contenders(single, answers, every, 30, Setting(2, 10.0, sweeps=1), 20.0)
    assert all(choices.right(margin).mean() > 0.8 for margin in margins.values())


def test_stable_voxels_need_single_presentations(inner):
    spec = SPEC.replace(stable=5)
    with pytest.raises(
        ScoupError,
        match="stable: expected single presentations of each subject, got none; write stable: 0",
    ):
        experiment.fold_tables(inner, spec, 0, 0)


def test_margins_are_the_papers_rule():
    rng = generator(0, "test", "margins")
    distance, cosine = rng.random((2, 1, 2, 2, 1))
    margin = choices.margins(Matches(distance, cosine))[:, 0, 0, 1, 0]
    d, c = distance[0, :, :, 0], cosine[0, :, :, 0]
    assert margin[0] == pytest.approx(d[0, 1] + d[1, 0] - d[0, 0] - d[1, 1])
    assert margin[1] == pytest.approx(c[0, 0] + c[1, 1] - c[0, 1] - c[1, 0])


def test_bootstrap_brackets_the_share_and_is_wider_than_binomial():
    every = np.array(list(combinations(range(20), 2)))
    good = (generator(0, "test", "bootstrap").random(20) < 0.6).astype(float)
    right = (good[every].sum(axis=1) > 0).astype(float)[:, None]
    low, high = choices.bootstrap(right, every, seed=0)
    assert low[0] <= right.mean() <= high[0]
    bounds = choices.binomial_bounds(len(every))
    assert high[0] - low[0] > bounds[1] - bounds[0]


def test_every_noun_is_in_one_group_whether_or_not_groups_divide_them():
    for nouns, count in ((12, 4), (13, 4), (47, 6)):
        members = choices.deal(nouns, count, seed=0)
        groups = [set(group.tolist()) for group in members]
        assert sum(map(len, groups)) == nouns == len(set.union(*groups))
        assert {len(group) for group in groups} <= {members.shape[1], members.shape[1] - 1}


def test_groups_that_are_too_small_are_refused():
    with pytest.raises(
        ScoupError,
        match="groups: expected four or more, of two of the 9 things or more each, got 5",
    ):
        choices.deal(9, 5, seed=0)


def test_missing_cells_are_refused():
    images = np.ones((4, 3, 2))
    images[0, 0, 0] = np.nan
    with pytest.raises(ScoupError, match="without missing cells"):
        folds.products(CoupledData(images, {0: np.ones((4, 2))}))


def test_runs_of_scoup_decide_a_planted_pair_correctly(data, metrics):
    named = pick(metrics, "pair_accuracy", pair="noun0/noun1", runs=3)
    assert len(named) == 2 * 2 * 2 * SUBJECTS
    ours = [m.value for m in pick(named, "pair_accuracy", weight=10.0, rule="least_squares")]
    assert np.mean(ours) > 0.8
    one, other = (experiment.measure_part(inputs_of(data), SPEC, "pair0", 0) for _ in range(2))
    assert np.array_equal(one["won"], other["won"])


def test_a_pair_that_is_no_noun_is_refused(data):
    with pytest.raises(
        ScoupError, match=r"pairs: expected labels of the things \(nouns\), got 'noun0'"
    ):
        experiment.measure_part(inputs_of(data, nouns="thing"), SPEC, "pair0", 0)


def test_claims_read_the_metrics_of_a_run(metrics):
    judged = experiment.claims(metrics)
    assert len(judged) == 2


def test_the_figure_names_the_data_set_of_a_subject_if_there_are_several(metrics):
    from dataclasses import replace

    from scoup.experiments.leave_two_out.figure import leave_two_out as draw

    ticks = draw(metrics, []).subfigs[0].axes[0].get_xticklabels()
    assert [tick.get_text() for tick in ticks] == ["P0", "P1", "P2"]
    others = [replace(metric, dataset="other") for metric in metrics]
    ticks = draw([*metrics, *others], []).subfigs[0].axes[0].get_xticklabels()
    assert [tick.get_text() for tick in ticks][:4] == [
        "other P0",
        "other P1",
        "other P2",
        "planted P0",
    ]
