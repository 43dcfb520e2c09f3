"""Where data comes from, and what its indices stand for."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from scoup.errors import ScoupError
from scoup.records.factors import Array

ROLES = ("whom", "who", "when", "thing", "feature", "subject", "place")


def role_of(name: str, role: str = "") -> str:
    """Return the role of a mode: as stated, or its name if that is a role; else none.

    >>> role_of("subject"), role_of("wall", "whom"), role_of("wall")
    ('subject', 'whom', '')
    """
    if role and role not in ROLES:
        raise ScoupError.expected(f"{name}: role", f"one of {', '.join(ROLES)}", repr(role))
    return role or (name if name in ROLES else "")


@dataclass(frozen=True, eq=False)
class Labels:
    """What the indices of one mode (or of the columns of one matrix) stand for.

    ``name`` says what an index is (``noun``, ``voxel``, ``day``), ``ids`` names each one, and
    ``columns`` add facts about each, such as the category of a noun or the x of a voxel. ``role``
    is one of :data:`ROLES`: what the mode is to experiments; empty if it is not known.

    >>> len(Labels("noun", np.array(["bear", "cat"]), {"category": np.array(["animal", "animal"])}))
    2
    """

    name: str
    ids: Array
    columns: Mapping[str, Array] = field(default_factory=dict)
    role: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "role", role_of(self.name, self.role))
        for key, column in {"ids": self.ids, **self.columns}.items():
            if (
                np.ndim(column) != 1
                or np.size(column) != np.size(self.ids)
                or np.asarray(column).dtype.hasobject
            ):
                got = f"shape {np.shape(column)} of {np.asarray(column).dtype}"
                raise ScoupError.expected(
                    f"{self.name}.{key}", f"{np.size(self.ids)} plain values", got
                )

    def __len__(self) -> int:
        return int(np.size(self.ids))


@dataclass(frozen=True)
class SourceFile:
    """One raw file: where it came from and what it was.

    ``time`` is when it was downloaded; empty for simulated files.
    """

    name: str
    address: str
    sha256: str
    bytes: int
    time: str = ""


@dataclass(frozen=True)
class Provenance:
    """Where a data set came from and why; it travels with the data into every number and picture.

    ``source`` is ``download``, ``cache``, ``local`` or ``simulate``; ``reason`` says why, in a few
    words.

    >>> Provenance("brainq", "simulate", "no host could be reached", seed=0, size="tiny").mark
    'simulated'
    """

    dataset: str
    source: str
    reason: str = ""
    files: tuple[SourceFile, ...] = ()
    size: str = "full"
    seed: int | None = None
    licence: str = ""
    citation: str = ""

    def __post_init__(self) -> None:
        if self.source not in ("download", "cache", "local", "simulate"):
            raise ScoupError.expected(
                "source", "download, cache, local or simulate", repr(self.source)
            )
        object.__setattr__(
            self,
            "files",
            tuple(f if isinstance(f, SourceFile) else SourceFile(**f) for f in self.files),
        )

    @property
    def simulated(self) -> bool:
        """Whether the data is a simulated stand-in."""
        return self.source == "simulate"

    @property
    def mark(self) -> str:
        """The word for titles, tags and captions: ``simulated`` or ``real``."""
        return "simulated" if self.simulated else "real"
