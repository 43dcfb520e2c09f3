"""The manifest of a folder of shards, and the names of its files and columns."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Self

from scoup import store
from scoup.errors import DamagedFileError, ScoupError
from scoup.tensor import check_shape

MANIFEST_FILE, DENSITIES_FILE = "manifest.json", "densities.npz"
DENSITIES_KIND = "densities of shards"
LAYOUT_VERSION = 1
# Sums over shards are added up by groups of consecutive shards. Jobs that share a pass take whole
# groups and hand over one sum for each, so more jobs than this cannot share one.
MAX_GROUPS = 64


def index_column(mode: int) -> str:
    """Return the name of the column with the indices of a mode.

    >>> index_column(2)
    'index2'
    """
    return f"index{mode}"


def labels_file(mode: int) -> str:
    """Return the name of the file with the labels of a mode.

    >>> labels_file(2)
    'labels-2.parquet'
    """
    return f"labels-{mode}.parquet"


@dataclass(frozen=True)
class Shard:
    """One Parquet file: ``cells`` cells, whose leading indices lie in ``first`` to ``last``."""

    file: str
    cells: int
    first: int
    last: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What a folder of shards holds.

    ``least``, ``most`` and ``whole`` describe the values: their range, and whether all are whole
    numbers. ``names`` are those of the modes; ``labels`` are the checksums of their files of
    labels, empty for a mode whose indices are positions, counted from ``first_index``.

    >>> texts, none = ("user", "item", "day"), ("", "", "")
    >>> Manifest((4, 3, 2), "float64", 0, 14.0, 1.0, 3.0, True, texts, none, ()).cells
    0
    """

    shape: tuple[int, ...]
    dtype: str
    leading: int
    norm2: float
    least: float
    most: float
    whole: bool
    names: tuple[str, ...]
    labels: tuple[str, ...]
    shards: tuple[Shard, ...]
    first_index: int = 0
    version: int = LAYOUT_VERSION

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", check_shape(self.shape))
        for name in ("names", "labels"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        shards = (s if isinstance(s, Shard) else Shard(**s) for s in self.shards)
        object.__setattr__(self, "shards", tuple(shards))
        if self.version != LAYOUT_VERSION or self.dtype not in ("float32", "float64"):
            got = f"layout {self.version} of {self.dtype}"
            expected = f"layout {LAYOUT_VERSION} of float32 or float64"
            raise ScoupError.expected("shards", expected, got, "write them again: scoup shard")

    @classmethod
    def read(cls, folder: store.PathLike) -> Self:
        """Read the manifest of a folder."""
        path = Path(folder, MANIFEST_FILE)
        if not path.exists():
            hint = "write it with: scoup shard FILE -o FOLDER"
            raise ScoupError.expected(str(folder), "a folder of shards", f"no {path.name}", hint)
        try:
            return cls(**store.read_json(path))
        except TypeError:
            raise DamagedFileError(str(path), "manifest", "unknown keys") from None

    @property
    def cells(self) -> int:
        """Number of stored cells."""
        return sum(shard.cells for shard in self.shards)

    def row_spans(self) -> list[slice]:
        """Return the rows of the leading mode that each shard stands for.

        Rows without cells belong to the shard before them, those before all cells to the first.
        """
        starts = [0, *(shard.first for shard in self.shards[1:]), self.shape[self.leading]]
        return [slice(*pair) for pair in pairwise(starts)]

    def groups(self) -> list[slice]:
        """Return the shards of each group, of which there are 64 at most, of about the same size.

        >>> texts, none = ("user", "item", "day"), ("", "", "")
        >>> shards = tuple(Shard(f"cells-{n}", 1, n, n, "") for n in range(100))
        >>> many = Manifest((100, 3, 2), "float64", 0, 14.0, 1.0, 3.0, True, texts, none, shards)
        >>> len(many.groups()), many.groups()[:2]
        (64, [slice(0, 1, None), slice(1, 3, None)])
        """
        count = min(len(self.shards), MAX_GROUPS)
        cuts = [len(self.shards) * number // max(count, 1) for number in range(count + 1)]
        return [slice(*pair) for pair in pairwise(cuts)]

    def group_rows(self) -> list[slice]:
        """Return the rows of the leading mode that the shards of each group stand for."""
        spans = [self.row_spans()[group] for group in self.groups()]
        return [slice(span[0].start, span[-1].stop) for span in spans]
