"""The rival of leave-two-out: ridge regression from answers to images, all folds at once."""

import numpy as np

from scoup.experiments.leave_two_out.folds import (
    Matches,
    PreparedFolds,
    Products,
    Setting,
    batches,
    join_matches,
    prepare,
)
from scoup.records import Array


def match_ridge(data: Products, held: Array, alpha: float) -> Matches:
    """Compare under ridge regression from the standardised answers."""
    parts = []
    for part in batches(held, data.nouns, data.subjects, 1):
        fold = prepare(data, held[part], Setting(1))
        parts.append(_ridge_folds(data, fold, held[part], alpha))
    return join_matches(parts)


def _ridge_folds(data: Products, fold: PreparedFolds, held: Array, alpha: float) -> Matches:
    """Solve the regression in its dual form, for every fold and subject."""
    mask = fold.train[:, :, None] * fold.train[:, None, :]
    system = fold.answers * mask + alpha * np.eye(data.nouns)
    cross = np.take_along_axis(fold.answers, held[:, :, None], axis=1) * fold.train[:, None, :]
    dual = np.linalg.solve(system, cross.transpose(0, 2, 1)).transpose(0, 2, 1)
    blocks = np.einsum("ikjk->kij", data.images)
    mixed = np.einsum("bhj,kji->bhik", dual, blocks, optimize=True)
    share = fold.train / fold.train.sum(axis=1, keepdims=True)
    mean = np.einsum("kij,bj->bik", blocks, share, optimize=True)
    weight = dual.sum(axis=2)[:, :, None, None]
    centre = np.einsum("bhik,bi->bhk", mixed, share)[:, :, None, :]
    grand = np.einsum("bik,bi->bk", mean, share)[:, None, None, :]
    mixed = mixed - centre - weight * (mean[:, None] - grand)
    dots = np.take_along_axis(mixed, held[:, None, :, None], axis=2).transpose(0, 2, 1, 3)
    guess_norms = np.einsum("bhik,bhi->bhk", mixed, dual)
    image_norms = np.take_along_axis(fold.norms, held[..., None], axis=1)
    return Matches.of(dots, image_norms, guess_norms)
