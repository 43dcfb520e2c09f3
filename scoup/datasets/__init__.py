"""Kinds of data sets: one folder each, found by listing this one.

- ``__init__.py`` declares the kind: ``SOURCE`` (its files, origin, licence and citation),
  ``Options`` (the settings of preprocess), ``traits(options) -> Traits`` and
  ``shape(size, options)``, the sizes of the tensor if they are known before it is made, else None.
  A kind that can be simulated also lists its ``SIZES`` (full, quick, tiny); a kind that is made of
  user-supplied files has ``paths(options) -> list[str]``, the files to watch. Snakemake reads all
  declarations when it starts, so they import nothing heavy.
- ``couple.py`` reads: ``couple(folder, options, provenance) -> Dataset``.
- ``simulate.py``, if the kind can be simulated: ``simulate(folder, size, seed)`` writes the files
  of ``SOURCE`` and, through :func:`scoup.simulate.write_planted`, what they were made of.
- ``read.py``, if the raw format is particular to the kind, holds its readers. A file that is
  downloaded without a published checksum is checked by the one it names: ``RemoteFile.reader``.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic import Field, field_validator, model_validator

from scoup.errors import ScoupError
from scoup.listing import load, members
from scoup.records import role_of
from scoup.specs import Spec, Whole, choice_of

POLICIES = ("auto", "local", "download", "simulate")
PROVENANCE_FILE, TRUTH_FILE = "provenance.json", "truth.json"
if TYPE_CHECKING:  # names that are found by listing are words to a type checker
    KindName: TypeAlias = str
else:
    KindName = choice_of("scoup.datasets", "what the data is and how its raw files are read")
SizeName = Literal["full", "quick", "tiny"]


@dataclass(frozen=True)
class Traits:
    """What an experiment may need to know of a data set before it is made.

    ``names`` of the tensor's modes; whether it is ``sparse``; the modes of its ``matrices``;
    whether cells of any block are ``missing``; whether the labels of the first matrix's mode have a
    column of ``categories``; whether the tensor stays ``on_disk``, and in how many ``shards``; and
    the ``roles`` of its modes; 0 or empty where they are not known.
    """

    names: tuple[str, ...]
    sparse: bool
    matrices: tuple[int, ...] = (0,)
    missing: bool = False
    categories: bool = False
    on_disk: bool = False
    roles: tuple[str, ...] = ()
    shards: int = 0

    def __post_init__(self) -> None:
        roles = self.roles or ("",) * len(self.names)
        object.__setattr__(self, "roles", tuple(map(role_of, self.names, roles)))

    def modes_with(self, role: str) -> list[str]:
        """Return the names of the modes that have a role."""
        return [name for name, own in zip(self.names, self.roles, strict=True) if own == role]


@dataclass(frozen=True)
class RemoteFile:
    """One published file: its addresses, best first, and its checksum if one is published.

    ``reader`` names the function in the kind's ``read.py`` that checks a download without a
    published checksum; later downloads must have the checksum that the first one had.
    """

    name: str
    addresses: tuple[str, ...] = ()
    sha256: str = ""
    reader: str = ""


@dataclass(frozen=True)
class DataSource:
    """The raw files of a kind and whom to thank for them.

    ``folder`` holds them in the cache, and may do so among local copies.
    """

    folder: str
    files: tuple[RemoteFile, ...]
    origin: str
    licence: str
    citation: str

    @property
    def file_names(self) -> tuple[str, ...]:
        """Names of the raw files."""
        return tuple(file.name for file in self.files)


class DatasetSpec(Spec):
    """A data set: its kind, where its raw files come from, and how they are preprocessed.

    >>> DatasetSpec(kind="brainq", options={"thin": 0})
    Traceback (most recent call last):
    ...
    scoup.errors.ScoupError: options.thin: expected an integer of at least 1, got 0.
    """

    kind: KindName
    source: str = Field(
        "auto",
        description="auto (local files, else download, else simulate if no host can be reached), "
        "download, simulate, local (files in the folder that SCOUP_DATA names) or local:FOLDER",
    )
    size: SizeName = Field("full", description="size of simulated data; real data has only one")
    seed: Whole = Field(0, description="seed of the simulation")
    options: dict[str, Any] = Field(
        default_factory=dict, description="settings of preprocess, which depend on the kind"
    )

    @field_validator("source")
    @classmethod
    def _check_source(cls, source: str) -> str:
        policy, _, folder = source.partition(":")
        if policy not in POLICIES or (folder and policy != "local"):
            raise ValueError(
                f"expected one of {', '.join(POLICIES)} or local:FOLDER, got {source!r}."
            )
        return source

    @model_validator(mode="after")
    def _check_options(self) -> DatasetSpec:
        check_options(self.kind, self.options)
        return self

    @property
    def checked_options(self) -> Any:
        """The options as the ``Options`` of the kind."""
        return check_options(self.kind, self.options)


def kind(name: str) -> ModuleType:
    """Return the declaration of a kind: ``SOURCE``, ``Options``, ``traits``, ``shape``.

    >>> kind("facebook").SOURCE.file_names
    ('facebook-wall.txt.gz', 'facebook-links.txt.gz')
    """
    return load(__name__, name)


def check_options(name: str, options: dict[str, Any]) -> Any:
    """Return the options of a kind as its ``Options``; an error names the key."""
    try:
        return kind(name).Options(**{str(key): value for key, value in options.items()})
    except TypeError:  # of a mapping within the options
        raise ScoupError.expected("options", "names as keys", "others") from None
    except ScoupError as error:
        raise ScoupError(f"options.{error}") from None


def traits(spec: DatasetSpec) -> Traits:
    """Return what is known of a data set before it is made; only heads of files are read.

    >>> traits(DatasetSpec(kind="facebook", options={"coupled": [0, 1]})).matrices
    (0, 1)
    """
    return kind(spec.kind).traits(spec.checked_options)


def shape(spec: DatasetSpec) -> tuple[int, ...] | None:
    """Return the sizes of the tensor if they are known before it is made.

    >>> shape(DatasetSpec(kind="brainq"))
    (60, 77775, 9)
    """
    return kind(spec.kind).shape(spec.size, spec.checked_options)


def is_own(spec: DatasetSpec) -> bool:
    """Whether a data set is made of user-supplied files, about which the paper claims nothing."""
    return hasattr(kind(spec.kind), "paths")


def paths(spec: DatasetSpec) -> list[str]:
    """Return the user-supplied files that a data set is made of; the other kinds have none."""
    return kind(spec.kind).paths(spec.checked_options) if is_own(spec) else []


def simulated_kinds() -> tuple[str, ...]:
    """Return the kinds that can be simulated.

    >>> simulated_kinds()
    ('brainq', 'events', 'facebook', 'random')
    """
    return tuple(name for name in members(__name__) if "simulate" in members(f"{__name__}.{name}"))


def https_then_http(path: str) -> tuple[str, str]:
    """Return the addresses of a path by https and, for servers without a certificate, by http."""
    return f"https://{path}", f"http://{path}"
