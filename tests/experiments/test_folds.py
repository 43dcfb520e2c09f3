"""Products over all folds at once equal those of each fold prepared alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoup.experiments.leave_two_out.folds import starts
from scoup.experiments.leave_two_out.prepared import Products, Setting, prepare
from scoup.seeds import generator


def case(seed, nouns=8, questions=5, subjects=2):
    rng = generator(seed, "tests", "folds")
    images = rng.standard_normal((nouns * subjects, 30))
    answers = np.round(rng.uniform(1, 5, (nouns, questions)))
    # The same for all nouns but the two that the first fold leaves out.
    answers[2:, 0] = answers[2, 0]
    products = Products((images @ images.T).reshape(nouns, subjects, nouns, subjects), answers)
    return products, np.array([[0, 1], [2, 5]])


def prepared_alone(answers, held, setting):
    """Centre and scale one table of answers by its training nouns, the long way."""
    known = np.delete(answers, held, axis=0)
    if setting.centre or setting.standardise:
        answers = answers - known.mean(axis=0)
    spread = known.std(axis=0)
    return answers / np.where(spread > 1e-9, spread, 1.0) if setting.standardise else answers


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.booleans())
def test_answers_are_centred_and_scaled_by_the_nouns_a_fold_trains_on(seed, centre, standardise):
    data, held = case(seed)
    setting = Setting(2, centre=centre, standardise=standardise)
    for fold, pair in zip(prepare(data, held, setting).answers, held, strict=True):
        rows = prepared_alone(data.answers, pair, setting)
        np.testing.assert_allclose(fold, rows @ rows.T, atol=1e-9)


@pytest.mark.parametrize("rank", [1, 3])
def test_a_start_is_the_leading_vectors_of_the_training_nouns(rank):
    data, held = case(0)
    fold = prepare(data, held, Setting(rank))
    masked = fold.answers * fold.train[:, :, None] * fold.train[:, None, :]
    for number, vectors in enumerate(starts(fold, rank)):
        weights = fold.weights[number]
        whole = np.linalg.eigh(weights[0] * fold.summed[number] + weights[1] * masked[number])[1]
        np.testing.assert_allclose(
            np.abs(vectors @ whole[:, : -rank - 1 : -1]), np.eye(rank), atol=1e-8
        )
        assert np.abs(vectors[:, held[number]]).max() < 1e-8
