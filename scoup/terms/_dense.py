"""The term of a dense array."""

from collections.abc import Sequence
from functools import lru_cache
from math import ldexp, prod
from threading import get_ident
from typing import cast

import numpy as np

from scoup import kernels
from scoup.block import Block
from scoup.factors import khatri_rao
from scoup.normal import RowSolver
from scoup.records import Array
from scoup.terms._term import Term


class DenseTerm(Term):
    """A dense array of any order.

    One product with the factor of the longest mode serves all other modes until that factor
    changes, so a sweep passes over the data twice, not N times; and once if the rows of that factor
    are solved where they are read.
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
        # Products with the longest factor, one per thread: several may fit models to the same data.
        self._partials: dict[int, tuple[Array, Array]] = {}
        self._partial_grams: dict[int, tuple[Array, Array]] = {}

    def _product(self, factors: Sequence[Array], mode: int) -> Array:
        longest = factors[self._longest]
        if mode == self._longest:
            return kernels.spread(self._values, self._others(factors))
        of_factor, partial = self._partials.get(get_ident(), (None, longest))
        if of_factor is not longest:
            partial = kernels.contract(self._values, longest)
            self._partials[get_ident()] = longest, partial
        return _contract_rest(partial, factors, self._longest, mode)

    def solves_rows(self, position: int) -> bool:
        """Whether ``position`` is that of the longest mode, and the shape of the data allows it."""
        return self.factors[self._longest] == position and kernels.fuses(self._values.shape)

    def solve_rows(
        self, flat: Sequence[Array], solve: RowSolver, later: int, out: Array | None = None
    ) -> Array:
        """See :meth:`Term.solve_rows`; the product serves all later factors."""
        del later, out
        unit, outer = ldexp(1.0, -self.exponent), self._others([flat[k] for k in self.factors])
        if (system := solve.system()) is None:
            return solve(slice(None), kernels.spread(self._values, outer) * unit)
        solved, partial, singular = kernels.solve_and_contract(
            self._values, outer, system, solve.weight * unit, solve.rest
        )
        if not singular.any():
            self._partials[get_ident()] = solved, partial
            return solved
        rows = np.flatnonzero(singular)
        part = kernels.spread(np.ascontiguousarray(self._values[:, rows]), outer)
        solved[rows] = solve(rows, part * unit)
        return solved

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
            of_factor, partial = self._partial_grams.get(get_ident(), (None, longest))
            if of_factor is not longest:
                partial = kernels.sum_picked(other_bits, _pairs(longest))
                self._partial_grams[get_ident()] = longest, partial
            packed = _contract_rest(partial, pairs, self._longest, mode)
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


def _as_three_way(values: Array, mode: int) -> Array:
    """View a C-contiguous array as (pre, size of mode, post)."""
    shape = values.shape
    return values.reshape(prod(shape[:mode]), shape[mode], prod(shape[mode + 1 :]))


def _packed(mask: Array) -> tuple[Array, Array]:
    """Pack a mask (pre, n, post) by rows of the middle mode, and by all others; a bit per cell."""
    by_others = kernels.pack_bits(mask.transpose(0, 2, 1))
    return kernels.transpose_bits(by_others, mask.shape[1]), by_others


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
    rows, columns, _ = _triangle(factor.shape[1])
    return factor.take(rows, axis=1) * factor.take(columns, axis=1)


def _unpack(packed: Array, rank: int) -> Array:
    """Turn packed upper triangles (I, F (F + 1) / 2) into symmetric matrices (I, F, F)."""
    return packed.take(_triangle(rank)[2], axis=1)


@lru_cache(maxsize=64)
def _triangle(rank: int) -> tuple[Array, Array, Array]:
    """Return row and column of each pair f <= g, and the number of the pair of all (f, g)."""
    rows, columns = np.triu_indices(rank)
    numbers = np.empty((rank, rank), np.int64)
    numbers[rows, columns] = numbers[columns, rows] = np.arange(len(rows))
    return rows, columns, numbers
