"""Where data comes from, and what its indices stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scoup.errors import ScoupError
from scoup.records.factors import Array

ROLES = ("whom", "who", "when", "thing", "feature", "subject", "place")
MAX_IDS_SHOWN = 3


def role_of(name: str, role: str = "") -> str:
    """Return the role of a mode: as stated, or its name if that is a role; else none.

    >>> role_of("subject"), role_of("wall", "whom"), role_of("wall")
    ('subject', 'whom', '')
    """
    if role and role not in ROLES:
        raise ScoupError.expected(f"{name}: role", f"one of {', '.join(ROLES)}", repr(role))
    return role or (name if name in ROLES else "")


@dataclass(frozen=True, eq=False, repr=False)
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

    def __repr__(self) -> str:
        first = [str(label) for label in self.ids[:MAX_IDS_SHOWN]]
        rest = [f"... {len(self)} in all"] if len(self) > MAX_IDS_SHOWN else []
        return f"Labels({self.name!r}: {', '.join([*first, *rest])})"

    def select(self, index: Array) -> Labels:
        """Return the labels of some indices."""
        columns = {key: np.asarray(column)[index] for key, column in self.columns.items()}
        return Labels(self.name, np.asarray(self.ids)[index], columns, self.role)


def as_labels(labels: Sequence[Any] | None, order: int, sizes: Sequence[int]) -> tuple[Labels, ...]:
    """Return one :class:`Labels` per factor, of ``order`` modes and then sides, or none at all.

    An entry may be Labels, a list of ids, or None for numbers.

    >>> as_labels([["a", "b"], None], order=1, sizes=(2, 9))
    (Labels('mode0': a, b), Labels('side0': 0, 1, 2, ... 9 in all))
    """
    if labels is None or (isinstance(labels, (list, tuple)) and not labels):
        return ()
    if not isinstance(labels, (list, tuple)):
        kind = type(labels).__name__
        raise ScoupError.expected("labels", "a list with one entry per factor", kind)
    names = [f"mode{n}" if n < order else f"side{n - order}" for n in range(len(labels))]
    entries = []
    for name, entry, size in zip(names, labels, (*sizes, *[0] * len(labels)), strict=False):
        ids = np.arange(size) if entry is None else entry
        entries.append(ids if isinstance(ids, Labels) else Labels(name, _plain_ids(name, ids)))
    if tuple(map(len, entries)) != tuple(sizes):
        got = [f"{label.name}: {len(label)}" for label in entries]
        raise ScoupError.expected("labels", f"one entry per factor, of sizes {tuple(sizes)}", got)
    return tuple(entries)


def _plain_ids(name: str, ids: Any) -> Array:
    """Return ids as an array of numbers, dates or words; pandas keeps words as objects."""
    array = np.asarray(ids)
    if array.ndim != 1:
        raise ScoupError.expected(f"labels of {name}", "a list of ids or None", repr(ids))
    return array.astype(str) if array.dtype.hasobject else array


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
