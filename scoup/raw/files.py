"""Files of a user's own, whatever their format: a block of values, the names of its axes and the labels on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from scoup.errors import ScoupError
from scoup.raw import arrays
from scoup.raw.mtx import read_mtx
from scoup.raw.table import ending, is_table, read_table
from scoup.raw.wide import read_wide
from scoup.specs import check
from scoup.tensor import SparseTensor
from scoup.tns import parse_tns

Array = NDArray[Any]
ARRAYS = (".npy", ".npz", ".mat", ".mtx")
FORMATS = ".npy, .npz, .tns, .csv, .tsv, .txt, .parquet, .mat or .mtx (.tns and text also with .gz)"
LAYOUTS = ("long", "wide")
ONE_BASED = (".tns", ".mat", ".mtx")


@dataclass(frozen=True)
class Source:
    """One file and how it is read.

    ``columns``: of a table, those of the modes in order; of an array, names for its axes. ``value``: the column of
    values (by itself: one called value or count; without any, lines are counted). ``variable``: which array of an
    .npz or .mat file. ``layout``: ``long``, a cell a line, or ``wide``, a row of a matrix a line with its label first.
    ``transpose``: turn the axes about. ``dense``: make a whole array of listed cells, 0 where none is.
    ``missing``, ``observed``: a file that lists or marks cells that are missing, or the only known ones;
    ``observed: listed`` means the cells that the file itself lists, zeros among them.
    ``mode``: of a matrix, the tensor's mode that its rows are, by name or number.
    """

    file: str
    columns: Sequence[str] | None = None
    value: str | None = None
    variable: str | None = None
    layout: str = "long"
    transpose: bool = False
    dense: bool = False
    missing: str | None = None
    observed: str | None = None
    mode: str | int | None = None

    def __post_init__(self) -> None:
        check(f"{self.file}: layout", self.layout, Literal[LAYOUTS])
        if self.missing and self.observed:
            raise ScoupError.expected(str(self.file), "either 'missing' or 'observed'", "both")
        if not is_table(self.file) and ending(self.file) not in (*ARRAYS, ".tns"):
            raise ScoupError.expected(
                str(self.file), f"a name that ends in {FORMATS}", repr(str(self.file))
            )

    @classmethod
    def of(cls, name: str, given: Any) -> Source:
        """Make a source of what a configuration says: a path, or a mapping.

        >>> Source.of("tensor", {"file": "posts.csv", "vlaue": "n"})
        Traceback (most recent call last):
        ...
        scoup.errors.ScoupError: tensor: expected keys among file, columns, ..., got vlaue.
        """
        if isinstance(given, (str, PathLike)):
            return cls(str(given))
        known = {field.name: field.type for field in fields(cls)}
        if not isinstance(given, Mapping) or "file" not in given:
            raise ScoupError.expected(name, "a path, or a mapping with the key file", repr(given))
        if unknown := [key for key in given if key not in known]:
            raise ScoupError.expected(
                name, f"keys among {', '.join(known)}", ", ".join(map(str, unknown))
            )
        for key in ("file", "value", "variable", "missing", "observed"):
            if not isinstance(given.get(key), (str, type(None))):
                raise ScoupError.expected(f"{name}.{key}", "a text", repr(given[key]))
        for key in ("transpose", "dense"):
            if not isinstance(given.get(key, False), bool):
                raise ScoupError.expected(f"{name}.{key}", "true or false", repr(given[key]))
        columns = given.get("columns")
        if columns is not None and (
            isinstance(columns, str) or not all(isinstance(one, str) for one in columns)
        ):
            raise ScoupError.expected(f"{name}.columns", "a list of names", repr(columns))
        return cls(**given)

    @property
    def paths(self) -> list[str]:
        """All files that are read."""
        listed = [] if self.observed == "listed" else [self.observed]
        return [path for path in (self.file, self.missing, *listed) if path]


@dataclass(frozen=True, eq=False)
class Content:
    """What a file holds: values, and for each axis its name and labels.

    ``keyed``: the labels are the file's own, not positions. ``listed``: the cells that a sparse file lists, zeros
    among them, where they were asked for.
    """

    values: Array | SparseTensor
    names: tuple[str, ...]
    ids: tuple[Array, ...]
    keyed: bool = False
    listed: SparseTensor | None = None


def read(source: Source, listed: bool = False) -> Content:
    """Read a file; ``listed`` asks for the cells of a sparse one as well."""
    content = _read(source, listed)
    if not source.transpose:
        return content
    turned = replace(content, names=content.names[::-1], ids=content.ids[::-1])
    if isinstance(content.values, SparseTensor):
        cells = content.values
        return replace(
            turned, values=SparseTensor(cells.coords[::-1], cells.values, cells.shape[::-1])
        )
    return replace(turned, values=content.values.T)


def _read(source: Source, listed: bool) -> Content:
    kind = ending(source.file)
    if is_table(source.file):
        return _wide(source) if source.layout == "wide" else _long(source, listed)
    if kind == ".tns":
        coords, numbers = parse_tns(source.file)
        shape = tuple(int(index.max()) + 1 for index in coords)
        return _sparse(source, coords, numbers, shape, listed)
    readers: dict[str, Any] = {
        ".npy": lambda: arrays.read_npy(source.file),
        ".npz": lambda: arrays.read_npz(source.file, source.variable),
        ".mat": lambda: arrays.read_mat(source.file, source.variable),
        ".mtx": lambda: read_mtx(source.file),
    }
    values = readers[kind]()
    cells = values if listed and isinstance(values, SparseTensor) else None
    return Content(
        values, axis_names(source, values.ndim), _positions(source, values.shape), listed=cells
    )


def _long(source: Source, listed: bool) -> Content:
    table = read_table(source.file, source.columns, source.value)
    shape = tuple(map(len, table.ids))
    coords, numbers = table.coords, table.values
    content = _sparse(source, coords, numbers, shape, listed)
    return replace(content, names=table.names, ids=table.ids, keyed=True)


def _sparse(
    source: Source, coords: Array, numbers: Array, shape: tuple[int, ...], listed: bool
) -> Content:
    cells = SparseTensor(coords, np.ones(numbers.size), shape) if listed else None
    try:
        tensor = SparseTensor.from_owned_arrays(coords, numbers, shape)
    except ScoupError as error:
        raise ScoupError(f"{source.file}: {error}") from None
    return Content(tensor, axis_names(source, len(shape)), _positions(source, shape), listed=cells)


def axis_names(source: Source, order: int) -> tuple[str, ...]:
    """Names of the axes of an array: those given, or mode0, mode1 and so on."""
    if source.columns is None or is_table(source.file):
        return tuple(f"mode{n}" for n in range(order))
    if len(source.columns) != order:
        raise ScoupError.expected(
            f"{source.file}: columns", f"{order} names, one an axis", list(source.columns)
        )
    return tuple(source.columns)


def _positions(source: Source, shape: Sequence[int]) -> tuple[Array, ...]:
    """Positions as the format's users count them."""
    first = int(ending(source.file) in ONE_BASED)
    return tuple(np.arange(first, first + size) for size in shape)


def _wide(source: Source) -> Content:
    names, ids, values = read_wide(source.file, source.columns)
    return Content(values, names, ids, keyed=True)
