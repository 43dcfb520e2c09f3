"""Many leave-some-nouns-out fits at once, from the inner products of the data alone.

Least squares sees the long modes only through inner products: with ``K`` the Gram matrix of the
images (noun and subject, over voxels) and ``L`` that of the answers (nouns, over questions),
``B = X' W`` and ``D = Y' V`` for small W and V, so that one sweep of ALS for every fold is one
product with K. This is ALS in the coordinates of the compressed voxel mode, whose basis comes from
the same K. Rows of nouns that a fold leaves out are zero in W and V: they enter neither the means,
nor the weights, nor the fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scoup.experiments.leave_two_out.prepared import (
    TINY,
    PreparedFolds,
    Products,
    Setting,
    batches,
    prepare,
)
from scoup.records import Array


@dataclass(frozen=True, eq=False)
class Matches:
    """How well image i fits prediction j, for the h nouns that a fold leaves out: (b, h, h, K)."""

    distance: Array
    cosine: Array

    @staticmethod
    def of(dots: Array, images: Array, guesses: Array) -> Matches:
        """Build both from ``v_i . g_j`` (b, h, h, K) and squared norms (b, h, K) of v and g."""
        images, guesses = images[:, :, None, :], guesses[:, None, :, :]
        distance = np.sqrt(np.maximum(images - 2 * dots + guesses, 0.0))
        return Matches(distance, dots / np.sqrt(np.maximum(images * guesses, np.finfo(float).tiny)))


def starts(fold: PreparedFolds, rank: int) -> Array:
    """Return the leading eigenvectors (b, F, n) of the weighted products: the optimum for K = 1."""
    masked = fold.answers * fold.train[:, :, None] * fold.train[:, None, :]
    weights = fold.weights[:, :, None, None]
    sums = weights[:, 0] * fold.summed + weights[:, 1] * masked
    vectors = np.linalg.eigh(sums)[1][:, :, ::-1]
    return np.ascontiguousarray(vectors[:, :, :rank].swapaxes(1, 2))


@dataclass(frozen=True, eq=False)
class FittedFolds:
    """Fitted folds: A (b, F, n), C (b, F, K), products of B and D with the data, and their Grams.

    ``images`` (b, F, n, K) are ``x_ik . B``, ``answers`` (b, F, n) are ``V' Y``.
    """

    nouns: Array
    subjects: Array
    images: Array
    answers: Array
    gram_images: Array
    gram_answers: Array


def fit_folds(data: Products, fold: PreparedFolds, setting: Setting, start: Array) -> FittedFolds:
    """Fit every fold of a batch by ``setting.sweeps`` sweeps of ALS from ``start`` (b, F, n)."""
    flat = data.images.reshape(data.nouns * data.subjects, -1)
    nouns, subjects = start, np.ones((*start.shape[:2], data.subjects))
    for _ in range(setting.sweeps):
        model = _with_long_modes(flat, fold, nouns, subjects)
        nouns, subjects = _update(fold, model)
    return _with_long_modes(flat, fold, nouns, subjects)


def _with_long_modes(
    flat: Array, fold: PreparedFolds, nouns: Array, subjects: Array
) -> FittedFolds:
    """Solve for B and D given A and C, and return their products with the data."""
    size, rank, count = nouns.shape
    square, both = _gram(nouns), _gram(nouns) * _gram(subjects)
    pairs = (nouns[:, :, :, None] * subjects[:, :, None, :]).reshape(size, rank, -1)
    voxels = _solve(both, pairs)
    images = fold.products(flat, voxels.reshape(size, rank, count, -1))
    gram_images = voxels @ images.reshape(size, rank, -1).transpose(0, 2, 1)
    side = _solve(square, nouns)
    answers = side @ fold.answers
    gram_answers = answers @ side.transpose(0, 2, 1)
    return FittedFolds(nouns, subjects, images, answers, gram_images, gram_answers)


def _update(fold: PreparedFolds, model: FittedFolds) -> tuple[Array, Array]:
    """Solve for A given B, C, D, then for C given A and B."""
    tensor, matrix = (fold.weights[:, column, None, None] for column in (0, 1))
    pull = (
        tensor * np.matmul(model.images, model.subjects[..., None])[..., 0] + matrix * model.answers
    )
    gram = tensor * model.gram_images * _gram(model.subjects) + matrix * model.gram_answers
    nouns = _solve(gram, pull * fold.train[:, None, :])
    pull = np.matmul(nouns[:, :, None, :], model.images)[:, :, 0, :]
    subjects = _solve(model.gram_images * _gram(nouns), pull)
    return nouns, subjects


def _gram(rows: Array) -> Array:
    return rows @ rows.transpose(0, 2, 1)


def _solve(gram: Array, rhs: Array) -> Array:
    """Solve symmetric systems (b, F, F); a tiny ridge keeps degenerate ones solvable."""
    eye = np.eye(gram.shape[1])
    ridge = 1e-12 * np.trace(gram, axis1=1, axis2=2)[:, None, None] * eye + TINY * eye
    # One product with a small inverse: a solver would treat the long right-hand sides row by row.
    return np.linalg.inv(gram + ridge) @ rhs


def predict(
    fold: PreparedFolds, model: FittedFolds, held: Array, rule: str, ridge: float
) -> Matches:
    """Compare the images of the nouns left out with what their answers predict.

    ``least_squares``: ``v = B diag(c_k) a``, a being the projection of the answers on D, shrunk by
    ``ridge``; ``paper``: ``v = B D' q`` with columns of A and B of unit length, as printed.
    """
    index = held[:, None, :]
    answers = np.take_along_axis(model.answers, index, axis=2)
    if rule == "paper":
        guess = _paper_latent(model, answers)
    else:
        guess = _latent(model, answers, ridge)[:, :, :, None] * model.subjects[:, :, None, :]
    return _compare(model, guess, held, np.take_along_axis(fold.norms, held[..., None], axis=1))


def _compare(model: FittedFolds, guess: Array, held: Array, image_norms: Array) -> Matches:
    """Compare images of the nouns left out with predictions ``B guess``, guess (b, F, h, K)."""
    images = np.take_along_axis(model.images, held[:, None, :, None], axis=2)
    dots = np.einsum("bfik,bfjk->bijk", images, guess, optimize=True)
    guess_norms = np.einsum(
        "bfjk,bfjk->bjk",
        np.einsum("bfg,bgjk->bfjk", model.gram_images, guess, optimize=True),
        guess,
    )
    return Matches.of(dots, image_norms, guess_norms)


def _latent(model: FittedFolds, answers: Array, ridge: float) -> Array:
    """Project answers ``V' Y`` (b, F, h) on D; the ridge is relative to D for unit columns of A."""
    rank = answers.shape[1]
    length = np.sqrt(np.einsum("bff->bf", _gram(model.nouns)))[:, :, None]
    gram = model.gram_answers * length * length.transpose(0, 2, 1)
    shrink = ridge * np.trace(gram, axis1=1, axis2=2)[:, None, None] / rank * np.eye(rank)
    return length * _solve(gram + shrink, answers * length)


