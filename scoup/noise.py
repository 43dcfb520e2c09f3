"""Noise normalisation: a mode of dense images weighed by the noise in each of its directions.

Least squares takes all directions for equally noisy, but noise between voxels is correlated. With
``R`` (n, V) the part of n training images that the coupled matrix does not predict, an image x
becomes

    x (I + R'R / a)^-1,    a = strength * |R|^2 / n

so that directions count by the inverse of their noise variance, shrunk towards equal ones. No
matrix of V x V numbers is formed, as x changes by a combination of the rows of R only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from scoup.coupled import CoupledData
from scoup.errors import NotFittedError, ScoupError
from scoup.parameters import Parameters
from scoup.records import Array
from scoup.specs import AboveZero, check
from scoup.tensor import SparseTensor


def residual_operator(answers: Array, train: Array, penalty: float) -> Array:
    """Return ``L`` (b, n, n): ``L X`` are leave-one-out residuals of ridge regression for X.

    ``answers`` (b, n, n) are the products of the regressors and ``train`` (b, n) is 1 for training
    rows. With ``H = K (K + penalty I)^-1``, ``L = diag(1 / (1 - h)) (I - H)``; rows and columns
    outside the training rows are zero.

    >>> operator = residual_operator(np.ones((1, 3, 3)), np.array([[1.0, 1.0, 0.0]]), 1.0)
    >>> operator[0].round(2).tolist()
    [[1.0, -0.5, 0.0], [-0.5, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    mask = train[:, :, None] * train[:, None, :]
    eye = np.eye(answers.shape[1])
    # I - H in one inverse; it is symmetric.
    left = penalty * np.linalg.inv(answers * mask + penalty * eye)
    return mask * left / np.einsum("bii->bi", left)[:, :, None]


@dataclass(frozen=True, eq=False)
class Noise:
    """The noise of images, for batches of training sets.

    ``train`` (b, n) is 1 for training images, ``square`` (b, n, n) is ``L'L`` of the residual
    operator L, and ``inverse`` (b, n, n) its inverse, the identity outside the training images.
    """

    train: Array
    square: Array
    inverse: Array

    @staticmethod
    def of(answers: Array, train: Array, penalty: float) -> Noise:
        """Prepare for the products ``answers`` (b, n, n) of the regressors."""
        operator = residual_operator(answers, train, penalty)
        outside = np.eye(train.shape[1]) * (1 - train)[:, :, None]
        square = operator.swapaxes(1, 2) @ operator
        return Noise(train, square, np.linalg.inv(square + outside))

    def maps(self, products: Array, strength: float) -> Array:
        """Return T (b, K, n, n) such that ``T X`` are the normalised images.

        ``products`` (b, K, n, n) are ``G = X X'`` of centred images. With ``R = L X``,
        ``X (I + R'R / a)^-1 = (I - G L' (L G L' + a I)^-1 L) X``, and what follows G in the
        brackets is ``(G + a (L'L)^-1)^-1`` on the training images.
        """
        mask = (self.train[:, :, None] * self.train[:, None, :])[:, None]
        totals = np.einsum("bij,bkij->bk", self.square, products)
        ridges = strength * totals / self.train.sum(axis=1, keepdims=True)
        # Images without any noise would leave nothing to invert.
        ridges = np.where(totals > 0, ridges, 1.0)[:, :, None, None]
        inverses = np.linalg.inv(products * mask + ridges * self.inverse[:, None]) * mask
        return np.eye(mask.shape[-1]) - products @ inverses


class NoiseNormalizer(Parameters):
    """Weigh the directions of one mode of a dense tensor by their noise in training data.

    The things are the mode of the matrix; noise is what ridge regression on the standardised matrix
    leaves of the other things, each being left out in turn. Every index of a remaining mode, such
    as a subject, has its own noise.

    - ``mode``: the mode to normalise, such as voxels; by default the longest one without a matrix.
    - ``strength``: shrinkage of the noise covariance towards the identity; the smaller, the more
      noisy directions are shrunk.
    - ``penalty``: penalty of the ridge regression.

    ``fit`` on training data, ``transform`` that and anything new, then factorize:

    >>> from scoup import CMTF
    >>> rng = np.random.default_rng(0)
    >>> images, answers = rng.standard_normal((12, 40, 2)), rng.standard_normal((12, 5))
    >>> train = CoupledData(images, {0: answers})
    >>> normalizer = NoiseNormalizer(mode=1).fit(train)
    >>> model = CMTF(rank=2).fit(normalizer.transform(train))
    >>> normalizer.inverse_transform(model.predict(answers[:1])).shape
    (1, 40, 2)
    >>> np.allclose(normalizer.inverse_transform(normalizer.transform(images)), images)
    True
    """

    def __init__(
        self, mode: int | None = None, *, strength: float = 0.1, penalty: float = 200.0
    ) -> None:
        self.mode = mode
        self.strength = strength
        self.penalty = penalty

    def fit(self, data: CoupledData, y: Any = None) -> Self:
        """Estimate means and noise; sets ``things_``, ``mode_``, ``means_`` and ``noise_``."""
        del y
        strength = check("strength", self.strength, AboveZero)
        penalty = check("penalty", self.penalty, AboveZero)
        self.things_, self.mode_ = _check_modes(data, self.mode)
        self.shape_ = data.shape
        images = self._images(np.asarray(data.tensor, dtype=np.float64))
        self.means_ = images.mean(axis=1, keepdims=True)
        answers = np.hstack([_standardised(block.in_memory) for block in data.blocks[1:]])
        ones = np.ones((1, len(answers)))
        operator = residual_operator((answers @ answers.T)[None], ones, penalty)[0]
        self.noise_ = operator @ (images - self.means_)
        gram = self.noise_ @ self.noise_.swapaxes(1, 2)
        totals = np.einsum("kii->k", gram)
        self.ridge_ = np.where(totals > 0, strength * totals / len(answers), 1.0)[:, None, None]
        self.inverse_ = np.linalg.inv(gram + self.ridge_ * np.eye(len(answers)))
        return self

    def transform(self, data: CoupledData | Array) -> Any:
        """Normalise the tensor of coupled data, or an array of images laid out like that tensor."""
        return self._changed(data, self._normalise)

    def inverse_transform(self, data: CoupledData | Array) -> Any:
        """Return images in their original units, such as predictions of a model."""
        return self._changed(data, self._restore)

    def fit_transform(self, data: CoupledData, y: Any = None) -> CoupledData:
        """Fit, then transform the same data."""
        return self.fit(data, y).transform(data)

    def _normalise(self, images: Array) -> Array:
        images = images - self.means_
        return images - images @ self.noise_.swapaxes(1, 2) @ self.inverse_ @ self.noise_

    def _restore(self, images: Array) -> Array:
        noise = images @ self.noise_.swapaxes(1, 2) @ self.noise_
        return images + noise / self.ridge_ + self.means_

    def _changed(self, data: CoupledData | Array, change: Any) -> Any:
        if not hasattr(self, "noise_"):
            raise NotFittedError.of(self)
        if isinstance(data, CoupledData):
            if data.blocks[0].is_sparse or data.blocks[0].mask is not None:
                raise ScoupError.expected("data", _EXPECTED, "a sparse or incomplete one")
            changed = self._changed(np.asarray(data.tensor), change)
            masks = {
                mode: [block.mask for block in data.blocks[1:] if block.factors[0] == mode]
                for mode in data.matrices
            }
            return CoupledData(changed, data.matrices, None, masks, data.block_weights, data.labels)
        images = np.asarray(data, dtype=np.float64)
        rest = [n for n in range(len(self.shape_)) if n != self.things_]
        if images.ndim != len(self.shape_) or any(images.shape[n] != self.shape_[n] for n in rest):
            expected = f"sizes {[self.shape_[n] for n in rest]} in modes {rest}, as fitted"
            raise ScoupError.expected("images", expected, f"shape {images.shape}")
        return self._tensor(change(self._images(images)), images.shape)

    def _order(self) -> list[int]:
        others = [n for n in range(len(self.shape_)) if n not in (self.things_, self.mode_)]
        return [*others, self.things_, self.mode_]

    def _images(self, tensor: Array) -> Array:
        """Lay a tensor out as (remaining indices, things, voxels)."""
        ordered = np.transpose(tensor, self._order())
        return np.ascontiguousarray(ordered).reshape(-1, *ordered.shape[-2:])

    def _tensor(self, images: Array, shape: tuple[int, ...]) -> Array:
        """Reverse :meth:`_images`."""
        order = self._order()
        ordered = images.reshape([shape[n] for n in order])
        return np.ascontiguousarray(np.transpose(ordered, np.argsort(order)))


_EXPECTED = "a dense tensor without missing cells, and matrices on one mode"


def _check_modes(data: CoupledData, mode: int | None) -> tuple[int, int]:
    """Return the modes of the things and of what is normalised."""
    if not isinstance(data, CoupledData):
        raise ScoupError.expected("data", "CoupledData", type(data).__name__)
    owners = sorted(set(data.owners))
    if data.blocks[0].is_sparse or data.is_masked or len(owners) != 1:
        got = f"matrices on modes {owners}" + (", cells missing" if data.is_masked else "")
        raise ScoupError.expected("data", _EXPECTED, got)
    others = [n for n in range(data.ndim) if n != owners[0]]
    if mode is None:
        return owners[0], max(others, key=lambda n: data.shape[n])
    if isinstance(mode, bool) or mode not in others:
        raise ScoupError.expected("mode", f"one of the modes without a matrix, {others}", mode)
    return owners[0], int(mode)


def _standardised(values: Array | SparseTensor) -> Array:
    dense = values.to_dense() if isinstance(values, SparseTensor) else np.asarray(values, float)
    spread = dense.std(axis=0)
    return (dense - dense.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
