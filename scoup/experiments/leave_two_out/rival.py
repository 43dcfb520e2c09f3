"""The rival of leave-two-out: ridge regression from answers to images, all folds at once."""

import numpy as np

from scoup.experiments.leave_two_out.folds import Matches, join_matches
from scoup.experiments.leave_two_out.prepared import (
    PreparedFolds,
    Products,
    Setting,
    batches,
    prepare,
)
from scoup.records import Array


def match_ridge(data: Products, held: Array, alpha: float) -> Matches:
    """Compare under ridge regression from the standardised answers to the images as they are."""
    parts = []
    for part in batches(held, data.nouns, data.subjects, 1):
        parts.append(ridge_folds(prepare(data, held[part], Setting(1)), held[part], alpha))
    return join_matches(parts)


def ridge_folds(fold: PreparedFolds, held: Array, alpha: float) -> Matches:
    """Solve the regression in its dual form, for every prepared fold and subject."""
    mask = fold.train[:, :, None] * fold.train[:, None, :]
    system = fold.answers * mask + alpha * np.eye(mask.shape[1])
    cross = np.take_along_axis(fold.answers, held[:, :, None], axis=1) * fold.train[:, None, :]
    dual = np.linalg.solve(system, cross.transpose(0, 2, 1)).transpose(0, 2, 1)[:, None]
    guesses = dual @ fold.images  # (b, K, h, n): products with every image
    dots = np.take_along_axis(guesses, held[:, None, None, :], axis=3).transpose(0, 3, 2, 1)
    guess_norms = np.einsum("bkhi,bchi->bhk", guesses, dual)
    image_norms = np.take_along_axis(fold.norms, held[..., None], axis=1)
    return Matches.of(dots, image_norms, guess_norms)
