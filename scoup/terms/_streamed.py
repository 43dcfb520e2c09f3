"""The term of a sparse tensor on disk."""

from collections.abc import Sequence
from math import ldexp

from scoup.block import Block
from scoup.normal import RowSolver
from scoup.records import Array
from scoup.streamed import StreamedTensor
from scoup.terms._term import Term, grams_of, hadamard


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
        self, flat: Sequence[Array], solve: RowSolver, later: int, out: Array | None = None
    ) -> Array:
        """See :meth:`Term.solve_rows`."""
        factors, mode = [flat[k] for k in self.factors], self.factors.index(later)
        unit = ldexp(1.0, -self.exponent)
        solve_in_units = solve if unit == 1 else lambda rows, part: solve(rows, part * unit)
        solved, product = self._values.solve_rows(factors, solve_in_units, mode, out)
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
        squares = float(hadamard(grams_of(factors)).sum())
        return max(self.norm2 - 2.0 * explained + squares, 0.0)
