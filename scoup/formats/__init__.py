"""File formats of user-supplied data: one module each, found by listing this folder.

A new format is a new file and nothing else: reading, checks before the first job, the help of the
command line, the table in ``docs/files.md`` and the contract tests go over the list. A module
declares

- ``ENDINGS`` of file names, and ``DESCRIPTION``, which says in one line what such a file holds;
- ``read(source) -> Content`` and ``peek(source) -> Head``, the latter from the head of the file
  alone; whatever is wrong with a file is a :class:`ScoupError` that names it;
- ``write(path, array)``, which writes the non-zeros of a small array, for tests and examples;
- if needed: ``GZIPPED = True`` (it also reads its endings with ``.gz``), ``FIRST_INDEX = 1`` (its
  users count from 1), ``MAX_MODES = 2`` (it holds matrices only);
- for a table with named columns: ``preview(path, lines) -> Preview``;
- if it lists cells: ``stream(source) -> Stream``, which reads a file of any size in batches.

Modules whose names begin with an underscore are helpers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from os import PathLike, fspath
from types import ModuleType
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import ConfigDict, Field, StrictBool, field_validator, model_validator

from scoup.errors import ScoupError
from scoup.listing import load, members
from scoup.records import Array
from scoup.specs import Spec
from scoup.tensor import SparseTensor
from scoup.text import check_expansion

VALUE_NAMES = ("value", "count")
GAPS = ("", "na", "nan", "none", "null")  # cells of numbers that say nothing, in small letters


class Source(Spec):
    """A file and how it is read; a path alone stands for ``{file: path}``.

    >>> Source(file="posts.csv", vlaue="n")
    Traceback (most recent call last):
    ...
    scoup.errors.ScoupError: vlaue: expected one of the keys ...; perhaps 'value' was meant.
    """

    model_config = ConfigDict(json_schema_extra={"type": ["object", "string"]})

    file: str = Field(description="path, from the folder in which snakemake runs")
    columns: list[str] | None = Field(
        None, description="columns of the modes, in order; of an array, names for its axes"
    )
    value: str | None = Field(
        None,
        description="column of values; null: one called value or count, or else lines are counted",
    )
    variable: str | None = Field(None, description="which array of an .npz or .mat file")
    layout: Literal["long", "wide"] = Field(
        "long",
        description="of a table: long, one cell per line, or wide, one row of a matrix per line",
    )
    transpose: StrictBool = Field(False, description="reverse the order of the axes")

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, settings: Any) -> Any:
        return {"file": fspath(settings)} if isinstance(settings, (str, PathLike)) else settings

    @field_validator("file")
    @classmethod
    def _known_ending(cls, file: str) -> str:
        format_of(file)
        return file


@dataclass(frozen=True, eq=False)
class Cells:
    """Listed cells: ``values[t]`` at the zero-based ``coords[:, t]``; a cell may come more than
    once, or be 0.
    """

    coords: Array
    values: Array
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Content:
    """What a file holds: values, and for each axis its name and labels.

    A format leaves ``names`` and ``ids`` empty if the file has none; :func:`read` fills them.
    ``keyed``: the labels come from the file and are not positions. ``listed``: the cells that a
    sparse file lists, zeros included, on request.
    """

    values: Any
    names: tuple[str, ...] = ()
    ids: tuple[Array, ...] = ()
    keyed: bool = False
    listed: SparseTensor | None = None


@dataclass(frozen=True)
class Head:
    """What is known of a file without reading it: number of axes, whether it lists cells, sizes
    and names if stated.
    """

    order: int
    sparse: bool
    shape: tuple[int, ...] | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Preview:
    """The columns of a table, and the cells of its first lines as texts."""

    names: tuple[str, ...]
    rows: list[list[str]]


class Stream(NamedTuple):
    """The cells of a file, some at a time: their indices, one column per mode, and their values.

    Columns are Arrow columns of labels if the file has them (``keyed``), else arrays of zero-based
    positions.
    """

    names: tuple[str, ...]
    keyed: bool
    batches: Iterator[tuple[list[Any], Array]]


def formats() -> list[ModuleType]:
    """Return all formats."""
    return [load(__name__, name) for name in members(__name__)]


@cache
def _by_ending() -> dict[str, ModuleType]:
    return {ending: module for module in formats() for ending in endings(module)}


def endings(module: ModuleType) -> list[str]:
    """Return the endings of a format, those with ``.gz`` included."""
    packed = [f"{ending}.gz" for ending in module.ENDINGS if getattr(module, "GZIPPED", False)]
    return [*module.ENDINGS, *packed]


def format_of(path: str | PathLike[str]) -> ModuleType:
    """Return the format of a file by the ending of its name.

    >>> format_of("a/Posts.CSV.gz").__name__
    'scoup.formats.csv'
    """
    name = fspath(path).lower()
    matches = [module for ending, module in _by_ending().items() if name.endswith(ending)]
    if not matches:
        known = ", ".join(_by_ending())
        raise ScoupError.expected(str(path), f"a name that ends in one of {known}", repr(str(path)))
    return matches[0]


def is_table(path: str | PathLike[str]) -> bool:
    """Whether a file is a table with named columns, by the ending of its name.

    >>> is_table("posts.csv.gz"), is_table("posts.tns")
    (True, False)
    """
    return hasattr(format_of(path), "preview")


def preview(path: str, lines: int | None = 0) -> Preview:
    """Return the columns of a table and its first lines, or all of them (None)."""
    return format_of(path).preview(path, lines)


def descriptions() -> list[tuple[str, str]]:
    """Return what is said about each format: its endings, and what such a file holds."""
    return [
        (
            ", ".join(module.ENDINGS) + (" (also .gz)" if getattr(module, "GZIPPED", 0) else ""),
            module.DESCRIPTION,
        )
        for module in formats()
    ]


def read(source: Source, listed: bool = False) -> Content:
    """Read a file; ``listed`` requests the cells that a sparse one lists as well."""
    content = format_of(source.file).read(source)
    values, cells = content.values, None
    if isinstance(values, Cells):
        check_expansion(source.file, 8 * sum(values.shape))  # a label for every index
        try:
            if listed:
                cells = SparseTensor(values.coords, np.ones(values.values.size), values.shape)
            values = SparseTensor.from_owned_arrays(values.coords, values.values, values.shape)
        except ScoupError as error:
            raise ScoupError(f"{source.file}: {error}") from None
    names = content.names or axis_names(source, values.ndim)
    ids = content.ids or _positions(source, values.shape)
    content = Content(values, names, ids, bool(content.ids), cells)
    return _transposed(content) if source.transpose else content


def stream(source: Source) -> Stream:
    """Read the cells of a file in batches; a format that cannot do so is read as a whole."""
    module = format_of(source.file)
    if hasattr(module, "stream"):
        content = module.stream(source)
        return content._replace(names=content.names or axis_names(source, peek(source).order))
    whole = read(source)
    cells = whole.values
    if not isinstance(cells, SparseTensor):
        cells = SparseTensor.from_dense(cells)
    return Stream(whole.names, False, iter([(list(cells.coords), cells.values)]))


def peek(source: Source) -> Head:
    """Look at a file without reading it."""
    head = format_of(source.file).peek(source)
    head = replace(head, names=head.names or axis_names(source, head.order))
    if not source.transpose:
        return head
    return replace(head, names=head.names[::-1], shape=head.shape and head.shape[::-1])


def axis_names(source: Source, order: int) -> tuple[str, ...]:
    """Return names for the axes of an array: ``columns``, or mode0, mode1 and so on."""
    if source.columns is None:
        return tuple(f"mode{n}" for n in range(order))
    if len(source.columns) != order:
        raise ScoupError.expected(
            f"{source.file}: columns", f"{order} names, one per axis", list(source.columns)
        )
    return tuple(source.columns)


def _positions(source: Source, shape: Sequence[int]) -> tuple[Array, ...]:
    """Return positions as the format's users count them."""
    first = getattr(format_of(source.file), "FIRST_INDEX", 0)
    return tuple(np.arange(first, first + size) for size in shape)


def _transposed(content: Content) -> Content:
    def turn(values: Any) -> Any:
        if isinstance(values, SparseTensor):
            return SparseTensor(values.coords[::-1], values.values, values.shape[::-1])
        return values if values is None else values.T

    return Content(
        turn(content.values),
        content.names[::-1],
        content.ids[::-1],
        content.keyed,
        turn(content.listed),
    )
