"""Many leave-some-nouns-out fits at once, through the inner products of the data alone.

Least squares sees the long modes only through inner products: with ``K`` the Gram matrix of the images (noun and
subject, over voxels) and ``L`` that of the answers (nouns, over questions), ``B = X' W`` and ``D = Y' V`` for small W
and V, so that a sweep of ALS for every fold is one product with K. This is ALS in the coordinates of the compressed
voxel mode, whose basis comes from the same K. Rows of nouns that a fold leaves out are zero in W and V: they enter
neither the means, nor the weights, nor the fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from scoup.coupled import CoupledData
from scoup.errors import ScoupError

Array = NDArray[Any]
BATCH = 1 << 23  # numbers in the largest array of a batch of folds


@dataclass(frozen=True, eq=False)
class Products:
    """The data of all folds: ``images[i, k, j, l] = x_ik . x_jl`` (n, K, n, K) and ``answers`` (n, questions)."""

    images: Array
    answers: Array

    @property
    def nouns(self) -> int:
        """Number of nouns."""
        return self.images.shape[0]

    @property
    def subjects(self) -> int:
        """Number of subjects."""
        return self.images.shape[1]

    def only(self, subject: int) -> Products:
        """Return the data of one subject alone."""
        here = slice(subject, subject + 1)
        return Products(np.ascontiguousarray(self.images[:, here, :, here]), self.answers)

    def shuffled(self, order: Array) -> Products:
        """Return the same images beside the answers of other nouns: a control without any relation."""
        return Products(self.images, self.answers[order])


def products(data: CoupledData) -> Products:
    """Take all inner products of dense images (nouns, voxels, subjects) over voxels; the answers are on mode 0."""
    tensor = data.blocks[0]
    if tensor.is_sparse or data.is_masked or data.ndim != 3 or list(data.matrices) != [0]:
        got = f"{data.ndim} modes with matrices on {list(data.matrices)}" + (
            ", cells missing" if data.is_masked else ""
        )
        raise ScoupError.expected(
            "data", "dense images without missing cells and one matrix on the nouns", got
        )
    nouns, _, subjects = data.shape
    images, answers = (np.asarray(block.values) for block in data.blocks)
    flat = np.ascontiguousarray(images.transpose(0, 2, 1), dtype=np.float64).reshape(
        nouns * subjects, -1
    )
    return Products(
        (flat @ flat.T).reshape(nouns, subjects, nouns, subjects), answers.astype(np.float64)
    )


@dataclass(frozen=True)
class Setting:
    """One model: components, how often the matrix counts against the tensor, and how the data is prepared.

    ``weight`` is relative to blocks of equal norm; ``"paper"`` takes both blocks as they are.
    """

    rank: int
    weight: float | str = 1.0
    centre: bool = True
    standardise: bool = True
    sweeps: int = 20


@dataclass(frozen=True, eq=False)
class Prepared:
    """A batch of folds: ``train`` (b, n) 0/1, answers' products (b, n, n), image products with the folds' means out.

    ``own`` (b, n, K) are squared norms of the centred images, ``summed`` (b, n, n) the image products added up over
    subjects, on training nouns only.
    """

    train: Array
    answers: Array
    own: Array
    summed: Array
    weights: Array

    def centred(self, values: Array, centre: bool) -> Array:
        """Take the training mean over nouns out of (b, f, n, K)."""
        if not centre:
            return values
        share = self.train / self.train.sum(axis=1, keepdims=True)
        return values - np.matmul(share[:, None, None, :], values)


@dataclass(frozen=True, eq=False)
class Matches:
    """How well image i fits prediction j, for the nouns that each fold leaves out: (b, h, h, K) each."""

    distance: Array
    cosine: Array

    @staticmethod
    def of(dots: Array, images: Array, guesses: Array) -> Matches:
        """Build both from ``v_i . g_j`` (b, h, h, K) and the squared norms (b, h, K) of images and guesses."""
        images, guesses = images[:, :, None, :], guesses[:, None, :, :]
        distance = np.sqrt(np.maximum(images - 2 * dots + guesses, 0.0))
        return Matches(distance, dots / np.sqrt(np.maximum(images * guesses, np.finfo(float).tiny)))


def batches(held: Array, nouns: int, subjects: int, rank: int) -> Iterator[slice]:
    """Cut folds into batches whose arrays fit in memory."""
    size = max(1, BATCH // (nouns * max(subjects * rank, nouns, 218)))
    return (slice(start, start + size) for start in range(0, len(held), size))


def prepare(data: Products, held: Array, setting: Setting) -> Prepared:
    """Centre, standardise and weigh each fold by its training nouns; ``held`` (b, h) are the nouns it leaves out."""
    train = np.ones((len(held), data.nouns))
    np.put_along_axis(train, held, 0.0, axis=1)
    answers = _answer_products(data.answers, train, setting)
    own, summed = _image_products(data.images, train, setting.centre)
    norms = (np.einsum("bn,bnk->b", train, own), np.einsum("bn,bnn->b", train, answers))
    if setting.weight == "paper":
        weights = np.ones((len(held), 2))
    else:
        weights = np.stack(
            [1 / norms[0], float(setting.weight) / np.maximum(norms[1], 1e-300)], axis=1
        )
    return Prepared(train, answers, own, summed, weights)


def _answer_products(answers: Array, train: Array, setting: Setting) -> Array:
    """Products (b, n, n) of the answers, each fold centred and scaled by its training nouns.

    With ``s_q = 1 / spread_q^2``, ``sum_q s_q (y_iq - m_q)(y_jq - m_q)`` is a product of s with all ``y_iq y_jq``, less
    what the means take away: one product of matrices for all folds, in place of a table of answers for each.
    """
    count = train.sum(axis=1, keepdims=True)
    # Answers on a scale far from zero would lose digits to the means; any shift gives the same products.
    answers = answers - answers.mean(axis=0) if setting.centre or setting.standardise else answers
    mean = train @ answers / count
    moment = train @ answers**2 / count
    spread = moment - mean**2
    scale = np.divide(1.0, spread, out=np.ones_like(spread), where=spread > 1e-12 * moment)
    if not setting.standardise:
        scale[:] = 1.0
    pairs = (answers[:, None, :] * answers[None, :, :]).reshape(-1, answers.shape[1])
    found = (scale @ pairs.T).reshape(len(train), len(answers), len(answers))
    if setting.centre or setting.standardise:
        less = (scale * mean) @ answers.T
        found += ((scale * mean**2).sum(axis=1, keepdims=True) - less)[:, :, None] - less[
            :, None, :
        ]
    return found


def _image_products(images: Array, train: Array, centre: bool) -> tuple[Array, Array]:
    """Squared norms (b, n, K) of all images and products (b, n, n) over subjects of the training ones."""
    blocks = np.einsum("ikjk->kij", images)
    diagonal, total = np.einsum("kii->ik", blocks)[None], blocks.sum(axis=0)[None]
    share = train / train.sum(axis=1, keepdims=True)
    if centre:
        rows = np.einsum("kij,bj->bik", blocks, share, optimize=True)
        means = np.einsum("bik,bi->bk", rows, share)
        diagonal = diagonal - 2 * rows + means[:, None, :]
        row = rows.sum(axis=2)
        total = total - row[:, :, None] - row[:, None, :] + means.sum(axis=1)[:, None, None]
    return np.broadcast_to(diagonal, (len(train), *diagonal.shape[1:])), total * train[
        :, :, None
    ] * train[:, None, :]


def starts(fold: Prepared, rank: int) -> Array:
    """Start each fold at the leading eigenvectors (b, F, n) of its weighted products: the optimum for one subject."""
    masked = fold.answers * fold.train[:, :, None] * fold.train[:, None, :]
    weights = fold.weights[:, :, None, None]
    sums = weights[:, 0] * fold.summed + weights[:, 1] * masked
    last = sums.shape[1] - 1
    # Few of many: LAPACK finds the leading vectors alone in half the time of all of them.
    found = [
        eigh(one, subset_by_index=(last + 1 - rank, last), check_finite=False)[1] for one in sums
    ]
    return np.stack([vectors[:, ::-1].T for vectors in found])


@dataclass(frozen=True, eq=False)
class Model:
    """Fitted folds: A (b, F, n), C (b, F, K), ``images`` x_ik . B (b, F, n, K), ``answers`` V' Y (b, F, n), Grams."""

    nouns: Array
    subjects: Array
    images: Array
    answers: Array
    gram_images: Array
    gram_answers: Array


