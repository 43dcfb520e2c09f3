"""The terms of the objective, ready for a solver: right-hand sides, Gram matrices and losses.

Every block (the tensor, each matrix) becomes one term ``w |W * (X - [[factors]])|^2``. A solver
sees only the normal equations of a factor, so dense and sparse data, masks and any number of
matrices need no special code there:

    M_k (sum_b w_b G_b) = sum_b w_b R_b,   R_b = X_b(k) KR(others),   G_b = hadamard of M_n' M_n

with one G for all rows where everything is observed, and one for each row where it is not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import frexp, ldexp, prod
from typing import cast

import numpy as np

from scoup import kernels
from scoup.block import Block, HeldOut, Observed
from scoup.constraints import UNCONSTRAINED, Constraints
from scoup.coupled import CoupledData
from scoup.factors import khatri_rao
from scoup.records import Array, Factors
from scoup.streamed import SolveRows, StreamedTensor
from scoup.tensor import SparseTensor
from scoup.units import Units

# A loss is a difference of squares. If these exceed the squares of the data by this factor, three
# more digits than usual cancel, and the loss is computed from the residuals instead.
MAX_CANCELLATION = 1e3
# Size up to which the residuals of a sparse block are computed as those of a dense one.
MAX_DENSE_CELLS = 1 << 20
# Listed cells whose residuals are computed in one go.
RESIDUAL_STEP_CELLS = 1 << 16


class Term:
    """One block under a weight. ``flat`` is the list ``[*modes, *sides]``, ``grams`` its ``M' M``.

    The data enters in units of ``2^exponent``, so that its size does not matter to a solver.

    >>> term = terms_of(CoupledData(np.ones((2, 2, 2))))[0]
    >>> flat = [np.ones((2, 1))] * 3
    >>> term.rhs(flat, 0).tolist(), term.gram(flat, grams_of(flat), 0).tolist()
    ([[4.0], [4.0]], [[4.0]])
    """

    def __init__(self, block: Block, weight: float, exponent: int = 0) -> None:
        self.name = block.name
        self.block = block
        self.weight = weight
        self.factors = block.factors
        self.exponent = exponent
        self.norm2 = ldexp(block.norm2, -2 * exponent)
        self.masked = block.mask is not None

    def rhs(self, flat: Sequence[Array], position: int) -> Array:
        """``R = X_(k) KR(other factors)`` over observed cells, shape (I_k, F)."""
        product = self._product([flat[k] for k in self.factors], self.factors.index(position))
        if not self.exponent:
            return product
        # In place if possible; a view may be of an array that the term caches.
        unit = product.dtype.type(ldexp(1.0, -self.exponent))
        return np.multiply(product, unit, out=product if product.flags.owndata else None)

    def _product(self, factors: Sequence[Array], mode: int) -> Array:
        """``X_(mode) KR(other factors)`` in the units of the data."""
        raise NotImplementedError

    def residual_loss(self, factors: Sequence[Array]) -> float:
        """The squared error in float64, from the residuals; ``factors`` are those of this term."""
        raise NotImplementedError

    def gram(self, flat: Sequence[Array], grams: Sequence[Array], position: int) -> Array:
        """``G``: (F, F) when nothing is missing, else (I_k, F, F), one matrix per row."""
        return _hadamard([grams[other] for other in self.factors if other != position])

    def loss(
        self, rhs: Array, gram: Array, flat: Sequence[Array], grams: Sequence[Array], position: int
    ) -> float:
        """``|X|^2 - 2 <R, M> + <M G, M>``: the squared error, from what the update has computed."""
        factor = flat[position]
        if gram.ndim == 2:
            products = gram * grams[position]
            model, squares = float(products.sum()), float(np.abs(products).sum())
        else:
            model = float(np.einsum("if,ifg,ig->", factor, gram, factor, optimize=True))
            squares = factor.shape[1] * float(np.einsum("if,iff,if->", factor, gram, factor))
        if not squares <= MAX_CANCELLATION * self.norm2:
            return self.residual_loss([flat[k] for k in self.factors])
        return max(self.norm2 - 2.0 * kernels.inner(rhs, factor) + model, 0.0)


class DenseTerm(Term):
    """A dense array of any order.

    One product with the factor of the longest mode serves all other modes until that factor
    changes, so a sweep passes over the data twice, not N times.
    """

    def __init__(self, block: Block, weight: float, exponent: int = 0) -> None:
        super().__init__(block, weight, exponent)
        assert isinstance(block.values, np.ndarray)
        self.shape = block.shape
        self._longest = int(np.argmax(self.shape))
        self._values = _as_three_way(block.values, self._longest)
        self._observed = None
        if block.mask is not None:
            self._observed = _packed(_as_three_way(np.asarray(block.mask), self._longest))
        self._partial: tuple[Array, Array] | None = None
        self._partial_gram: tuple[Array, Array] | None = None

    def _product(self, factors: Sequence[Array], mode: int) -> Array:
        longest = factors[self._longest]
        if mode == self._longest:
            return kernels.spread(self._values, self._others(factors))
        if self._partial is None or self._partial[0] is not longest:
            self._partial = (longest, kernels.contract(self._values, longest))
        return _contract_rest(self._partial[1], factors, self._longest, mode)

    def gram(self, flat: Sequence[Array], grams: Sequence[Array], position: int) -> Array:
        """Row Grams are an MTTKRP of the mask with the products of all pairs of columns."""
        if self._observed is None:
            return super().gram(flat, grams, position)
        own, (long_bits, other_bits) = self.factors, self._observed
        mode = own.index(position)
        pairs = [_pairs(flat[k]) if n != self._longest else flat[k] for n, k in enumerate(own)]
        longest = pairs[self._longest]
        if mode == self._longest:
            outer = self._others(pairs)
            packed = kernels.sum_picked(long_bits, outer.reshape(-1, outer.shape[2]))
        else:
            if self._partial_gram is None or self._partial_gram[0] is not longest:
                self._partial_gram = longest, kernels.sum_picked(other_bits, _pairs(longest))
            packed = _contract_rest(self._partial_gram[1], pairs, self._longest, mode)
        return _unpack(packed, flat[position].shape[1])

    def residual_loss(self, factors: Sequence[Array]) -> float:
        """See :meth:`Term.residual_loss`; one pass over the cells, some of them at a time."""
        values, mask = self._values.reshape(self.shape), self.block.mask
        return kernels.squared_error(values, cast(Array | None, mask), factors, self.exponent)

    def _others(self, factors: Sequence[Array]) -> Array:
        """Khatri-Rao product of all factors but the longest, of shape (pre, post, F)."""
        before, after = factors[: self._longest], factors[self._longest + 1 :]
        ones = np.ones_like((before or after)[0][:1])
        left, right = khatri_rao(before or [ones]), khatri_rao(after or [ones])
        return left[:, None, :] * right[None, :, :]


class SparseTerm(Term):
    """A sparse array of any order: never made dense, and no Khatri-Rao product is formed."""

    def __init__(self, block: Block, weight: float, exponent: int = 0) -> None:
        super().__init__(block, weight, exponent)
        assert isinstance(block.values, SparseTensor)
        self._values = _arrange(block.values)
        self._held_out, self._listed = isinstance(block.mask, HeldOut), None
        if isinstance(block.mask, (HeldOut, Observed)):
            cells = block.mask.cells
            # What hidden cells hold is subtracted: in float64, as they may hold most of a row.
            dtype = np.float64 if self._held_out else cells.dtype
            numbers = cells.values.astype(dtype, copy=False)
            self._listed = kernels.arrange(cells.coords, numbers, cells.shape)
        self._scarce: dict[int, tuple[Array, kernels.Fibres]] = {}

    def _product(self, factors: Sequence[Array], mode: int) -> Array:
        return kernels.mttkrp(self._values, factors, mode)

    def gram(self, flat: Sequence[Array], grams: Sequence[Array], position: int) -> Array:
        """Row Grams from the listed cells: their sum, or the whole without it."""
        if self._listed is None:
            return super().gram(flat, grams, position)
        factors, mode = [flat[k] for k in self.factors], self.factors.index(position)
        rows = kernels.row_grams(self._listed, factors, mode)
        if not self._held_out:
            return rows
        np.subtract(super().gram(flat, grams, position), rows, out=rows)
        rows = rows.astype(self._values.values.dtype, copy=False)
        # Where many cells are hidden the difference may be rounding error: sum the others instead.
        index, cells = self._scarce_cells(mode)
        if index.size:
            rows[index] = kernels.row_grams(cells, factors, mode)
        return rows

    def _scarce_cells(self, mode: int) -> tuple[Array, kernels.Fibres]:
        """The rows that lack many cells, and the observed cells of these rows."""
        if mode not in self._scarce:
            assert isinstance(self.block.mask, HeldOut)
            index, cells = self.block.mask.scarce_rows(mode)
            self._scarce[mode] = index, _arrange(cells)
        return self._scarce[mode]

    def residual_loss(self, factors: Sequence[Array]) -> float:
        """See :meth:`Term.residual_loss`; zeros that are not listed enter as Gram matrices."""
        block = self.block
        if prod(block.shape) <= MAX_DENSE_CELLS:
            return kernels.squared_error(*block.to_dense(), factors, self.exponent)
        values, mask = block.values, block.mask
        assert isinstance(values, SparseTensor)
        if isinstance(mask, Observed):
            observed = values.at(mask.cells.coords)
            return sum(
                kernels.inner(data - model, data - model)
                for data, model in self._data_and_model(mask.cells.coords, observed, factors)
            )
        squares = float(_hadamard(grams_of(factors)).sum())
        if isinstance(mask, HeldOut):
            cells = mask.cells
            squares -= sum(
                kernels.inner(model, model)
                for _, model in self._data_and_model(cells.coords, cells.values, factors)
            )
        squares += sum(
            kernels.inner(data - 2.0 * model, data)
            for data, model in self._data_and_model(values.coords, values.values, factors)
        )
        return max(squares, 0.0)

    def _data_and_model(
        self, coords: Array, values: Array, factors: Sequence[Array]
    ) -> Iterator[tuple[Array, Array]]:
        """Yield data and model of the listed cells, some of them at a time to save memory."""
        weights = np.ones(factors[0].shape[1])
        for first in range(0, values.size, RESIDUAL_STEP_CELLS):
            step = slice(first, first + RESIDUAL_STEP_CELLS)
            data = np.ldexp(values[step].astype(np.float64), -self.exponent)
            yield data, kernels.model_at(*_doubles_at(coords[:, step], factors, weights))


class StreamedTerm(Term):
    """A sparse tensor on disk: a right-hand side is a pass over its cells, or comes for free.

    Rows of the leading mode are solved where their cells are read, and the product for the mode
    that is updated next is summed up in the same pass: a sweep takes N - 1 passes.
    """

    def __init__(self, block: Block, weight: float, exponent: int = 0) -> None:
        super().__init__(block, weight, exponent)
        assert isinstance(block.values, StreamedTensor)
        self._values = block.values
        self._ahead: tuple[int, list[Array], Array] | None = None

    def solves_rows(self, position: int) -> bool:
        """Whether ``position`` is that of the leading mode."""
        return self.factors[self._values.leading] == position

    def solve_rows(
        self, flat: Sequence[Array], solve: SolveRows, later: int, out: Array | None = None
    ) -> Array:
        """Return the solved rows of the leading factor; the product for ``later`` is kept.

        ``solve`` gets a range of rows and their right-hand side; ``out`` is overwritten by the
        result.
        """
        factors, mode = [flat[k] for k in self.factors], self.factors.index(later)
        unit = ldexp(1.0, -self.exponent)
        solved, product = self._values.solve_rows(
            factors, lambda rows, part: solve(rows, part * unit), mode, out
        )
        factors[self._values.leading] = solved
        self._ahead = mode, factors, product
        return solved

    def _product(self, factors: Sequence[Array], mode: int) -> Array:
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead[0] == mode:
            same = (new is old for new, old in zip(factors, ahead[1], strict=True))
            if all(known or n == mode for n, known in enumerate(same)):
                return ahead[2]
        return self._values.mttkrp(factors, mode)

    def residual_loss(self, factors: Sequence[Array]) -> float:
        """See :meth:`Term.residual_loss`; one pass, and Gram matrices for the zeros."""
        explained = ldexp(self._values.inner(factors), -self.exponent)
        squares = float(_hadamard(grams_of(factors)).sum())
        return max(self.norm2 - 2.0 * explained + squares, 0.0)


@dataclass(frozen=True, eq=False)
class Problem:
    """What a solver minimises: ``sum_b w_b |W_b * (X_b - model)|^2``, one term per block.

    >>> problem = Problem.of(CoupledData(np.ones((2, 2, 2)), weights=[3.0]))
    >>> problem.zero_cost, problem.masked
    (24.0, False)
    """

    data: CoupledData
    terms: list[Term]
    constraints: Constraints = UNCONSTRAINED

    @classmethod
    def of(
        cls,
        data: CoupledData,
        units: Units | None = None,
        constraints: Constraints = UNCONSTRAINED,
    ) -> "Problem":
        """Arrange the data for the kernels, measured in ``units`` if passed."""
        if units is None:
            return cls(data, terms_of(data), constraints)
        blocks = zip(data.blocks, units.weights, units.blocks, strict=True)
        return cls(data, [_term_of(*block) for block in blocks], constraints)

    @property
    def masked(self) -> bool:
        """Whether any cell is missing."""
        return any(term.masked for term in self.terms)

    @property
    def zero_cost(self) -> float:
        """The objective of the model that is zero everywhere."""
        return weighted(self.terms, [term.norm2 for term in self.terms])

    @property
    def rounding(self) -> float:
        """The size of rounding errors in costs, which are differences of squares of the data."""
        return self.zero_cost * float(np.finfo(self.data.dtype).eps)


def terms_of(data: CoupledData) -> list[Term]:
    """Return the terms of a data set, tensor first; blocks of weight 0 stay and count for nothing.

    >>> [term.name for term in terms_of(CoupledData(np.ones((2, 2, 2)), {1: np.ones((2, 3))}))]
    ['tensor', 'matrix1']
    """
    blocks = zip(data.blocks, data.block_weights, strict=True)
    return [_term_of(block, weight) for block, weight in blocks]


def _term_of(block: Block, weight: float, exponent: int = 0) -> Term:
    if block.is_streamed:
        return StreamedTerm(block, weight, exponent)
    return (SparseTerm if block.is_sparse else DenseTerm)(block, weight, exponent)


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


def relative_weights(weights: Sequence[float]) -> list[float]:
    """Return the weights of blocks relative to one another, the largest between 1/2 and 2.

    Next to weightless blocks alone that of each is 1. The scale is a power of four.

    >>> relative_weights([16.0, 8.0]), relative_weights([0.0, 0.0])
    ([1.0, 0.5], [1.0, 1.0])
    """
    size = max(weights)
    exponent = -2 * (frexp(size)[1] // 2)
    return [ldexp(weight, exponent) if size else 1.0 for weight in weights]


def block_losses(terms: Sequence[Term], flat: Sequence[Array]) -> list[float]:
    """Squared error of each term, unweighted, in float64 and without cancellation.

    >>> block_losses(terms_of(CoupledData(np.ones((2, 2, 2)))), [np.zeros((2, 1))] * 3)
    [8.0]
    """
    return [term.residual_loss([flat[k] for k in term.factors]) for term in terms]


def model_losses(terms: Sequence[Term], factors: Factors) -> list[float]:
    """Squared error of each term under a model whose weights may be zero.

    >>> ones = Factors(np.array([2.0]), tuple(np.ones((2, 1)) for _ in range(3)))
    >>> model_losses(terms_of(CoupledData(np.ones((2, 2, 2)))), ones)
    [8.0]
    """
    flat = factors.flat
    tensor, *matrices = ([flat[k] for k in term.factors] for term in terms)
    # The shortest mode takes the weights, as the copy is in float64.
    shortest_mode = min(range(len(tensor)), key=lambda n: len(tensor[n]))
    tensor[shortest_mode] = tensor[shortest_mode] * factors.weights.astype(np.float64)
    return [term.residual_loss(own) for term, own in zip(terms, [tensor, *matrices], strict=True)]


def shortest(term: Term, flat: Sequence[Array]) -> int:
    """Return the position of a term's shortest factor, whose right-hand side costs least."""
    return min(term.factors, key=lambda k: len(flat[k]))


