"""Sparse tensors that are read in passes instead of being held in memory."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from scoup.records import Array
from scoup.tensor import SparseTensor

# Given a range of rows of the leading mode and their MTTKRP, float64, return the solved rows.
SolveRows = Callable[[slice, Array], Array]


class StreamedTensor(ABC):
    """A sparse tensor whose cells are read in passes, in the order of its ``leading`` mode.

    ``folder`` holds the cells. ``least``, ``most`` and ``whole`` are the range of its values, and
    whether all are whole numbers.
    """

    folder: Path
    shape: tuple[int, ...]
    dtype: np.dtype
    nnz: int
    leading: int
    norm2: float
    least: float
    most: float
    whole: bool

    @property
    def ndim(self) -> int:
        """Number of modes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of coordinates and values, if they were in memory."""
        return self.nnz * (4 * len(self.shape) + self.dtype.itemsize)

    @abstractmethod
    def batches(self) -> Iterator[tuple[Array, Array]]:
        """Yield coordinates (N, n) and float64 values (n,) of all cells, some at a time."""

    @abstractmethod
    def densities(self) -> list[Array]:
        """Return the sums of absolute values over each index, one float64 vector per mode."""

    @abstractmethod
    def select_all(self, samples: Sequence[Sequence[Array]]) -> list[SparseTensor]:
        """Return the sub-tensor of each sample in memory, reading the cells as rarely as may be."""

    @abstractmethod
    def count_all(self, samples: Sequence[Sequence[Array]]) -> list[int]:
        """Return the number of cells of each sample, in one pass."""

    @abstractmethod
    def mttkrp(self, factors: Sequence[Array], mode: int) -> Array:
        """Matricised tensor times Khatri-Rao product, (I_mode, F), in one pass."""

    @abstractmethod
    def solve_rows(
        self, factors: Sequence[Array], solve: SolveRows, later: int, out: Array | None = None
    ) -> tuple[Array, Array]:
        """Solve the rows of the leading factor, and return them with the MTTKRP of mode ``later``.

        One pass serves both: a row is solved where its cells are read, and these are multiplied by
        the new row at once. The leading factor gives the size of the result only, which is written
        to ``out`` if passed.
        """

    @abstractmethod
    def inner(self, factors: Sequence[Array]) -> float:
        """Inner product with the model ``[[factors]]``, in float64 and in one pass."""

    def select(self, indices: Sequence[Array]) -> SparseTensor:
        """Return the sub-tensor ``X(I, J, K, ...)`` in memory, ordered as ``indices``."""
        return self.select_all([indices])[0]
