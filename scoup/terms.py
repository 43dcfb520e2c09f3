"""The terms of the objective, ready for a solver: right-hand sides, Gram matrices and losses.

Every block (the tensor, each matrix) becomes one term ``w |W * (X - [[factors]])|^2``. A solver
sees only the normal equations of a factor, so dense and sparse data, masks and any number of
matrices need no special code there:

    M_k (sum_b w_b G_b) = sum_b w_b R_b,   R_b = X_b(k) KR(others),   G_b = hadamard of M_n' M_n

with one G for all rows where everything is observed, and one for each row where it is not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from scoup import kernels
from scoup.coupled import Block, CoupledData, HeldOut, Observed
from scoup.factors import khatri_rao
from scoup.records import Array
from scoup.tensor import SparseTensor


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
        """``G``: (F, F) when nothing is missing, else (I_k, F, F), one matrix per row."""
        return _hadamard([grams[other] for other in self.factors if other != position])

    def loss(self, rhs: Array, gram: Array, factor: Array, factor_gram: Array) -> float:
        """``|X|^2 - 2 <R, M> + <M G, M>``: the squared error, from what the update has computed."""
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
        self._longest = int(np.argmax(self.shape))
        self._values = _as_three_way(block.values, self._longest)
        self._mask = None
        if block.mask is not None:
            numbers = np.asarray(block.mask).astype(block.values.dtype)
            self._mask = _as_three_way(numbers, self._longest)
        self._partial: tuple[Array, Array] | None = None
        self._partial_mask: tuple[Array, Array] | None = None

    def rhs(self, flat: Sequence[Array], position: int) -> Array:
        """See :meth:`Term.rhs`."""
        factors = [flat[k] for k in self.factors]
        mode, longest = self.factors.index(position), factors[self._longest]
        if mode == self._longest:
            return kernels.spread(self._values, self._others(factors))
        if self._partial is None or self._partial[0] is not longest:
            self._partial = (longest, kernels.contract(self._values, longest))
        return _contract_rest(self._partial[1], factors, self._longest, mode)

    def gram(self, flat: Sequence[Array], grams: Sequence[Array], position: int) -> Array:
        """Row Grams are an MTTKRP of the mask with the products of all pairs of columns."""
        if self._mask is None:
            return super().gram(flat, grams, position)
        pairs = [_pairs(flat[k]) for k in self.factors]
        mode = self.factors.index(position)
        if mode == self._longest:
            packed = kernels.spread(self._mask, self._others(pairs))
        else:
            longest = flat[self.factors[self._longest]]
            if self._partial_mask is None or self._partial_mask[0] is not longest:
                self._partial_mask = (longest, kernels.contract(self._mask, pairs[self._longest]))
            packed = _contract_rest(self._partial_mask[1], pairs, self._longest, mode)
        return _unpack(packed, flat[position].shape[1])

    def _others(self, factors: Sequence[Array]) -> Array:
        """Khatri-Rao product of all factors but the longest, of shape (pre, post, F)."""
        ones = np.ones((1, factors[0].shape[1]), dtype=factors[0].dtype)
        before, after = factors[: self._longest], factors[self._longest + 1 :]
        left, right = khatri_rao(before or [ones]), khatri_rao(after or [ones])
        return left[:, None, :] * right[None, :, :]


class SparseTerm(Term):
    """A sparse array of any order: never made dense, and no Khatri-Rao product is formed."""

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
        """Row Grams from the listed cells: their sum, or the whole without it."""
        if self._listed is None:
            return super().gram(flat, grams, position)
        rows = kernels.row_grams(
            self._listed, [flat[k] for k in self.factors], self.factors.index(position)
        )
        return super().gram(flat, grams, position) - rows if self._held_out else rows


@dataclass(frozen=True, eq=False)
class Problem:
    """What a solver minimises: ``sum_b w_b |W_b * (X_b - model)|^2``, one term per block.

    >>> problem = Problem.of(CoupledData(np.ones((2, 2, 2)), weights=[3.0]))
    >>> problem.zero_cost, problem.masked
    (24.0, False)
    """

    data: CoupledData
    terms: list[Term]

    @classmethod
    def of(cls, data: CoupledData) -> "Problem":
        """Arrange the data for the kernels."""
        return cls(data, terms_of(data))

    @property
    def masked(self) -> bool:
        """Whether any cell is missing."""
        return any(term.masked for term in self.terms)

    @property
    def zero_cost(self) -> float:
        """The objective of the model that is zero everywhere."""
        return weighted(self.terms, [term.norm2 for term in self.terms])


def terms_of(data: CoupledData) -> list[Term]:
    """Return the terms of a data set, tensor first; blocks of weight 0 stay and count for nothing.

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


def weighted(terms: Sequence[Term], losses: Sequence[float]) -> float:
    """The objective: ``sum_b w_b loss_b``.

    >>> weighted(terms_of(CoupledData(np.ones((2, 2, 2)), weights=[3.0])), [2.0])
    6.0
    """
    return float(sum(term.weight * loss for term, loss in zip(terms, losses, strict=True)))


def block_losses(terms: Sequence[Term], flat: Sequence[Array]) -> list[float]:
    """Squared error of each term, unweighted.

    >>> block_losses(terms_of(CoupledData(np.ones((2, 2, 2)))), [np.zeros((2, 1))] * 3)
    [8.0]
    """
    grams = grams_of(flat)
    losses = []
    for term in terms:
        position = term.factors[0] if isinstance(term, SparseTerm) else shortest(term, flat)
        rhs, gram = term.rhs(flat, position), term.gram(flat, grams, position)
        losses.append(term.loss(rhs, gram, flat[position], grams[position]))
    return losses


def shortest(term: Term, flat: Sequence[Array]) -> int:
    """Return the position of a term's shortest factor, whose right-hand side costs least."""
    return min(term.factors, key=lambda k: len(flat[k]))


def _arrange(tensor: SparseTensor) -> kernels.Fibres:
    return kernels.arrange(tensor.coords, tensor.values, tensor.shape)


def _hadamard(matrices: Sequence[Array]) -> Array:
    product = matrices[0]
    for matrix in matrices[1:]:
        product = product * matrix
    return product


def _as_three_way(values: Array, mode: int) -> Array:
    """View a C-contiguous array as (pre, size of mode, post)."""
    shape = values.shape
    return values.reshape(prod(shape[:mode]), shape[mode], prod(shape[mode + 1 :]))


def _contract_rest(partial: Array, factors: Sequence[Array], longest: int, mode: int) -> Array:
    """Contract the partial product (pre, post, F) with all factors but ``mode``'s: (I_mode, F)."""
    others = [n for n in range(len(factors)) if n != longest]
    sizes = [len(factors[n]) for n in others]
    array = partial.reshape(*sizes, -1)
    axis = others.index(mode)
    if axis > 0:
        left = khatri_rao([factors[n] for n in others[:axis]])
        array = array.reshape(len(left), -1, array.shape[-1])
        array = np.einsum("pxf,pf->xf", array, left)
    array = array.reshape(sizes[axis], -1, array.shape[-1])
    if axis + 1 < len(others):
        right = khatri_rao([factors[n] for n in others[axis + 1 :]])
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
