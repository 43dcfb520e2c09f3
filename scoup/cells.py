"""The cells of a tensor as samples, for tools that split samples: scikit-learn's searches and cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.block import Block, Observed
from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.tensor import SparseTensor

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Cells:
    """Coupled data whose samples are the observed cells of its tensor; matrices stay whole in every part.

    ``cells[index]`` is the data with only those cells observed: fit one part, score another. Scores look at the
    tensor alone, so that matrices, which every part has, do not enter them.

    >>> cells = Cells(CoupledData(np.arange(1.0, 9.0).reshape(2, 2, 2)))
    >>> len(cells), cells[[0, 7]].blocks[0].observed
    (8, 2)
    """

    data: CoupledData

    def __post_init__(self) -> None:
        tensor = self.data.blocks[0]
        if tensor.is_sparse and not isinstance(tensor.mask, Observed):
            hint = "say which cells are known, or see scoup.experiments.rank.scan, which hides zeros as well"
            raise ScoupError.expected(
                "data", "a dense tensor, or a sparse one with Observed cells", "a sparse one", hint
            )

    @property
    def shape(self) -> tuple[int]:
        """Number of samples, in the form in which scikit-learn asks for it."""
        return (len(self),)

    def __len__(self) -> int:
        return self.data.blocks[0].observed

    @cached_property
    def _known(self) -> Array:
        """Where the observed cells lie: positions in a dense tensor, coordinates (N, n) in a sparse one."""
        tensor = self.data.blocks[0]
        if isinstance(tensor.mask, Observed):
            return tensor.mask.cells.coords
        return (
            np.arange(prod(tensor.shape))
            if tensor.mask is None
            else np.flatnonzero(np.asarray(tensor.mask))
        )

    def __getitem__(self, index: Any) -> CoupledData:
        # scikit-learn writes cells[index, ...]
        rows = np.asarray(index[0] if isinstance(index, tuple) else index)
        tensor = self.data.blocks[0]
        chosen = self._known[..., rows]
        blocks = [
            Block("tensor", tensor.values, _mask(tensor, chosen), tensor.factors),
            *self.data.blocks[1:],
        ]
        return CoupledData.from_blocks(blocks, self.data.matrices, self.data.block_weights)


def _mask(tensor: Block, chosen: Array) -> Any:
    if tensor.is_sparse:
        return Observed(SparseTensor(chosen, np.ones(chosen.shape[1]), tensor.shape))
    mask = np.zeros(prod(tensor.shape), dtype=bool)
    mask[chosen] = True
    return mask.reshape(tensor.shape)
