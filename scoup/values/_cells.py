"""Replace the values of a sparse tensor, and of nothing else."""

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.tensor import SparseTensor

Array = NDArray[Any]


def revalued(data: CoupledData, name: str, change: Callable[[SparseTensor], Array]) -> CoupledData:
    """Return the data with other values in the non-zero cells of its sparse tensor."""
    tensor = data.blocks[0].values
    if not isinstance(tensor, SparseTensor):
        raise ScoupError.expected(f"values: {name}", "a sparse tensor of counts", "a dense one")
    masks = {
        mode: [block.mask for block in data.blocks[1:] if block.factors[0] == mode]
        for mode in data.matrices
    }
    return CoupledData(
        tensor.with_values(change(tensor)), data.matrices, data.blocks[0].mask, masks
    )
