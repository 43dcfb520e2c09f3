"""Couple the tensor with the matrices on some of its modes."""

from pathlib import Path

import numpy as np

from scoup.coupled import CoupledData, Dataset
from scoup.datasets.random import MATRIX_FILES, TENSOR_FILE, Options
from scoup.formats.tns import read_tns
from scoup.records import Labels, Provenance
from scoup.tensor import SparseTensor


def couple(folder: Path, options: Options, provenance: Provenance) -> Dataset:
    """Read the FROSTT files; indices have no labels but their numbers."""
    tensor = read_tns(folder / TENSOR_FILE)
    matrices: dict[int, SparseTensor] = {
        mode: read_tns(folder / MATRIX_FILES[mode]) for mode in options.matrices
    }
    labels = [Labels(f"mode{mode}", np.arange(size)) for mode, size in enumerate(tensor.shape)]
    labels += [Labels("column", np.arange(matrix.shape[1])) for matrix in matrices.values()]
    return Dataset(CoupledData(tensor, matrices), tuple(labels), provenance)
