"""Many leave-some-nouns-out fits at once, from the inner products of the data alone.

Least squares sees the long modes only through inner products: with ``K`` the Gram matrix of the
images (noun and subject, over voxels) and ``L`` that of the answers (nouns, over questions),
``B = X' W`` and ``D = Y' V`` for small W and V, so that one sweep of ALS for every fold is one
product with K. This is ALS in the coordinates of the compressed voxel mode, whose basis comes from
the same K. Rows of nouns that a fold leaves out are zero in W and V: they enter neither the means,
nor the weights, nor the fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.records import Array

MAX_BATCH_NUMBERS = 1 << 23  # in the largest array of a batch of folds
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Products:
    """What all folds share: ``images[i, k, j, l] = x_ik . x_jl`` and ``answers`` (n, questions)."""

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
        """Return the same images with the answers of other nouns, as a control."""
        return Products(self.images, self.answers[order])


def products(data: CoupledData) -> Products:
    """Return all inner products over voxels of dense images (nouns, voxels, subjects).

    The answers are on mode 0.
    """
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
    """One model: its rank, the weight of the matrix, and how the data is prepared.

    ``weight`` is relative to blocks of equal norm; ``"paper"`` takes both blocks as they are.
    """

    rank: int
    weight: float | str = 1.0
    centre: bool = True
    standardise: bool = True
    sweeps: int = 20


@dataclass(frozen=True, eq=False)
class PreparedFolds:
    """A batch of b folds, each centred by its training nouns.

    ``train`` (b, n) is 1 for training nouns and 0 for the others, ``answers`` (b, n, n) are the
    products of the answers, ``norms`` (b, n, K) the squared norms of the images, ``summed``
    (b, n, n) the image products added up over subjects, on training nouns only, and ``weights``
    (b, 2) those of tensor and matrix.
    """

    train: Array
    answers: Array
    norms: Array
    summed: Array
    weights: Array

    def centred(self, values: Array, centre: bool) -> Array:
        """Subtract the training mean over nouns from (b, f, n, K)."""
        if not centre:
            return values
        share = self.train / self.train.sum(axis=1, keepdims=True)
        return values - np.matmul(share[:, None, None, :], values)


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


def batches(held: Array, nouns: int, subjects: int, rank: int) -> Iterator[slice]:
    """Cut folds into batches whose arrays fit in memory."""
    size = max(1, MAX_BATCH_NUMBERS // (nouns * max(subjects * rank, nouns, 218)))
    return (slice(start, start + size) for start in range(0, len(held), size))


def prepare(data: Products, held: Array, setting: Setting) -> PreparedFolds:
    """Centre, standardise and weight by the training nouns, without those ``held`` out (b, h)."""
    train = np.ones((len(held), data.nouns))
    np.put_along_axis(train, held, 0.0, axis=1)
    answers = _answer_products(data.answers, train, setting)
    norms, summed = _image_products(data.images, train, setting.centre)
    totals = (np.einsum("bn,bnk->b", train, norms), np.einsum("bn,bnn->b", train, answers))
    if setting.weight == "paper":
        weights = np.ones((len(held), 2))
    else:
        weights = np.stack(
            [1 / totals[0], float(setting.weight) / np.maximum(totals[1], TINY)], axis=1
        )
    return PreparedFolds(train, answers, norms, summed, weights)


def _answer_products(answers: Array, train: Array, setting: Setting) -> Array:
    """Return products (b, n, n) of the answers, each fold centred and scaled by its training nouns.

    With ``s_q = 1 / spread_q^2``, ``sum_q s_q (y_iq - m_q)(y_jq - m_q)`` is a product of s with all
    ``y_iq y_jq``, minus terms of the means: one matrix product for all folds instead of one table
    of answers per fold.
    """
    count = train.sum(axis=1, keepdims=True)
    # Answers far from zero would lose digits to the means; any shift gives the same products.
    answers = answers - answers.mean(axis=0) if setting.centre or setting.standardise else answers
    mean = train @ answers / count
    moment = train @ answers**2 / count
    spread = moment - mean**2
    scale = np.divide(1.0, spread, out=np.ones_like(spread), where=spread > 1e-12 * moment)
    if not setting.standardise:
        scale[:] = 1.0
    pairs = (answers[:, None, :] * answers[None, :, :]).reshape(-1, answers.shape[1])
    sums = (scale @ pairs.T).reshape(len(train), len(answers), len(answers))
    if setting.centre or setting.standardise:
        cross = (scale * mean) @ answers.T
        square = (scale * mean**2).sum(axis=1, keepdims=True)
        sums += (square - cross)[:, :, None] - cross[:, None, :]
    return sums


def _image_products(images: Array, train: Array, centre: bool) -> tuple[Array, Array]:
    """Return squared norms (b, n, K) of all images, and products (b, n, n) of the training ones."""
    blocks = np.einsum("ikjk->kij", images)
    diagonal, total = np.einsum("kii->ik", blocks)[None], blocks.sum(axis=0)[None]
    share = train / train.sum(axis=1, keepdims=True)
    if centre:
        rows = np.einsum("kij,bj->bik", blocks, share, optimize=True)
        means = np.einsum("bik,bi->bk", rows, share)
        diagonal = diagonal - 2 * rows + means[:, None, :]
        row = rows.sum(axis=2)
        total = total - row[:, :, None] - row[:, None, :] + means.sum(axis=1)[:, None, None]
    norms = np.broadcast_to(diagonal, (len(train), *diagonal.shape[1:]))
    return norms, total * train[:, :, None] * train[:, None, :]


def starts(fold: PreparedFolds, rank: int) -> Array:
    """Return the leading eigenvectors (b, F, n) of the weighted products: the optimum for K = 1."""
    masked = fold.answers * fold.train[:, :, None] * fold.train[:, None, :]
    weights = fold.weights[:, :, None, None]
    sums = weights[:, 0] * fold.summed + weights[:, 1] * masked
    last = sums.shape[1] - 1
    # LAPACK finds a few leading vectors in half the time of all of them.
    vectors = [
        eigh(matrix, subset_by_index=(last + 1 - rank, last), check_finite=False)[1]
        for matrix in sums
    ]
    return np.stack([columns[:, ::-1].T for columns in vectors])


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
        model = _with_long_modes(flat, fold, setting.centre, nouns, subjects)
        nouns, subjects = _update(fold, model)
    return _with_long_modes(flat, fold, setting.centre, nouns, subjects)


def _with_long_modes(
    flat: Array, fold: PreparedFolds, centre: bool, nouns: Array, subjects: Array
) -> FittedFolds:
    """Solve for B and D given A and C, and return their products with the data."""
    size, rank, count = nouns.shape
    square, both = _gram(nouns), _gram(nouns) * _gram(subjects)
    pairs = (nouns[:, :, :, None] * subjects[:, :, None, :]).reshape(size, rank, -1)
    voxels = _solve(both, pairs)
    images = (voxels.reshape(size * rank, -1) @ flat).reshape(size, rank, count, -1)
    images = fold.centred(images, centre)
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
    images = np.take_along_axis(model.images, index[..., None], axis=2)
    image_norms = np.take_along_axis(fold.norms, held[..., None], axis=1)
    if rule == "paper":
        guess = _paper_latent(model, answers)
    else:
        guess = _latent(model, answers, ridge)[:, :, :, None] * model.subjects[:, :, None, :]
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
    data: Products,
    held: Array,
    setting: Setting,
    ways: Sequence[tuple[str, float]],
    ranks: Sequence[int] = (),
) -> list[Matches]:
    """Fit every fold at each of ``ranks`` and compare under each of ``ways``, (rule, ridge) pairs.

    The list runs over ranks, then over ways. Ranks share what does not depend on them.
    """
    ranks = ranks or [setting.rank]
    parts: list[list[Matches]] = [[] for _ in range(len(ranks) * len(ways))]
    for part in batches(held, data.nouns, data.subjects, max(ranks)):
        fold = prepare(data, held[part], setting)
        start = starts(fold, max(ranks))
        for number, rank in enumerate(ranks):
            model = fit_folds(data, fold, setting, start[:, :rank])
            for matches, (rule, ridge) in zip(parts[number * len(ways) :], ways, strict=False):
                matches.append(predict(fold, model, held[part], rule, ridge))
    return [join_matches(matches) for matches in parts]


def join_matches(parts: Sequence[Matches]) -> Matches:
    """Concatenate the matches of batches."""
    return Matches(
        np.concatenate([part.distance for part in parts]),
        np.concatenate([part.cosine for part in parts]),
    )
