"""Noise normalisation: a mode of dense images measured in units of its noise.

Least squares takes all directions for equally noisy, but noise between voxels is correlated. With
``R`` (n, V) the part of n training images that the coupled matrix does not predict, an image x is
replaced by

    x sqrt(a) (R'R + a I)^(-1/2),    a = strength * |R|^2 / n

which shrinks the directions that hold much noise and keeps the others. No matrix of V x V numbers
is formed, as x changes by a combination of the rows of R only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.records import Array
from scoup.specs import AboveZero, check
from scoup.tensor import SparseTensor

TINY = 1e-300


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
class NoiseSpectrum:
    """The noise of images with the products ``G = X X'`` (..., n, n), by residuals ``R = L X``.

    ``values`` (..., n) are the eigenvalues of ``R R' = U diag(values) U'``, ``level`` (..., 1) is
    the mean squared residual, ``rows`` are ``U' L`` and ``images`` are ``U' L G``, (..., n, n).
    """

    values: Array
    level: Array
    rows: Array
    images: Array

    @staticmethod
    def of(products: Array, operator: Array, count: Array) -> NoiseSpectrum:
        """Estimate from ``count`` training images; arrays broadcast over leading axes."""
        images = operator @ products
        values, vectors = np.linalg.eigh(images @ operator.swapaxes(-1, -2))
        values, turned = values.clip(0), vectors.swapaxes(-1, -2)
        level = values.sum(axis=-1, keepdims=True) / count
        return NoiseSpectrum(values, level, turned @ operator, turned @ images)

    def whiten(self, products: Array, strength: float) -> tuple[Array, Array]:
        """Return the whitened products (..., n, n), and T with ``T X`` the whitened images."""
        ridge = np.maximum(strength * self.level, TINY)
        shrunk = products - self.images.swapaxes(-1, -2) @ (
            self.images / (self.values + ridge)[..., None]
        )
        shifts = shrinkage(self.values, ridge)[..., None] * self.rows
        return shrunk, np.eye(products.shape[-1]) - self.images.swapaxes(-1, -2) @ shifts


def shrinkage(values: Array, ridge: Array) -> Array:
    """Return ``s`` with ``1 - s * values = sqrt(ridge / (values + ridge))``.

    >>> shrinkage(np.array([0.0, 3.0]), np.array([1.0])).round(3).tolist()
    [0.5, 0.167]
    """
    return 1 / ((values + ridge) * (1 + np.sqrt(ridge / (values + ridge))))


def growth(values: Array, ridge: Array) -> Array:
    """Return ``s`` with ``1 + s * values = sqrt((values + ridge) / ridge)``.

    >>> growth(np.array([0.0, 3.0]), np.array([1.0])).round(3).tolist()
    [0.5, 0.333]
    """
    return 1 / (ridge * (1 + np.sqrt((values + ridge) / ridge)))


class NoiseNormalizer:
    """Whiten one mode of a dense tensor by the noise of its training data.

    The things are the mode of the matrix; noise is what ridge regression on the standardised matrix
    leaves of the other things, each being left out in turn. Every index of a remaining mode, such
    as a subject, has its own noise.

    - ``mode``: the mode to whiten, such as voxels; by default the longest one without a matrix.
    - ``strength``: shrinkage of the noise covariance towards the identity; the smaller, the more is
      whitened.
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

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name (scikit-learn passes ``deep``)."""
        del deep
        return {"mode": self.mode, "strength": self.strength, "penalty": self.penalty}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name and return the normalizer."""
        for name, value in params.items():
            if name not in self.get_params():
                names = ", ".join(self.get_params())
                raise ScoupError.expected("parameter", f"one of {names}", repr(name))
            setattr(self, name, value)
        return self

    def fit(self, data: CoupledData, y: Any = None) -> Self:
        """Estimate means and noise; sets ``things_``, ``mode_``, ``means_`` and ``noise_``."""
        del y
        strength = check("strength", self.strength, AboveZero)
        penalty = check("penalty", self.penalty, AboveZero)
        self.things_, self.mode_ = _check_modes(data, self.mode)
        self.shape_ = data.shape
        images = self._images(np.asarray(data.tensor, dtype=np.float64))
        self.means_ = images.mean(axis=1, keepdims=True)
        answers = np.hstack([_standardised(block.values) for block in data.blocks[1:]])
        ones = np.ones((1, len(answers)))
        operator = residual_operator((answers @ answers.T)[None], ones, penalty)[0]
        residuals = operator @ (images - self.means_)
        values, vectors = np.linalg.eigh(residuals @ residuals.swapaxes(1, 2))
        self.noise_ = vectors.swapaxes(1, 2) @ residuals
        self.values_ = values.clip(0)
        self.ridge_ = np.maximum(strength * self.values_.mean(axis=1, keepdims=True), TINY)
        return self

    def transform(self, data: CoupledData | Array) -> Any:
        """Whiten the tensor of coupled data, or an array of images laid out like that tensor."""
        return self._changed(data, self._whiten)

    def inverse_transform(self, data: CoupledData | Array) -> Any:
        """Return images in their original units, such as predictions of a model."""
        return self._changed(data, self._restore)

    def fit_transform(self, data: CoupledData, y: Any = None) -> CoupledData:
        """Fit, then transform the same data."""
        return self.fit(data, y).transform(data)

    def _whiten(self, images: Array) -> Array:
        images = images - self.means_
        gains = shrinkage(self.values_, self.ridge_)[:, :, None]
        return images - images @ self.noise_.swapaxes(1, 2) @ (gains * self.noise_)

    def _restore(self, images: Array) -> Array:
        gains = growth(self.values_, self.ridge_)[:, :, None]
        return images + images @ self.noise_.swapaxes(1, 2) @ (gains * self.noise_) + self.means_

    def _changed(self, data: CoupledData | Array, change: Any) -> Any:
        if not hasattr(self, "noise_"):
            raise ScoupError("NoiseNormalizer is not fitted yet; call fit(data) first.")
        if isinstance(data, CoupledData):
            if data.blocks[0].is_sparse or data.blocks[0].mask is not None:
                raise ScoupError.expected("data", _EXPECTED, "a sparse or incomplete one")
            changed = self._changed(np.asarray(data.tensor), change)
            masks = {
                mode: [block.mask for block in data.blocks[1:] if block.factors[0] == mode]
                for mode in data.matrices
            }
            return CoupledData(changed, data.matrices, None, masks, data.block_weights)
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
    """Return the modes of the things and of what is whitened."""
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
