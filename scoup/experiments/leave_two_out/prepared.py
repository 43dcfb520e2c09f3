"""Folds made ready for their fits, from the inner products of the data alone.

A fold is centred, standardised and weighted by its training nouns. Its images can be weighed by
the noise of these (see :mod:`scoup.noise`), for each subject separately, so that a normalised image
is a combination of the raw images of its subject.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.noise import Noise
from scoup.records import Array

MAX_BATCH_NUMBERS = 1 << 20  # in the largest array of a batch of folds, so that caches hold it
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Products:
    """What all folds share: ``images[i, k, j, l] = x_ik . x_jl`` and ``answers`` (n, questions).

    ``levels`` (n, K) are the means over voxels times the root of their number: each image loses its
    mean as ``images[i, k, j, l] - levels[i, k] levels[j, l]``. ``column_weights`` (questions,) tell
    how much a standardised column counts, as if it were there so many times.
    """

    images: Array
    answers: Array
    levels: Array | None = None
    column_weights: Array | None = None

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
        levels = None if self.levels is None else self.levels[:, here]
        images = np.ascontiguousarray(self.images[:, here, :, here])
        return replace(self, images=images, levels=levels)

    def shuffled(self, order: Array) -> Products:
        """Return the same images with the answers of other nouns, as a control."""
        return replace(self, answers=self.answers[order])

    def with_matrix(self, matrix: Array, weight: float) -> Products:
        """Couple a second matrix (n, columns) to the nouns, a column of which counts ``weight``."""
        weights = np.ones(self.answers.shape[1] + matrix.shape[1])
        weights[self.answers.shape[1] :] = weight
        return replace(self, answers=np.hstack([self.answers, matrix]), column_weights=weights)

    def without_levels(self) -> Array:
        """Return the products of images that have lost their mean over voxels."""
        assert self.levels is not None, "products(data) knows the levels"
        return self.images - self.levels[:, :, None, None] * self.levels


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
        (flat @ flat.T).reshape(nouns, subjects, nouns, subjects),
        answers.astype(np.float64),
        (flat.sum(axis=1) / np.sqrt(flat.shape[1])).reshape(nouns, subjects),
    )


@dataclass(frozen=True)
class Setting:
    """One model: its rank, the weight of the matrix, and how the data is prepared.

    ``weight`` is relative to blocks of equal norm; ``"paper"`` takes both blocks as they are.
    Images are weighed by their noise if there is a ``strength``, see :mod:`scoup.noise`; the noise
    is what ridge regression with ``penalty`` leaves of the training images.
    """

    rank: int
    weight: float | str = 1.0
    centre: bool = True
    standardise: bool = True
    sweeps: int = 20
    strength: float | None = None
    penalty: float = 200.0


@dataclass(frozen=True, eq=False)
class PreparedFolds:
    """A batch of b folds, each centred, and noise-normalised if wanted, by its training nouns.

    ``train`` (b, n) is 1 for training nouns and 0 for the others, ``answers`` (b, n, n) are the
    products of the answers, ``images`` (b, K, n, n) those of each subject's images, ``maps``
    (b, K, n, n) have the normalised images as ``maps @ X``, and ``weights`` (b, 2) are those of
    tensor and matrix.
    """

    train: Array
    answers: Array
    images: Array
    maps: Array | None
    centre: bool
    weights: Array

    @property
    def norms(self) -> Array:
        """Squared norms (b, n, K) of all images."""
        return np.einsum("bkii->bik", self.images)

    @property
    def summed(self) -> Array:
        """Products (b, n, n) of the training images, summed over subjects."""
        return self.images.sum(axis=1) * self.train[:, :, None] * self.train[:, None, :]

    def only(self, subject: int) -> PreparedFolds:
        """Return the folds of one subject alone, with the tensor's weight still to be set."""
        here = slice(subject, subject + 1)
        maps = None if self.maps is None else self.maps[:, here]
        return replace(self, images=self.images[:, here], maps=maps)

    def weighted(self, weight: float | str) -> PreparedFolds:
        """Return the folds with the matrix counting ``weight`` times the tensor."""
        weights = np.ones((len(self.train), 2))
        if weight != "paper":
            weights[:, 0] /= np.einsum("bn,bnk->b", self.train, self.norms)
            matrix = np.einsum("bn,bnn->b", self.train, self.answers)
            weights[:, 1] = float(weight) / np.maximum(matrix, TINY)
        return replace(self, weights=weights)

    def products(self, flat: Array, mixture: Array) -> Array:
        """Return products (b, f, n, K) of all images with mixtures of images, of the same shape.

        ``flat`` are the products of the raw images; both sides are prepared here.
        """
        if self.maps is not None:
            mixture = _mapped(mixture, self.maps)
        size, rank, nouns, subjects = mixture.shape
        values = mixture.reshape(size * rank, -1) @ flat
        values = values.reshape(size, rank, nouns, subjects)
        if self.maps is not None:
            return _mapped(values, self.maps.swapaxes(2, 3))
        if not self.centre:
            return values
        share = self.train / self.train.sum(axis=1, keepdims=True)
        return values - np.matmul(share[:, None, None, :], values)


