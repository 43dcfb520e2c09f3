"""The terms of the objective, ready for a solver: right-hand sides, Gram matrices and losses.

Every block (the tensor, each matrix) becomes one term ``w |W * (X - [[factors]])|^2``. A solver sees
only the normal equations of a factor, so dense and sparse data, masks and any number of
matrices need no code of their own there:

    M_k (sum_b w_b G_b) = sum_b w_b R_b,   R_b = X_b(k) KR(others),   G_b = hadamard of M_n' M_n

with one G for all rows where everything is observed, and one for each row where it is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup import kernels
from scoup.block import Block, HeldOut, Observed
from scoup.coupled import CoupledData
from scoup.factors import khatri_rao
from scoup.tensor import SparseTensor

Array = NDArray[Any]


class Term:
    """One block under a weight. ``flat`` is the list ``[*modes, *sides]``, ``grams`` its ``M' M``.

    >>> term = terms_of(CoupledData(np.ones((2, 2, 2))))[0]
    >>> flat = [np.ones((2, 1))] * 3
    >>> term.rhs(flat, 0).tolist(), term.gram(flat, grams_of(flat), 0).tolist()
    ([[4.0], [4.0]], [[4.0]])
    """

    def __init__(self, block: Block, weight: float) -> None:
        self.name = block.name
        self.weight = weight
        self.factors = block.factors
        self.norm2 = block.norm2
        self.masked = block.mask is not None

    def rhs(self, flat: Sequence[Array], position: int) -> Array:
        """``R = X_(k) KR(other factors)`` over observed cells, shape (I_k, F)."""
        raise NotImplementedError

    def gram(self, flat: Sequence[Array], grams: Sequence[Array], position: int) -> Array:
        """``G``: (F, F) when nothing is missing, else (I_k, F, F), one matrix a row."""
        return _hadamard([grams[other] for other in self.factors if other != position])

    def loss(self, rhs: Array, gram: Array, factor: Array, factor_gram: Array) -> float:
        """``|X|^2 - 2 <R, M> + <M G, M>``: the squared error from quantities the update already has."""
        cross = kernels.inner(rhs, factor)
        if gram.ndim == 2:
            model = float(np.sum(gram * factor_gram, dtype=np.float64))
        else:
            model = float(np.einsum("if,ifg,ig->", factor, gram, factor, optimize=True))
        return max(self.norm2 - 2.0 * cross + model, 0.0)


class DenseTerm(Term):
    """A dense array of any order.

    One product with the factor of the longest mode serves all other modes until that factor
    changes, so a sweep passes over the data twice, not N times.
    """

    def __init__(self, block: Block, weight: float) -> None:
        super().__init__(block, weight)
        assert isinstance(block.values, np.ndarray)
        self.shape = block.shape
        self._long = int(np.argmax(self.shape))
        self._values = _three(block.values, self._long)
        self._mask = (
            None
            if block.mask is None
            else _three(_as_numbers(block.mask, block.values.dtype), self._long)
        )
        self._partial: tuple[Array, Array] | None = None
        self._partial_mask: tuple[Array, Array] | None = None

    def rhs(self, flat: Sequence[Array], position: int) -> Array:
        """See :meth:`Term.rhs`."""
        mine = [flat[k] for k in self.factors]
        mode = self.factors.index(position)
        if mode == self._long:
            return kernels.spread(self._values, self._others(mine))
        if self._partial is None or self._partial[0] is not mine[self._long]:
            self._partial = (mine[self._long], kernels.contract(self._values, mine[self._long]))
        return _finish(self._partial[1], mine, self._long, mode)

    def gram(self, flat: Sequence[Array], grams: Sequence[Array], position: int) -> Array:
        """Row Grams are an MTTKRP of the mask with the pairwise products of the factors' columns."""
        if self._mask is None:
            return super().gram(flat, grams, position)
        mine = [_pairs(flat[k]) for k in self.factors]
        mode = self.factors.index(position)
        if mode == self._long:
            packed = kernels.spread(self._mask, self._others(mine))
        else:
            key = flat[self.factors[self._long]]
            if self._partial_mask is None or self._partial_mask[0] is not key:
                self._partial_mask = (key, kernels.contract(self._mask, mine[self._long]))
            packed = _finish(self._partial_mask[1], mine, self._long, mode)
        return _unpack(packed, flat[position].shape[1])

    def _others(self, mine: Sequence[Array]) -> Array:
        """Khatri-Rao product of all factors but the long one's, shaped (pre, post, F) like the data."""
        rank = mine[0].shape[1]
        before, after = mine[: self._long], mine[self._long + 1 :]
        left = khatri_rao(before) if before else np.ones((1, rank), dtype=mine[0].dtype)
        right = khatri_rao(after) if after else np.ones((1, rank), dtype=mine[0].dtype)
        return left[:, None, :] * right[None, :, :]


