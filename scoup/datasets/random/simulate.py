"""Simulate sparse coupled data of known rank: what the paper calls randomly generated, sparse data.

Each component has a few indices of every mode, so the tensor is sparse; single cells are added as
noise. Written as FROSTT text files: the tensor, and a matrix on each of its modes.
"""

from itertools import chain
from pathlib import Path

import numpy as np

from scoup.datasets.random import MATRIX_FILES, SIZES, TENSOR_FILE, RandomSize
from scoup.records import Array
from scoup.seeds import generator
from scoup.simulate import write_planted, write_table
from scoup.tensor import SparseTensor


def simulate(folder: Path, size: str, seed: int) -> None:
    """Write the tensor, the matrices, and the factors of the tensor and of its first matrix."""
    spec = SIZES[size]
    rng = generator(seed, "random", size)
    factors = [_draw_factor(rows, spec, rng) for rows in spec.sizes]
    A, B, C, D = factors
    tensor = _add_noise(_outer(A, B, C), rng)
    _write_tns(folder / TENSOR_FILE, tensor)
    sides = chain([D], (_draw_factor(spec.sizes[-1], spec, rng) for _ in MATRIX_FILES[1:]))
    for name, mode, side in zip(MATRIX_FILES, (A, B, C), sides, strict=True):
        _write_tns(folder / name, _add_noise(_outer(mode, side), rng))
    write_planted(folder, {"factors": factors})


def _draw_factor(rows: int, spec: RandomSize, rng: np.random.Generator) -> Array:
    """Return (rows, rank) with a few positive entries per column.

    The last row has an entry, since the size of a FROSTT file is its largest index.
    """
    factor = np.zeros((rows, spec.rank))
    count = max(2, round(spec.share * rows))
    for column in factor.T:
        column[rng.choice(rows, count, replace=False)] = rng.uniform(0.5, 1.5, count)
    factor[-1, rng.integers(spec.rank)] = 1.0
    return factor


def _outer(*factors: Array) -> SparseTensor:
    """Return the sum of the components' outer products, made from their non-zeros alone."""
    coords, values = [], []
    for columns in zip(*(factor.T for factor in factors), strict=True):
        rows = [np.flatnonzero(column) for column in columns]
        cells = np.array([axis.reshape(-1) for axis in np.meshgrid(*rows, indexing="ij")])
        entries = [column[index] for column, index in zip(columns, cells, strict=True)]
        coords.append(cells)
        values.append(np.prod(entries, axis=0))
    shape = tuple(len(factor) for factor in factors)
    return SparseTensor(np.concatenate(coords, axis=1), np.concatenate(values), shape)


def _add_noise(tensor: SparseTensor, rng: np.random.Generator) -> SparseTensor:
    """Perturb the stored cells a little, and add a tenth as many single cells."""
    count = max(1, tensor.nnz // 10)
    extra = np.array([rng.integers(0, size, count) for size in tensor.shape])
    perturbed = tensor.values + 0.05 * rng.standard_normal(tensor.nnz)
    values = np.concatenate([perturbed, rng.uniform(0.1, 0.5, count)])
    return SparseTensor(np.concatenate([tensor.coords, extra], axis=1), values, tensor.shape)


def _write_tns(path: Path, tensor: SparseTensor) -> None:
    write_table(path, [*(tensor.coords + 1), tensor.values], " ")