def fit_folds(data: Products, fold: Prepared, setting: Setting, start: Array) -> Model:
    """Fit every fold of a batch by ``setting.sweeps`` sweeps of ALS from ``start`` (b, F, n)."""
    flat = data.images.reshape(data.nouns * data.subjects, -1)
    nouns, subjects = start, np.ones((*start.shape[:2], data.subjects))
    for _ in range(setting.sweeps):
        model = _others(flat, fold, setting.centre, nouns, subjects)
        nouns, subjects = _update(fold, model)
    return _others(flat, fold, setting.centre, nouns, subjects)


def _others(flat: Array, fold: Prepared, centre: bool, nouns: Array, subjects: Array) -> Model:
    """Solve for B and D given A and C; only their products with the data are kept."""
    size, rank, count = nouns.shape
    square, both = _gram(nouns), _gram(nouns) * _gram(subjects)
    pairs = (nouns[:, :, :, None] * subjects[:, :, None, :]).reshape(size, rank, -1)
    spread = _solve(both, pairs)
    images = (spread.reshape(size * rank, -1) @ flat).reshape(size, rank, count, -1)
    images = fold.centred(images, centre)
    gram_images = spread @ images.reshape(size, rank, -1).transpose(0, 2, 1)
    side = _solve(square, nouns)
    answers = side @ fold.answers
    return Model(nouns, subjects, images, answers, gram_images, answers @ side.transpose(0, 2, 1))