class SparseTerm(Term):
    """A sparse array of any order; never made dense, no Khatri-Rao product is formed."""

    def __init__(self, block: Block, weight: float) -> None:
        super().__init__(block, weight)
        assert isinstance(block.values, SparseTensor)
        self._values = _arrange(block.values)
        self._held_out = isinstance(block.mask, HeldOut)
        self._listed = (
            _arrange(block.mask.cells) if isinstance(block.mask, (HeldOut, Observed)) else None
        )

    def rhs(self, flat: Sequence[Array], position: int) -> Array:
        """See :meth:`Term.rhs`."""
        return kernels.mttkrp(
            self._values, [flat[k] for k in self.factors], self.factors.index(position)
        )

    def gram(self, flat: Sequence[Array], grams: Sequence[Array], position: int) -> Array:
        """Row Grams from the listed cells: their sum, or what they leave of the whole."""
        if self._listed is None:
            return super().gram(flat, grams, position)
        rows = kernels.row_grams(
            self._listed, [flat[k] for k in self.factors], self.factors.index(position)
        )
        return super().gram(flat, grams, position) - rows if self._held_out else rows


def terms_of(data: CoupledData) -> list[Term]:
    """Make the terms of a data set, tensor first. Blocks of weight 0 stay, and count for nothing.

    >>> [term.name for term in terms_of(CoupledData(np.ones((2, 2, 2)), {1: np.ones((2, 3))}))]
    ['tensor', 'matrix1']
    """
    return [
        (SparseTerm if block.is_sparse else DenseTerm)(block, weight)
        for block, weight in zip(data.blocks, data.block_weights, strict=True)
    ]


def grams_of(flat: Sequence[Array]) -> list[Array]:
    """``M' M`` of each factor, (F, F).

    >>> [gram.tolist() for gram in grams_of([np.ones((3, 1))])]
    [[[3.0]]]
    """
    return [kernels.gram(factor) for factor in flat]


def block_losses(terms: Sequence[Term], flat: Sequence[Array]) -> list[float]:
    """Squared error of each term, unweighted, at given factors.

    >>> block_losses(terms_of(CoupledData(np.ones((2, 2, 2)))), [np.zeros((2, 1))] * 3)
    [8.0]
    """
    grams = grams_of(flat)
    losses = []
    for term in terms:
        last = term.factors[0] if isinstance(term, SparseTerm) else _cheapest(term, flat)
        losses.append(
            term.loss(term.rhs(flat, last), term.gram(flat, grams, last), flat[last], grams[last])
        )
    return losses


def _cheapest(term: Term, flat: Sequence[Array]) -> int:
    """The shortest factor: its right-hand side comes from the shared partial product."""
    return min(term.factors, key=lambda k: len(flat[k]))


def _arrange(tensor: SparseTensor) -> kernels.Fibres:
    return kernels.arrange(tensor.coords, tensor.values, tensor.shape)


def _hadamard(matrices: Sequence[Array]) -> Array:
    product = matrices[0]
    for matrix in matrices[1:]:
        product = product * matrix
    return product


def _three(values: Array, mode: int) -> Array:
    """View a C-contiguous array as (pre, size of mode, post)."""
    shape = values.shape
    return values.reshape(prod(shape[:mode]), shape[mode], prod(shape[mode + 1 :]))


def _as_numbers(mask: Any, dtype: np.dtype) -> Array:
    return np.asarray(mask).astype(dtype)


def _finish(partial: Array, mine: Sequence[Array], long: int, mode: int) -> Array:
    """Contract the partial product (pre, post, F) with every factor but ``mode``'s: (I_mode, F)."""
    sizes = [len(factor) for n, factor in enumerate(mine) if n != long]
    rest = [n for n in range(len(mine)) if n != long]
    array = partial.reshape(*sizes, -1)
    axis = rest.index(mode)
    if axis > 0:
        left = khatri_rao([mine[n] for n in rest[:axis]])
        array = array.reshape(len(left), -1, array.shape[-1])
        array = np.einsum("pxf,pf->xf", array, left)
    array = array.reshape(sizes[axis], -1, array.shape[-1])
    if axis + 1 < len(rest):
        right = khatri_rao([mine[n] for n in rest[axis + 1 :]])
        return np.einsum("ixf,xf->if", array, right)
    return np.ascontiguousarray(array[:, 0, :])


def _pairs(factor: Array) -> Array:
    """Products of all pairs of columns f <= g: (I, F (F + 1) / 2)."""
    rows, columns = np.triu_indices(factor.shape[1])
    return factor[:, rows] * factor[:, columns]


def _unpack(packed: Array, rank: int) -> Array:
    """Turn packed upper triangles (I, F (F + 1) / 2) into symmetric matrices (I, F, F)."""
    rows, columns = np.triu_indices(rank)
    full = np.empty((len(packed), rank, rank), dtype=packed.dtype)
    full[:, rows, columns] = packed
    full[:, columns, rows] = packed
    return full