def _mapped(values: Array, maps: Array) -> Array:
    """Multiply each subject's (b, f, n, K) with its map (b, K, n, n) on the nouns."""
    # Products of strided arrays are slow; copies are small next to the maps.
    rows = np.ascontiguousarray(values.transpose(0, 3, 1, 2))
    return np.ascontiguousarray(np.matmul(rows, maps).transpose(0, 2, 3, 1))


def batches(held: Array, nouns: int, subjects: int, rank: int) -> Iterator[slice]:
    """Cut folds into batches whose arrays fit in memory."""
    size = max(1, MAX_BATCH_NUMBERS // (nouns * max(subjects * max(rank, nouns), 218)))
    return (slice(start, start + size) for start in range(0, len(held), size))


def prepare_strengths(
    data: Products, held: Array, setting: Setting, strengths: Sequence[float | None]
) -> Iterator[PreparedFolds]:
    """Yield the folds that leave ``held`` (b, h) out, prepared for each of ``strengths``.

    Means, spreads and noise are those of the training nouns.
    """
    train = np.ones((len(held), data.nouns))
    np.put_along_axis(train, held, 0.0, axis=1)
    answers = _answer_products(data, train, setting)
    images = _image_products(data.images, train, setting.centre)
    raw = PreparedFolds(train, answers, images, None, setting.centre, np.ones((len(held), 2)))
    noise = None
    for strength in strengths:
        if strength is None:
            yield raw
            continue
        noise = noise or Noise.of(answers, train, setting.penalty)
        yield _normalised(raw, noise.maps(images, strength))


def _normalised(fold: PreparedFolds, maps: Array) -> PreparedFolds:
    """Normalise centred folds; the maps then centre the raw images as well."""
    images = maps @ fold.images @ maps.swapaxes(2, 3)
    share = fold.train / fold.train.sum(axis=1, keepdims=True)
    maps -= maps.sum(axis=3, keepdims=True) * share[:, None, None, :]
    return replace(fold, images=images, maps=maps)


def prepare(data: Products, held: Array, setting: Setting) -> PreparedFolds:
    """Prepare the folds that leave ``held`` (b, h) out for one setting."""
    (fold,) = prepare_strengths(data, held, setting, [setting.strength])
    return fold.weighted(setting.weight)


def _answer_products(data: Products, train: Array, setting: Setting) -> Array:
    """Return products (b, n, n) of the answers, each fold centred and scaled by its training nouns.

    With ``s_q = 1 / spread_q^2``, ``sum_q s_q (y_iq - m_q)(y_jq - m_q)`` is a product of s with all
    ``y_iq y_jq``, minus terms of the means: one matrix product for all folds instead of one table
    of answers per fold.
    """
    count = train.sum(axis=1, keepdims=True)
    # Answers far from zero would lose digits to the means; any shift gives the same products.
    answers = data.answers
    if setting.centre or setting.standardise:
        answers = answers - answers.mean(axis=0)
    mean = train @ answers / count
    moment = train @ answers**2 / count
    spread = moment - mean**2
    scale = np.divide(1.0, spread, out=np.ones_like(spread), where=spread > 1e-12 * moment)
    if not setting.standardise:
        scale[:] = 1.0
    if data.column_weights is not None:
        scale *= data.column_weights
    pairs = (answers[:, None, :] * answers[None, :, :]).reshape(-1, answers.shape[1])
    sums = (scale @ pairs.T).reshape(len(train), len(answers), len(answers))
    if setting.centre or setting.standardise:
        cross = (scale * mean) @ answers.T
        square = (scale * mean**2).sum(axis=1, keepdims=True)
        sums += (square - cross)[:, :, None] - cross[:, None, :]
    return sums


def _image_products(images: Array, train: Array, centre: bool) -> Array:
    """Return the products (b, K, n, n) of each subject's images, centred by the training nouns."""
    blocks = np.ascontiguousarray(np.einsum("ikjk->kij", images))[None]
    if not centre:
        return np.broadcast_to(blocks, (len(train), *blocks.shape[1:]))
    share = train / train.sum(axis=1, keepdims=True)
    rows = np.einsum("kij,bj->bki", blocks[0], share, optimize=True)
    means = np.einsum("bki,bi->bk", rows, share)
    return blocks - rows[..., None] + (means[..., None] - rows)[:, :, None, :]
