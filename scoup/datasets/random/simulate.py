"""Sparse random coupled data of known rank: what the paper calls randomly generated, sparse data.

Each component takes part in a few indices of every mode, so the tensor is sparse; some single cells are added
as noise. Written as two FROSTT text files, the tensor and the matrix on its first mode.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.datasets import MATRIX_FILE, TENSOR_FILE
from scoup.seeds import generator
from scoup.simulate.table import write_table
from scoup.simulate.truth import write_truth
from scoup.tensor import SparseTensor

Array = NDArray[Any]


@dataclass(frozen=True)
class RandomSize:
    """Sizes of the three modes and of the matrix's columns, rank, and the share of indices in a component."""

    sizes: tuple[int, int, int, int]
    rank: int
    share: float


SIZES = {
    "full": RandomSize((500, 400, 300, 200), 5, 0.06),
    "quick": RandomSize((150, 120, 90, 60), 5, 0.1),
    "tiny": RandomSize((30, 25, 20, 15), 3, 0.2),
}


def simulate_random(folder: Path, size: str, seed: int) -> None:
    """Write the tensor, the matrix and the factors that they were made of."""
    spec = SIZES[size]
    rng = generator(seed, "random", size)
    factors = [_sparse_factor(rows, spec, rng) for rows in spec.sizes]
    A, B, C, D = factors
    tensor = _add_noise(_outer(A, B, C), rng)
    matrix = _add_noise(_outer(A, D), rng)
    _write_tns(folder / TENSOR_FILE, tensor)
    _write_tns(folder / MATRIX_FILE, matrix)
    write_truth(folder, {"what": "simulated", "factors": factors})


def _sparse_factor(rows: int, spec: RandomSize, rng: np.random.Generator) -> Array:
    """Return (rows, rank) with a few positive entries a column; the last row is filled so that the size is kept."""
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
        coords.append(np.array([grid.reshape(-1) for grid in np.meshgrid(*rows, indexing="ij")]))
        values.append(
            np.prod(
                [column[index] for column, index in zip(columns, coords[-1], strict=True)], axis=0
            )
        )
    return SparseTensor(
        np.concatenate(coords, axis=1), np.concatenate(values), tuple(len(f) for f in factors)
    )


def _add_noise(tensor: SparseTensor, rng: np.random.Generator) -> SparseTensor:
    """Shake the stored cells a little and add a tenth as many single ones."""
    count = max(1, tensor.nnz // 10)
    extra = np.array([rng.integers(0, size, count) for size in tensor.shape])
    values = np.concatenate(
        [tensor.values + 0.05 * rng.standard_normal(tensor.nnz), rng.uniform(0.1, 0.5, count)]
    )
    return SparseTensor(np.concatenate([tensor.coords, extra], axis=1), values, tensor.shape)


def _write_tns(path: Path, tensor: SparseTensor) -> None:
    write_table(path, [*(tensor.coords + 1), tensor.values], " ")
