"""The term of a sparse array in memory."""

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from scoup import kernels
from scoup.block import Block, HeldOut, Observed
from scoup.records import Array
from scoup.tensor import SparseTensor
from scoup.terms._term import Term, grams_of, hadamard

# Size up to which the residuals of a sparse block are computed as those of a dense one.
MAX_DENSE_CELLS = 1 << 20
# Listed cells whose residuals are computed in one go.
RESIDUAL_STEP_CELLS = 1 << 16


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
        squares = float(hadamard(grams_of(factors)).sum())
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