def _arrange(tensor: SparseTensor) -> kernels.Fibres:
    return kernels.arrange(tensor.coords, tensor.values, tensor.shape)


def _doubles_at(
    coords: Array, factors: Sequence[Array], weights: Array
) -> tuple[Array, Array, Sequence[Array]]:
    """Return cells, weights and factors in float64; of others only the rows of these cells."""
    if all(factor.dtype == np.float64 for factor in factors):
        return coords, weights, factors
    rows = [f[index].astype(np.float64) for f, index in zip(factors, coords, strict=True)]
    return np.tile(np.arange(coords.shape[1], dtype=np.int32), (len(rows), 1)), weights, rows


def _hadamard(matrices: Sequence[Array]) -> Array:
    product = matrices[0]
    for matrix in matrices[1:]:
        product = product * matrix
    return product


def _as_three_way(values: Array, mode: int) -> Array:
    """View a C-contiguous array as (pre, size of mode, post)."""
    shape = values.shape
    return values.reshape(prod(shape[:mode]), shape[mode], prod(shape[mode + 1 :]))


def _packed(mask: Array) -> tuple[Array, Array]:
    """Pack a mask (pre, n, post) by rows of the middle mode, and by all others; a bit per cell."""
    n = mask.shape[1]
    by_others = kernels.pack_bits(mask.transpose(0, 2, 1).reshape(-1, n))
    return kernels.transpose_bits(by_others, n), by_others


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
