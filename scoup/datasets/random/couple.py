"""Couple the tensor with the matrix on its first mode."""

from pathlib import Path

import numpy as np

from scoup.coupled import CoupledData, Dataset
from scoup.datasets.random import MATRIX_FILE, TENSOR_FILE, Options
from scoup.formats.tns import read_tns
from scoup.records import Labels, Provenance


def couple(folder: Path, options: Options, provenance: Provenance) -> Dataset:
    """Read both FROSTT files; indices have no labels but their numbers."""
    tensor = read_tns(folder / TENSOR_FILE)
    matrix = read_tns(folder / MATRIX_FILE)
    labels = [Labels(f"mode{mode}", np.arange(size)) for mode, size in enumerate(tensor.shape)]
    columns = Labels("column", np.arange(matrix.shape[1]))
    return Dataset(CoupledData(tensor, {0: matrix}), (*labels, columns), provenance)
