"""A small complete problem in place of a large one: its sweeps cost next to nothing.

Missing cells of a block are taken as zero and the others divided by their share, which leaves what
each cell is on average. Every mode but the longest is restricted to its leading directions, and the
longest is compressed: a Tucker compression. Sweeps from a poor start are long before they converge:
here they take microseconds, and exact ones over the observed cells then begin close to their end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ldexp, prod

import numpy as np

from scoup import kernels
from scoup.block import Block
from scoup.compress import Compression, compress
from scoup.kernels.lapack import lapack, leading_eigenvectors
from scoup.machine import run_chunks
from scoup.records import Array
from scoup.terms import Problem, Term

# Smallest tensor whose sweeps take so long that they are worth a small problem.
MIN_CELLS = 1 << 16
# Largest total size of the modes whose directions are found: their Gram matrices then cost no more
# than a few sweeps.
MAX_DIRECTIONS_ROWS = 512
# Cells that are unfolded at a time to add up a Gram matrix, and sums that are added up in turn.
UNFOLDED_CELLS = 1 << 18
MAX_GRAM_PARTS = 8
# Mean squares, and their inverses, up to which float32 holds sums of squares: directions need few
# digits, and such Gram matrices take less time.
MAX_SINGLE_SQUARE = 2.0**64
# Cells on which a start is judged.
JUDGED_CELLS = 1 << 14


@dataclass(frozen=True, eq=False)
class Filled:
    """The small problem, the way there and back; a basis is None where a mode stays as it is."""

    problem: Problem
    bases: tuple[Array | None, ...]
    longest: int
    compression: Compression | None

    @classmethod
    def of(cls, problem: Problem, rank: int, complete: bool = False) -> "Filled | None":
        """Fill and shrink a problem of dense blocks; None if it is not one, or would not pay.

        Without missing cells only if ``complete``.

        >>> from scoup.coupled import CoupledData
        >>> tensor = np.random.default_rng(0).random((20, 1000, 4))
        >>> data = CoupledData(tensor, tensor_mask=tensor < 0.9)
        >>> Filled.of(Problem.of(data), rank=2).problem.data
        CoupledData(tensor: 4 x 16 x 4)
        """
        shape, longest = problem.data.shape, int(np.argmax(problem.data.shape))
        # More directions than components, as noise turns the leading ones; many more gain nothing.
        count = rank + rank // 2 + 1
        large = [n for n, size in enumerate(shape) if n != longest and size >= 2 * count]
        if not pays(problem, complete) or sum(shape[n] for n in large) > MAX_DIRECTIONS_ROWS:
            return None
        if not large and not problem.masked:
            return None
        bases = [
            _directions(problem.terms, n, longest, count) if n in large else None
            for n in range(len(shape))
        ]
        small = problem.data.with_blocks(
            [_shrunk(term, bases) for term in problem.terms],
            tuple(term.weight * _share(term.block) for term in problem.terms),
        )
        width = sum(prod(b.shape) // shape[longest] for b in small.blocks if longest in b.factors)
        short = compress(small, longest) if shape[longest] >= 2 * width else None
        return cls(Problem.of(small if short is None else short.data), (*bases,), longest, short)

    def shrink(self, flat: Sequence[Array], number: int = 0) -> list[Array]:
        """Return a start in coordinates, where the longest mode takes some of its rows as they are.

        Those of each ``number`` are as good as any, since the start explains nothing.
        """
        small = list(flat)
        for mode, basis in enumerate(self.bases):
            if basis is not None:
                small[mode] = np.ascontiguousarray(basis.T @ flat[mode], dtype=flat[mode].dtype)
        rows = self.problem.data.shape[self.longest]
        small[self.longest] = np.roll(flat[self.longest], -number * rows, axis=0)[:rows]
        return small

    def expand(self, flat: Sequence[Array]) -> list[Array]:
        """Return the factors of the whole problem, given those of the small one."""
        whole = list(flat)
        for mode, basis in enumerate(self.bases):
            if basis is not None:
                whole[mode] = np.ascontiguousarray(basis @ flat[mode], dtype=flat[mode].dtype)
        if self.compression is not None:
            whole[self.longest] = self.compression.expand(flat[self.longest])
        return whole


def pays(problem: Problem, complete: bool = False) -> bool:
    """Tell whether a problem is dense, without bounds, and not small; with cells missing unless
    ``complete``.

    >>> from scoup.coupled import CoupledData
    >>> pays(Problem.of(CoupledData(np.ones((2, 2, 2)))))
    False
    """
    dense = not any(term.block.is_sparse for term in problem.terms)
    chosen = (complete or problem.terms[0].masked) and not problem.constraints.nonnegative
    return dense and chosen and prod(problem.data.shape) >= MIN_CELLS


def explains(problem: Problem, flat: Sequence[Array]) -> bool:
    """Tell whether a start fits some of the tensor's cells better than zeros do.

    >>> from scoup.coupled import CoupledData
    >>> problem = Problem.of(CoupledData(np.ones((2, 2, 2))))
    >>> [explains(problem, [np.full((2, 1), number)] * 3) for number in (0.9, 2.0)]
    [True, False]
    """
    block, unit = problem.terms[0].block, ldexp(1.0, -problem.terms[0].exponent)
    longest = int(np.argmax(block.shape))
    step = -(-prod(block.shape) // JUDGED_CELLS)
    index = tuple(slice(None, None, step if n == longest else 1) for n in range(len(block.shape)))
    cells = np.asarray(block.in_memory)[index].astype(np.float64, order="C")
    mask = None if block.mask is None else np.ascontiguousarray(np.asarray(block.mask)[index])
    factors = [flat[n][part] for n, part in zip(block.factors, index, strict=True)]
    cells *= unit
    return kernels.squared_error(cells, mask, factors) < kernels.inner(cells, cells)


def _share(block: Block) -> float:
    """Return the share of a block's cells that is observed."""
    return block.observed / prod(block.shape)