def _paper_latent(model: FittedFolds, answers: Array) -> Array:
    """Return ``D' q`` (b, F, h, K) for unit columns of A, B, C, C pointing up; equal for all K."""
    length = np.sqrt(np.einsum("bff->bf", _gram(model.nouns)))
    breadth = np.sqrt(np.maximum(np.einsum("bff->bf", model.gram_images), TINY))
    sign = np.where(model.subjects.sum(axis=2) < 0, -1.0, 1.0)
    scale = sign * length / breadth
    return np.repeat((scale[:, :, None] * answers)[..., None], model.subjects.shape[2], axis=3)


def match_folds(
    data: Products, held: Array, setting: Setting, ways: Sequence[tuple[str, float]]
) -> list[Matches]:
    """Fit every fold and compare under each of ``ways``, (rule, ridge) pairs."""
    parts: list[list[Matches]] = [[] for _ in ways]
    for part in batches(held, data.nouns, data.subjects, setting.rank):
        fold = prepare(data, held[part], setting)
        model = fit_folds(data, fold, setting, starts(fold, setting.rank))
        for matches, (rule, ridge) in zip(parts, ways, strict=True):
            matches.append(predict(fold, model, held[part], rule, ridge))
    return [join_matches(matches) for matches in parts]


def match_printed(data: Products, held: Array, setting: Setting) -> Matches:
    """Follow the paper to the letter: ``B D' q`` from data as it is, then each vector centred.

    "After mean-centering the vectors" is read as: images and predictions lose their mean over
    voxels.
    """
    flat = data.without_levels().reshape(data.nouns * data.subjects, -1)
    norms = np.einsum("ikik->ik", data.without_levels())
    parts = []
    for part in batches(held, data.nouns, data.subjects, setting.rank):
        fold = prepare(data, held[part], setting)
        model = fit_folds(data, fold, setting, starts(fold, setting.rank))
        index = held[part][:, None, :]
        guess = _paper_latent(model, np.take_along_axis(model.answers, index, axis=2))
        centred = _with_long_modes(flat, fold, model.nouns, model.subjects)
        parts.append(_compare(centred, guess, held[part], norms[held[part]]))
    return join_matches(parts)


def join_matches(parts: Sequence[Matches]) -> Matches:
    """Concatenate the matches of batches."""
    return Matches(
        np.concatenate([part.distance for part in parts]),
        np.concatenate([part.cosine for part in parts]),
    )
