"""Random: sparse coupled data of known rank, as in the paper."""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field, field_validator

from scoup.datasets import DataSource, RemoteFile, Traits
from scoup.specs import Spec

TENSOR_FILE = "tensor.tns.gz"
MATRIX_FILES = ("matrix0.tns.gz", "matrix1.tns.gz", "matrix2.tns.gz")  # one per mode
SOURCE = DataSource(
    folder="random",
    files=tuple(map(RemoteFile, (TENSOR_FILE, *MATRIX_FILES))),
    origin="scoup.datasets.random.simulate",
    licence="none needed: simulated",
    citation="none needed: simulated",
)


class Options(Spec):
    """Which matrices are coupled."""

    matrices: tuple[Literal[0, 1, 2], ...] = Field(
        (0,), description="modes whose matrix is coupled; the paper has one matrix"
    )

    @field_validator("matrices")
    @classmethod
    def _check_matrices(cls, modes: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(modes)) != len(modes):
            raise ValueError(f"expected different modes, got {list(modes)}.")
        return tuple(sorted(modes))


@dataclass(frozen=True)
class RandomSize:
    """Numbers of a simulation: three modes and the columns of a matrix, and the rank.

    ``share`` of the indices of a mode are in a component.
    """

    sizes: tuple[int, int, int, int]
    rank: int
    share: float


SIZES = {
    "full": RandomSize((500, 400, 300, 200), 5, 0.06),
    "quick": RandomSize((150, 120, 90, 60), 5, 0.1),
    "tiny": RandomSize((30, 25, 20, 15), 3, 0.2),
}


def traits(options: Options) -> Traits:
    """Return what is known before any file is read."""
    return Traits(("mode0", "mode1", "mode2"), sparse=True, matrices=options.matrices)


def shape(size: str, options: Options) -> tuple[int, ...]:
    """Return the sizes of the three modes."""
    return SIZES[size].sizes[:3]