def _directions(terms: Sequence[Term], mode: int, longest: int, count: int) -> Array:
    """Return the leading directions (I, count) of all blocks of a mode, each under its weight."""
    gram = np.zeros(())
    for term in terms:
        if mode in term.factors:
            axis, values = term.factors.index(mode), np.asarray(term.block.in_memory)
            along = term.factors.index(longest) if longest in term.factors else 1 - axis
            scale = ldexp(term.weight, -2 * term.exponent) / _share(term.block)
            square = term.block.norm2 / values.size
            single = 1 / MAX_SINGLE_SQUARE <= square <= MAX_SINGLE_SQUARE
            dtype = np.dtype(np.float32) if single else values.dtype
            gram = gram + scale * _unfolded_gram(values, axis, along, dtype)
    return leading_eigenvectors(lapack(), gram, count)


def _unfolded_gram(values: Array, mode: int, along: int, dtype: np.dtype) -> Array:
    """``X_(mode) X_(mode)'``, from slabs of ``along``, another mode, as numbers of a type."""
    size = values.shape[mode]
    rows = max(1, UNFOLDED_CELLS * values.shape[along] // values.size)
    slabs = -(-values.shape[along] // rows)
    parts = np.zeros((min(MAX_GRAM_PARTS, slabs), size, size))
    moved = np.moveaxis(values, (mode, along), (0, 1))

    def work(first: int, last: int) -> None:
        for part in range(first, last):
            for slab in range(part, slabs, len(parts)):
                cells = moved[:, slab * rows : (slab + 1) * rows]
                unfolded = cells.astype(dtype, order="C", copy=False).reshape(size, -1)
                parts[part] += unfolded @ unfolded.T

    run_chunks(len(parts), work, values.size * size)
    return parts.sum(axis=0)


def _shrunk(term: Term, bases: Sequence[Array | None]) -> Block:
    """Return a block in coordinates, filled and in the units of its term."""
    values, unit = np.asarray(term.block.in_memory), ldexp(1.0, -term.exponent) / _share(term.block)
    for axis, position in enumerate(term.factors):
        basis = bases[position] if position < len(bases) else None
        if basis is not None:
            values = _coordinates(values, axis, (unit * basis.T).astype(values.dtype))
            unit = 1.0
    if unit != 1.0:
        values = values * values.dtype.type(unit)
    return Block(term.name, values, None, term.factors)


def _coordinates(values: Array, axis: int, basis: Array) -> Array:
    """Multiply one axis by a basis (r, I)."""
    shape = values.shape
    cube = values.reshape(prod(shape[:axis]), shape[axis], -1)
    out = np.empty((len(cube), len(basis), cube.shape[2]), values.dtype)
    step = max(1, UNFOLDED_CELLS // shape[axis])

    def work(first: int, last: int) -> None:
        for start in range(first * step, min(last * step, cube.shape[2]), step):
            columns = slice(start, start + step)
            np.matmul(basis, cube[:, :, columns], out=out[:, :, columns])

    run_chunks(-(-cube.shape[2] // step), work, out.size * shape[axis])
    return out.reshape(*shape[:axis], len(basis), *shape[axis + 1 :])
