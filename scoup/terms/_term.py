"""One term of the objective: a block under a weight."""

from collections.abc import Sequence
from math import ldexp

import numpy as np

from scoup import kernels
from scoup.block import Block
from scoup.normal import RowSolver
from scoup.records import Array

# A loss is a difference of squares. If these exceed the squares of the data by this factor, three
# more digits than usual cancel, and the loss is computed from the residuals instead.
MAX_CANCELLATION = 1e3


class Term:
    """One block under a weight. ``flat`` is the list ``[*modes, *sides]``, ``grams`` its ``M' M``.

    The data enters in units of ``2^exponent``, so that its size does not matter to a solver.

    >>> from scoup.coupled import CoupledData
    >>> from scoup.terms import terms_of
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

    def solves_rows(self, position: int) -> bool:
        """Whether the factor at ``position`` is updated by :meth:`solve_rows` while data is read.

        That saves the pass that the next factor would need.
        """
        del position
        return False

    def solve_rows(
        self, flat: Sequence[Array], solve: RowSolver, later: int, out: Array | None = None
    ) -> Array:
        """Return the solved rows; the product for the factor at ``later`` is kept, if possible.

        ``out`` may be overwritten by the result.
        """
        raise NotImplementedError

    def _product(self, factors: Sequence[Array], mode: int) -> Array:
        """``X_(mode) KR(other factors)`` in the units of the data."""
        raise NotImplementedError

    def residual_loss(self, factors: Sequence[Array]) -> float:
        """The squared error in float64, from the residuals; ``factors`` are those of this term."""
        raise NotImplementedError

    def gram(self, flat: Sequence[Array], grams: Sequence[Array], position: int) -> Array:
        """``G``: (F, F) when nothing is missing, else (I_k, F, F), one matrix per row."""
        return hadamard([grams[other] for other in self.factors if other != position])

    def loss(
        self, rhs: Array, gram: Array, flat: Sequence[Array], grams: Sequence[Array], position: int
    ) -> float:
        """``|X|^2 - 2 <R, M> + <M G, M>``: the squared error, from what the update has computed."""
        factor = flat[position]
        if gram.ndim == 2:
            products = gram * grams[position]
            model, squares = float(products.sum()), float(np.abs(products).sum())
        else:
            model = kernels.inner((factor[:, None] @ gram)[:, 0], factor)
            squares = factor.shape[1] * float(np.einsum("if,iff,if->", factor, gram, factor))
        if not squares <= MAX_CANCELLATION * self.norm2:
            return self.residual_loss([flat[k] for k in self.factors])
        return max(self.norm2 - 2.0 * kernels.inner(rhs, factor) + model, 0.0)


def grams_of(flat: Sequence[Array]) -> list[Array]:
    """``M' M`` of each factor, (F, F).

    >>> [gram.tolist() for gram in grams_of([np.ones((3, 1))])]
    [[[3.0]]]
    """
    return [kernels.gram(factor) for factor in flat]


def hadamard(matrices: Sequence[Array]) -> Array:
    """Multiply matrices of one shape cell by cell.

    >>> hadamard([np.full((1, 1), 2.0), np.full((1, 1), 3.0)]).tolist()
    [[6.0]]
    """
    product = matrices[0]
    for matrix in matrices[1:]:
        product = product * matrix
    return product
