"""The cells of a tensor as samples, for scikit-learn's searches and cross-validation."""

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from scoup.block import Block, Mask, Observed
from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.records import Array
from scoup.tensor import SparseTensor


@dataclass(frozen=True, eq=False)
class Cells:
    """Coupled data whose samples are the observed cells of its tensor.

    ``cells[index]`` is the data with only those cells observed and whole matrices: fit one part,
    score another. Scores look at the tensor alone, since every part has the same matrices.

    >>> cells = Cells(CoupledData(np.arange(1.0, 9.0).reshape(2, 2, 2)))
    >>> len(cells), cells[[0, 7]].blocks[0].observed
    (8, 2)
    """

    data: CoupledData

    def __post_init__(self) -> None:
        tensor = self.data.blocks[0]
        if tensor.is_sparse and not isinstance(tensor.mask, Observed):
            expected = "a dense tensor, or a sparse one with Observed cells"
            hint = "say which cells are known; scoup.experiments.rank.scan hides zeros as well"
            raise ScoupError.expected("data", expected, "a sparse one", hint)

    @property
    def shape(self) -> tuple[int]:
        """Number of samples, as scikit-learn expects it."""
        return (len(self),)

    def __len__(self) -> int:
        return self.data.blocks[0].observed

    @cached_property
    def _known(self) -> Array:
        """The observed cells: positions in a dense tensor, coordinates (N, n) in a sparse one."""
        tensor = self.data.blocks[0]
        if isinstance(tensor.mask, Observed):
            return tensor.mask.cells.coords
        if tensor.mask is None:
            return np.arange(prod(tensor.shape))
        return np.flatnonzero(np.asarray(tensor.mask))

    def __getitem__(self, index: Any) -> CoupledData:
        # scikit-learn writes cells[index, ...]
        rows = np.asarray(index[0] if isinstance(index, tuple) else index)
        return self.data.with_tensor_mask(_mask(self.data.blocks[0], self._known[..., rows]))


def _mask(tensor: Block, chosen: Array) -> Mask:
    if tensor.is_sparse:
        return Observed(SparseTensor(chosen, np.ones(chosen.shape[1]), tensor.shape))
    mask = np.zeros(prod(tensor.shape), dtype=bool)
    mask[chosen] = True
    return mask.reshape(tensor.shape)
