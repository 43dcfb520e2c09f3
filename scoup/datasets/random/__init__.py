"""Random: sparse coupled data of known rank, as in the paper."""

from dataclasses import dataclass

from scoup.datasets import DataSource, RemoteFile, Traits
from scoup.specs import Spec

TENSOR_FILE, MATRIX_FILE = "tensor.tns.gz", "matrix0.tns.gz"
SOURCE = DataSource(
    folder="random",
    files=(RemoteFile(TENSOR_FILE), RemoteFile(MATRIX_FILE)),
    origin="scoup.datasets.random.simulate",
    licence="none needed: simulated",
    citation="none needed: simulated",
)


class Options(Spec):
    """Random data has no options."""


@dataclass(frozen=True)
class RandomSize:
    """Numbers of a simulation: three modes and the matrix's columns, and the rank.

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
    return Traits(("mode0", "mode1", "mode2"), sparse=True)


def shape(size: str, options: Options) -> tuple[int, ...]:
    """Return the sizes of the three modes."""
    return SIZES[size].sizes[:3]
