"""The terms of the objective, ready for a solver: right-hand sides, Gram matrices and losses.

Every block (the tensor, each matrix) becomes one term ``w |W * (X - [[factors]])|^2``. A solver
sees only the normal equations of a factor, so dense and sparse data, masks and any number of
matrices need no special code there:

    M_k (sum_b w_b G_b) = sum_b w_b R_b,   R_b = X_b(k) KR(others),   G_b = hadamard of M_n' M_n

with one G for all rows where everything is observed, and one for each row where it is not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import frexp, ldexp

import numpy as np

from scoup.block import Block
from scoup.constraints import UNCONSTRAINED, Constraints
from scoup.coupled import CoupledData
from scoup.records import Array, Factors
from scoup.terms._dense import DenseTerm
from scoup.terms._sparse import SparseTerm
from scoup.terms._streamed import StreamedTerm
from scoup.terms._term import MAX_CANCELLATION, Term, grams_of
from scoup.units import Units

__all__ = [
    "MAX_CANCELLATION",
    "Problem",
    "StreamedTerm",
    "Term",
    "block_losses",
    "grams_of",
    "model_losses",
    "relative_weights",
    "shortest",
    "terms_of",
    "weighted",
]


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
