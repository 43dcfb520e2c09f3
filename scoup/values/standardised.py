"""Images centred over the rows of the matrix, answers standardised column by column."""

import numpy as np

from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.tensor import SparseTensor


def apply(data: CoupledData) -> CoupledData:
    """Centre a dense tensor over the mode of its one matrix, and standardise that matrix.

    The columns of the matrix get mean 0 and standard deviation 1.
    """
    if len(data.blocks) != 2 or data.is_masked or data.blocks[0].is_sparse:
        raise ScoupError.expected(
            "values: standardised",
            "a dense tensor without missing cells and one matrix",
            data.sizes,
        )
    tensor, matrix = (_dense(block.in_memory) for block in data.blocks)
    mode = data.owners[0]
    tensor = tensor - tensor.mean(axis=mode, keepdims=True)
    spread = matrix.std(axis=0)
    matrix = (matrix - matrix.mean(axis=0)) / np.where(spread > 1e-12, spread, 1.0)
    if not tensor.any() or not matrix.any():
        raise ScoupError.expected(
            "data", "a tensor and a matrix that differ between things", "constant ones"
        )
    return CoupledData(tensor, {mode: matrix})


def _dense(values: np.ndarray | SparseTensor) -> np.ndarray:
    dense = values.to_dense() if isinstance(values, SparseTensor) else values
    return np.asarray(dense, dtype=np.float64)