def _update(fold: Prepared, model: Model) -> tuple[Array, Array]:
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
    """Solve symmetric systems (b, F, F); a hair of ridge keeps degenerate ones solvable."""
    rank = gram.shape[1]
    lift = 1e-12 * np.trace(gram, axis1=1, axis2=2)[:, None, None] * np.eye(rank) + 1e-300 * np.eye(
        rank
    )
    # One product with a small inverse: a solver would walk through the long right-hand sides row by row.
    return np.linalg.inv(gram + lift) @ rhs


def predict(fold: Prepared, model: Model, held: Array, rule: str, ridge: float) -> Matches:
    """Compare the images of the nouns left out with what their answers predict.

    ``least_squares``: ``v = B diag(c_k) a`` with a the projection of the answers on D, shrunk by ``ridge``;
    ``paper``: ``v = B D' q`` with columns of A and B of unit length, as the paper prints it.
    """
    index = held[:, None, :]
    answers = np.take_along_axis(model.answers, index, axis=2)
    images = np.take_along_axis(model.images, index[..., None], axis=2)
    own = np.take_along_axis(fold.own, held[..., None], axis=1)
    if rule == "paper":
        guess = _paper_latent(model, answers)
    else:
        guess = _latent(model, answers, ridge)[:, :, :, None] * model.subjects[:, :, None, :]
    dots = np.einsum("bfik,bfjk->bijk", images, guess, optimize=True)
    norms = np.einsum(
        "bfjk,bfjk->bjk",
        np.einsum("bfg,bgjk->bfjk", model.gram_images, guess, optimize=True),
        guess,
    )
    return Matches.of(dots, own, norms)


def _latent(model: Model, answers: Array, ridge: float) -> Array:
    """Project answers ``V' Y`` (b, F, h) on D; the ridge is relative to D beside an A of unit columns."""
    rank = answers.shape[1]
    length = np.sqrt(np.einsum("bff->bf", _gram(model.nouns)))[:, :, None]
    gram = model.gram_answers * length * length.transpose(0, 2, 1)
    shrink = ridge * np.trace(gram, axis1=1, axis2=2)[:, None, None] / rank * np.eye(rank)
    return length * _solve(gram + shrink, answers * length)


def _paper_latent(model: Model, answers: Array) -> Array:
    """``D' q`` with A, B, C of unit columns and C pointing up: (b, F, h, K), the same for every subject."""
    length = np.sqrt(np.einsum("bff->bf", _gram(model.nouns)))
    breadth = np.sqrt(np.maximum(np.einsum("bff->bf", model.gram_images), 1e-300))
    sign = np.where(model.subjects.sum(axis=2) < 0, -1.0, 1.0)
    scale = sign * length / breadth
    return np.repeat((scale[:, :, None] * answers)[..., None], model.subjects.shape[2], axis=3)


def match_folds(
    data: Products,
    held: Array,
    setting: Setting,
    ways: Sequence[tuple[str, float]],
    ranks: Sequence[int] = (),
) -> list[Matches]:
    """Fit every fold at each of ``ranks`` and compare under each of ``ways``, pairs of a rule and a ridge.

    The list runs over ranks, then over ways. Ranks share what does not depend on them.
    """
    ranks = ranks or [setting.rank]
    parts: list[list[Matches]] = [[] for _ in range(len(ranks) * len(ways))]
    for part in batches(held, data.nouns, data.subjects, max(ranks)):
        fold = prepare(data, held[part], setting)
        start = starts(fold, max(ranks))
        for number, rank in enumerate(ranks):
            model = fit_folds(data, fold, setting, start[:, :rank])
            for found, (rule, ridge) in zip(parts[number * len(ways) :], ways, strict=False):
                found.append(predict(fold, model, held[part], rule, ridge))
    return [join_matches(found) for found in parts]


def join_matches(parts: Sequence[Matches]) -> Matches:
    """Put the matches of batches together."""
    return Matches(
        np.concatenate([p.distance for p in parts]), np.concatenate([p.cosine for p in parts])
    )
