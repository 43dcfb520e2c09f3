"""Units in which data is fitted: powers of two that bring every block to moderate size."""

from math import frexp, isfinite, ldexp
from typing import NamedTuple

import numpy as np

from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.records import Factors

UNIT_HINT = "change the unit of the data"


class Units(NamedTuple):
    """The units of a fit: powers of two, one exponent per block, and that of the cost.

    In units in which its cells have a root mean square of about 1, data in tesla is fitted as data
    in counts is. Powers of two change no digit.

    ``weights`` are the block weights in these units.

    >>> Units.of(CoupledData(np.full((2, 2, 2), 8.0), {0: np.full((2, 3), 0.25)}))
    Units(blocks=(3, -2), cost=6, weights=(1.0, 0.0009765625))
    """

    blocks: tuple[int, ...]
    cost: int
    weights: tuple[float, ...]

    @classmethod
    def of(cls, data: CoupledData) -> "Units":
        """Choose the units of a data set."""
        zero_cost = sum(w * b.norm2 for w, b in zip(data.block_weights, data.blocks, strict=True))
        if not isfinite(zero_cost):
            expected, hint = "squares times weights that float64 can hold", UNIT_HINT
            raise ScoupError.expected("data", expected, "an overflow", hint)
        squares = [block.norm2 / max(block.observed, 1) for block in data.blocks]
        # Exponents, not logarithms: data times 2^n is measured in units of exactly 2^n as much.
        sizes = [frexp(square)[1] // 2 if square else None for square in squares]
        # A block of zeros has no size: it takes the largest of the others.
        largest = max((size for size in sizes if size is not None), default=0)
        blocks = tuple(largest if size is None else size for size in sizes)
        pairs = list(zip(data.block_weights, blocks, strict=True))
        weighted_sizes = [frexp(w)[1] - 1 + 2 * exponent for w, exponent in pairs if w]
        cost = 2 * (max(weighted_sizes) // 2)
        weights = tuple(ldexp(weight, 2 * exponent - cost) for weight, exponent in pairs)
        return cls(blocks, cost, weights)

    def in_range(self, data: CoupledData) -> tuple[CoupledData, "Units"]:
        """Copy blocks of extreme size to these units; return also the units of the others.

        The kernels multiply cells as they are, so products of extreme ones would leave the range.
        """
        extreme = [
            abs(exponent) > np.finfo(block.values.dtype).maxexp // 3
            for block, exponent in zip(data.blocks, self.blocks, strict=True)
        ]
        if not any(extreme):
            return data, self
        blocks = [
            block.scaled(-exponent) if far else block
            for block, exponent, far in zip(data.blocks, self.blocks, extreme, strict=True)
        ]
        left = tuple(0 if far else e for e, far in zip(self.blocks, extreme, strict=True))
        near = CoupledData.from_blocks(blocks, data.block_weights)
        return near, self._replace(blocks=left)

    def divide(self, factors: Factors) -> Factors:
        """Express factors in these units."""
        return self._scale(factors, -1)

    def restore(self, factors: Factors) -> Factors:
        """Express factors in the units of the data."""
        with np.errstate(over="ignore"):  # refused below
            restored = self._scale(factors, 1)
        if not all(np.isfinite(part).all() for part in (restored.weights, *restored.flat)):
            expected = f"factors that {factors.modes[0].dtype} can hold"
            raise ScoupError.expected("fit", expected, "an overflow", UNIT_HINT)
        return restored

    def _scale(self, factors: Factors, sign: int) -> Factors:
        tensor, *matrices = (sign * exponent for exponent in self.blocks)
        flat, order = factors.flat, len(factors.modes)
        for position, exponent in enumerate(matrices, start=order):
            flat[position] = np.ldexp(flat[position], exponent)
        return factors.replace_flat(flat, np.ldexp(factors.weights, tensor))
