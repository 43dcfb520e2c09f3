"""Batched folds equal single fits, never see their test nouns, and decide planted pairs."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from scoup import plot
from scoup.coupled import CoupledData, Dataset
from scoup.errors import ScoupError
from scoup.evidence import Context, pick
from scoup.experiments import leave_two_out
from scoup.experiments._records import Inputs, Model
from scoup.experiments.leave_two_out import choices, folds, grid, pairs, prepared, rival, stable
from scoup.experiments.leave_two_out import measure as experiment
from scoup.experiments.leave_two_out.folds import Matches
from scoup.experiments.leave_two_out.prepared import Setting
from scoup.experiments.leave_two_out.tables import Extras, all_pairs, fold_tables
from scoup.fit import fit
from scoup.noise import NoiseNormalizer
from scoup.project import dictionary, expand, project
from scoup.records import Labels
from scoup.seeds import generator
from scoup.specs import FitSpec, PlanSpec

NOUNS, VOXELS, SUBJECTS, QUESTIONS = 20, 40, 3, 25
SPEC = leave_two_out.Spec(
    datasets=["planted"], pairs=[["noun0", "noun1"]], runs=3, pair_weights=["paper", 10.0],
    ranks=[2, 3], weights=[1.0, 100.0], ridges=[0.1], groups=5, sweeps=15, alpha=20.0,
    shuffles=2, parts=3, noise="shrunk", strengths=[0.1, 0.3], alphas=[20.0, 60.0, 200.0], best=2,
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
    return prepared.products(data)


def plainly_prepared(data, held, weight, strength=None):
    """The same preparation, in plain numpy on the long data: a slow reference."""
    images, answers = (np.asarray(block.values) for block in data.blocks)
    keep = np.setdiff1d(np.arange(len(images)), held)
    mean, centre, spread = (
        images[keep].mean(axis=0),
        answers[keep].mean(axis=0),
        answers[keep].std(axis=0),
    )
    if strength is not None:
        # Normalising takes the mean away as well.
        normalizer = NoiseNormalizer(1, strength=strength)
        images = normalizer.fit(CoupledData(images[keep], {0: answers[keep]})).transform(images)
        mean = 0.0
    images, answers = images - mean, (answers - centre) / spread
    norms = np.sum(images[keep] ** 2), np.sum(answers[keep] ** 2)
    train = CoupledData(images[keep], {0: answers[keep]}, weights=(1 / norms[0], weight / norms[1]))
    return train, images[list(held)], answers[list(held)]


def reference(data, held, setting, ridge):
    """Fit one fold by the library and predict with it."""
    train, images, answers = plainly_prepared(data, held, setting.weight)
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
        for n in (0, 60)
    )
    np.testing.assert_allclose(few.cosine, many.cosine, atol=1e-8)


@pytest.mark.parametrize("strength", [None, 0.3])
def test_ridge_in_its_dual_form_equals_the_plain_one(data, inner, strength):
    held, alpha = np.array([[2, 9]]), 20.0
    train, images, answers = plainly_prepared(data, held[0], 1.0, strength)
    asked, seen = (np.asarray(train.blocks[n].values) for n in (1, 0))
    beta = np.linalg.solve(
        asked.T @ asked + alpha * np.eye(QUESTIONS), asked.T @ seen.reshape(len(seen), -1)
    )
    guess = (answers @ beta).reshape(2, VOXELS, SUBJECTS)
    cosine = np.einsum("ivk,jvk->ijk", images, guess)
    cosine /= np.linalg.norm(images, axis=1)[:, None] * np.linalg.norm(guess, axis=1)[None]
    fold = prepared.prepare(inner, held, Setting(1, strength=strength))
    matches = rival.ridge_folds(fold, held, alpha)
    np.testing.assert_allclose(matches.cosine[0], cosine, atol=1e-10)


@pytest.mark.parametrize("perceptual", [False, True])
@pytest.mark.parametrize("strength", [None, 0.1])
def test_held_out_nouns_never_touch_the_training(data, inner, strength, perceptual):
    """What is fitted stays the same when the left-out nouns are replaced by anything."""
    held, setting = np.array([[0, 5]]), Setting(2, 10.0, sweeps=5, strength=strength)
    images, answers = (np.asarray(block.values).copy() for block in data.blocks)
    images[[0, 5]] *= -7.0
    answers[[0, 5]] += 100.0
    other = prepared.products(CoupledData(images, {0: answers}))
    if perceptual:
        measures = generator(0, "test", "measures").random((NOUNS, 3))
        inner, measures = inner.with_matrix(measures, 5.0), measures.copy()
        measures[[0, 5]] -= 50.0
        other = other.with_matrix(measures, 5.0)
    training = np.setdiff1d(np.arange(NOUNS), held)
    models = []
    for products in (inner, other):
        fold = prepared.prepare(products, held, setting)
        model = folds.fit_folds(products, fold, setting, folds.starts(fold, 2))
        fitted = [fold.weights, model.nouns, model.subjects, model.gram_images, model.gram_answers]
        fitted.append(fold.images[:, :, training][..., training])
        if fold.maps is not None:
            # No training image contains anything of a held-out one.
            assert not fold.maps[:, :, training][..., held[0]].any()
            fitted.append(fold.maps[:, :, training])
        models.append(fitted)
    for one, two in zip(*models, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-7, atol=1e-10)


def noisy(seed, nouns=24, voxels=60):
    """Weak signal in noise whose few strong directions all voxels share, for two subjects."""
    rng = generator(seed, "test", "noise")
    latent = rng.standard_normal((nouns, 2))
    answers = latent @ rng.standard_normal((2, 30)) + 0.3 * rng.standard_normal((nouns, 30))
    images = []
    for _ in range(2):
        noise = rng.standard_normal((nouns, 4)) @ rng.standard_normal((4, voxels))
        signal = 0.5 * latent @ rng.standard_normal((2, voxels))
        images.append(signal + 2 * noise + 0.5 * rng.standard_normal((nouns, voxels)))
    return prepared.products(CoupledData(np.stack(images, axis=2), {0: answers}))


def test_normalising_helps_where_noise_is_correlated():
    shares = {None: [], 0.1: []}
    for seed in range(3):
        data = noisy(seed)
        for strength, values in shares.items():
            setting = Setting(2, 10.0, sweeps=5, strength=strength)
            matches = folds.match_folds(data, all_pairs(24)[::3], setting, [("least_squares", 1)])
            values.append(choices.right(choices.margins(matches[0])[1, :, 0, 1]).mean())
    assert np.mean(shares[0.1]) > np.mean(shares[None]) + 0.1


def test_normalising_finds_nothing_in_shuffled_answers():
    shares = []
    for seed in range(12):
        data = noisy(seed).shuffled(generator(seed, "test", "shuffle").permutation(24))
        setting = Setting(2, 10.0, sweeps=5, strength=0.1)
        matches = folds.match_folds(data, all_pairs(24)[::6], setting, [("least_squares", 1.0)])
        shares.append(choices.right(choices.margins(matches[0])[1, :, 0, 1]).mean())
    assert 0.4 < np.mean(shares) < 0.6


def test_candidates_computed_together_equal_each_computed_alone(inner):
    held, setting = np.array([[0, 5], [3, 7]]), Setting(3, sweeps=4)
    ways = [("least_squares", 0.1), ("paper", 0.0)]
    candidates = grid.Grid([1.0, 10.0], [2, 3], ways, [None, 0.1], [20.0], alone=True)
    tables = grid.scores(inner, held, setting, candidates, choices.margins)
    number = 0
    for strength in (None, 0.1):
        for weight in (1.0, 10.0):
            for rank in (2, 3):
                one = Setting(rank, weight, sweeps=4, strength=strength)
                for matches in folds.match_folds(inner, held, one, ways):
                    np.testing.assert_allclose(
                        tables["model"][number], choices.margins(matches), atol=1e-8
                    )
                    number += 1
    assert len(tables["model"]) == len(tables["alone"]) == number
    single = folds.match_folds(inner.only(1), held, Setting(2, 1.0, sweeps=1), ways)[0]
    np.testing.assert_allclose(tables["alone"][0, ..., 1:2], choices.margins(single), atol=1e-8)
    ridge = choices.margins(rival.match_ridge(inner, held, 20.0))
    np.testing.assert_allclose(tables["ridge"][0], ridge, atol=1e-10)


def test_normalised_products_are_those_of_normalised_images(data, inner):
    held = np.array([[0, 5], [3, 7]])
    fold = prepared.prepare(inner, held, Setting(2, 5.0, strength=0.1))
    raw = np.asarray(data.tensor)
    for number, pair in enumerate(held):
        train, images, _ = plainly_prepared(data, pair, 5.0, 0.1)
        np.testing.assert_allclose(fold.weights[number], train.block_weights, rtol=1e-9)
        normalised = np.einsum("kij,jvk->ivk", fold.maps[number], raw)
        np.testing.assert_allclose(normalised[pair], images, atol=1e-8)
        products = np.einsum("ivk,jvk->kij", normalised, normalised)
        np.testing.assert_allclose(fold.images[number], products, atol=1e-8)


def test_as_printed_means_the_same_for_named_pairs_and_for_all_pairs(data, inner):
    """Data as it is, then every vector loses its mean over voxels."""
    held = np.array([[0, 5]])
    setting = Setting(2, "paper", centre=False, standardise=False)
    fold = prepared.prepare(inner, held, setting)
    model = folds.fit_folds(inner, fold, setting, folds.starts(fold, 2))
    named = pairs.leave_out(data, held[0], "paper")
    training = np.setdiff1d(np.arange(NOUNS), held)
    nouns, subjects = model.nouns[0][:, training], model.subjects[0]
    gram = (nouns @ nouns.T) * (subjects @ subjects.T)
    tensor, answers = (np.asarray(block.values) for block in named.data.blocks)
    voxels = np.einsum("ivk,fi,fk->vf", tensor, nouns, subjects) @ np.linalg.inv(gram)
    voxels /= np.linalg.norm(voxels, axis=0)
    asked = answers.T @ nouns.T @ np.linalg.inv(nouns @ nouns.T) * np.linalg.norm(nouns, axis=1)
    guess = named.answers @ asked * np.where(subjects.sum(axis=1) < 0, -1.0, 1.0) @ voxels.T
    guess -= guess.mean(axis=1, keepdims=True)
    images = np.asarray(data.tensor)[held[0]]
    images = images - images.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(named.images, images, atol=1e-12)
    apart = np.linalg.norm(images[:, None] - guess[None, :, :, None], axis=2)
    matches = folds.match_printed(inner, held, setting)
    np.testing.assert_allclose(matches.distance[0], apart, rtol=1e-6)


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
    picks = choices.rank_candidates(table, 4)[0]
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
    for contender in ("chosen", "chosen alone", "chosen, not normalised", "ridge", "ridge chosen"):
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


def test_a_share_and_its_interval_are_of_one_thing(metrics):
    def places(name):
        return {tuple(sorted(m.at.items())) for m in metrics if m.name == name}

    assert places("accuracy_low") == places("accuracy_high")
    assert places("accuracy_low") < places("accuracy")


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
    every = all_pairs(NOUNS)[::10]
    margins = stable.contenders(single, answers, every, 30, Setting(2, 10.0, sweeps=1), 20.0)
    assert all(choices.right(margin).mean() > 0.8 for margin in margins.values())


def test_a_second_matrix_counts_as_if_its_columns_were_there_several_times(inner):
    rng = generator(0, "test", "second")
    measures = rng.standard_normal((NOUNS, 4)) * [1, 2, 5, 0] + 3.0
    held, setting = np.array([[0, 5], [3, 7]]), Setting(2, 10.0, strength=0.1)
    weighted = prepared.prepare(inner.with_matrix(measures, 3.0), held, setting)
    repeated = replace(inner, answers=np.hstack([inner.answers, *[measures] * 3]))
    plain = prepared.prepare(repeated, held, setting)
    for name in ("answers", "images", "maps", "weights"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(plain, name), atol=1e-8)


def test_a_second_matrix_helps_both_contenders_where_the_first_says_little():
    spec = SPEC.replace(
        ranks=[2], weights=[10.0], strengths=[0.1], shuffles=8, parts=1, perceptual=[1.0, 5.0]
    )
    rng = generator(2, "test", "second")
    latent = rng.standard_normal((NOUNS, 2))
    images = latent @ rng.standard_normal((2, 30)) + 0.3 * rng.standard_normal((NOUNS, 30))
    data = CoupledData(images[:, :, None], {0: rng.standard_normal((NOUNS, 6))})
    measures = latent @ rng.standard_normal((2, 5)) + 0.2 * rng.standard_normal((NOUNS, 5))
    tables = fold_tables(prepared.products(data), spec, 0, 0, Extras(perceptual=measures))
    assert len(tables.outer["ridge, perceptual"]) == 3 * len(tables.outer["ridge"])
    found = experiment.measure_folds(tables, spec, ["P1"], CONTEXT)

    def share(contender):
        return np.mean([metric.value for metric in pick(found, "accuracy", contender=contender)])

    for contender in ("chosen", "ridge chosen"):
        assert share(contender) < 0.7
        assert share(f"{contender}, perceptual") > 0.8
    assert 0.3 < share("shuffled, perceptual") < 0.7


def test_perceptual_measures_must_be_in_the_data(inner):
    with pytest.raises(ScoupError, match="perceptual: expected measures of words and pictures"):
        fold_tables(inner, SPEC.replace(perceptual=[1.0]), 0, 0)


def test_stable_voxels_need_single_presentations(inner):
    spec = SPEC.replace(stable=5)
    with pytest.raises(
        ScoupError,
        match="stable: expected single presentations of each subject, got none; write stable: 0",
    ):
        fold_tables(inner, spec, 0, 0)


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
        prepared.products(CoupledData(images, {0: np.ones((4, 2))}))


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
    assert [claim.setting[:8] for claim in judged] == ["full ALS"] * 3
    assert all(claim.controls for claim in judged)


def test_choices_at_the_end_of_a_list_are_counted_and_named(metrics):
    spec = SPEC.replace(ranks=[1, 2, 3])
    settings = experiment._settings("model", spec)
    ranking = np.zeros((len(spec.candidates), 2, 4, 4, 1), dtype=int)
    last = [n for n, candidate in enumerate(spec.candidates) if candidate["rank"] == 3]
    ranking[0, 1, 0] = last[0]
    found = list(experiment._ends(ranking, settings, CONTEXT, contender="chosen"))
    shares = {(m.at["setting"], m.at["end"], m.at["decision"]): m.value for m in found}
    assert shares["ranks", "largest", "distance"] == 0
    assert shares["ranks", "largest", "cosine"] == 0.25
    assert shares["ranks", "smallest", "distance"] == 1
    words = "; 1, the smallest of ranks, is chosen in 100% of the folds: try smaller ones"
    assert words in experiment._ends_text(found, "chosen", "distance")
    assert words not in experiment._ends_text(found, "ridge chosen", "distance")
    assert [metric for metric in metrics if metric.name == "choices_at_end"]


def test_the_figure_of_one_rank_shows_all_curves(metrics):
    one = min(metric.at["rank"] for metric in metrics if metric.at.get("contender") == "grid")
    kept = [metric for metric in metrics if metric.at.get("rank", one) == one]
    axes = plot.draw("leave_two_out", kept).subfigs[1].axes[0]
    points = [line for line in axes.lines if len(line.get_xdata()) == 1]
    assert points
    assert all(line.get_marker() not in ("", "None") for line in points)


def test_the_best_subjects_of_a_pair_are_no_finding_if_shuffled_answers_do_as_well():
    context = CONTEXT.on(plan="pairs")
    at = {"pair": "closet/watch", "weight": "paper", "rule": "paper", "decision": "distance"}
    runs = [context.metric(experiment.PICKED, 0.87, contender="runs", **at)]
    for null, verdict in ((0.8, "holds"), (1.0, "cannot tell")):
        at = {"contender": "shuffled", "decision": "distance"}
        shuffled = [
            context.metric(experiment.PICKED, null, **at),
            context.metric(experiment.PASSED, 0.7, **at),
        ]
        (claim,) = experiment.claims([*runs, *shuffled])
        assert claim.verdict == verdict
        assert "70% of all pairs" in claim.note


def test_the_figure_names_the_data_set_of_a_subject_if_there_are_several(metrics):
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


def null(value):
    """Ridge and shuffled answers decide as many pairs correctly."""
    share, metrics = min(value, 1.0), []
    for decision in choices.DECISIONS:
        for contender in ("chosen", "as printed", "ridge chosen", "shuffled"):
            at = {"contender": contender, "decision": decision}
            metrics.append(CONTEXT.metric(experiment.ACCURACY, share, **at))
        for measure in (experiment.PICKED, experiment.PASSED):
            at = {"contender": "shuffled", "decision": decision}
            metrics.append(CONTEXT.metric(measure, share, **at))
    for pair in ("closet/watch", "knife/beetle"):
        at = {"pair": pair, "weight": "paper", "rule": "paper", "decision": "distance"}
        metrics.append(CONTEXT.metric(experiment.PICKED, share, contender="runs", **at))
    return metrics
