"""Couple user-supplied files: rows of matrices find their indices by label, or by position."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from scoup.block import HeldOut, Observed
from scoup.coupled import CoupledData, Dataset
from scoup.datasets.files import Options, Source, mode_number, mode_of, paths, roles_of
from scoup.datasets.files.labels import read_labels
from scoup.errors import ScoupError
from scoup.formats import Content, read
from scoup.formats import Source as PlainSource
from scoup.records import Array, Labels, Provenance
from scoup.tensor import SparseTensor

log = logging.getLogger(__name__)


def couple(folder: str | Path, options: Options, provenance: Provenance | None) -> Dataset:
    """Read the files where they are; ``folder`` holds the record of their checksums only."""
    del folder
    return couple_files(options, provenance)


def couple_files(
    options: Options, provenance: Provenance | None = None, content: Content | None = None
) -> Dataset:
    """Read all files and return coupled data; ``content`` is that of the tensor's file, if it has
    been read already.
    """
    source = options.tensor
    if content is None:
        content = read(source, listed=source.observed == "listed")
    if len(content.names) < 3:
        raise ScoupError.expected(
            source.file, "three modes or more", f"{len(content.names)}", "perhaps it is a matrix"
        )
    content, labels = _labelled(content, options)
    content = _dense(source, content)
    named = [
        content.keyed or bool({mode, name} & set(options.labels))
        for mode, name in enumerate(content.names)
    ]
    block = Tensor(content.values, labels, named, _mask(source, content))
    return couple_tensor(block, options.matrices, paths(options), provenance)


@dataclass(frozen=True, eq=False)
class Tensor:
    """The tensor of a data set: the labels of its modes, whether each has any, and its mask."""

    values: Any
    labels: list[Labels]
    named: Sequence[bool]
    mask: Any = None


def couple_tensor(
    tensor: Tensor, matrices: Sequence[Source], files: list[str], provenance: Provenance | None
) -> Dataset:
    """Read the matrices and couple them to a tensor."""
    labels, sides = list(tensor.labels), list[_Side]()
    for matrix in matrices:
        mode = mode_of(matrix, [label.name for label in labels])
        side = _side(matrix, mode, labels[mode], tensor.named[mode])
        if side.adopted is not None:
            labels[mode] = replace(labels[mode], ids=side.adopted)
        sides.append(side)
    sides.sort(key=lambda side: side.mode)  # several matrices on a mode stay in their order
    modes = sorted({side.mode for side in sides})
    data = CoupledData(
        tensor.values,
        {m: _single([side.content.values for side in sides if side.mode == m]) for m in modes},
        tensor.mask,
        {m: _single([side.mask for side in sides if side.mode == m]) for m in modes},
    )
    columns = _column_labels(sides, [label.name for label in labels])
    facts = {"files": files, "left_out": [side.left_out for side in sides]}
    return Dataset(data, (*labels, *columns), provenance, facts=facts)


def _single(items: list[Any]) -> Any:
    """One matrix on a mode stands alone, several are a list."""
    return items[0] if len(items) == 1 else items


@dataclass(frozen=True, eq=False)
class _Side:
    """A matrix with its rows in the order of its mode, its mask, and how many of its rows are no
    index of the mode.

    ``adopted`` are labels that the mode, having only positions, takes over from the matrix.
    """

    source: Source
    mode: int
    content: Content
    mask: Any
    left_out: int = 0
    adopted: Array | None = None


def _column_labels(sides: Sequence[_Side], used: Sequence[str]) -> list[Labels]:
    """Return labels of the columns of each matrix, called as in a long table, else like the file;
    no name twice.
    """
    columns: list[Labels] = []
    for side in sides:
        file = Path(side.source.file).name
        is_long = side.content.keyed and side.source.layout == "long"
        name = side.content.names[1] if is_long else file.split(".")[0]
        if name in (*used, *(label.name for label in columns)):
            name = f"{file}: {name}"
        columns.append(Labels(name, side.content.ids[1]))
    return columns


def _dense(source: Source, content: Content) -> Content:
    """Make a whole array of listed cells, if requested."""
    if source.dense and isinstance(content.values, SparseTensor):
        return replace(content, values=content.values.to_dense())
    return content


def _labelled(content: Content, options: Options) -> tuple[Content, list[Labels]]:
    """Give each mode its labels: those of a file, which also fix its order and size, or those in
    the tensor's file.
    """
    names = content.names
    files = {mode_number(key, names, "labels"): path for key, path in options.labels.items()}
    roles = roles_of(options.roles, names)
    labels = []
    for mode, name in enumerate(names):
        columns: dict[str, Array] = {}
        if mode in files:
            ids, columns = read_labels(files[mode], content.ids[mode], content.keyed)
            content = _relabelled(content, mode, ids, files[mode])
        labels.append(Labels(name, np.asarray(content.ids[mode]), columns, roles[mode]))
    return content, labels


def _relabelled(content: Content, mode: int, ids: Array, path: str) -> Content:
    """Lay one axis of a block on the labels of a file."""
    own, name = content.ids[mode], content.names[mode]
    if not content.keyed:
        is_sparse = isinstance(content.values, SparseTensor)
        if len(ids) < len(own) or (len(ids) > len(own) and not is_sparse):
            raise ScoupError.expected(path, f"{len(own)} labels, one per index of {name}", len(ids))
        return _moved(content, mode, np.arange(len(own)), ids)
    positions = positions_among(own, ids)
    if (positions < 0).any():
        unknown = str(own[positions < 0][0])
        raise ScoupError.expected(path, f"all labels of {name}", f"none called {unknown!r}")
    return _moved(content, mode, positions, ids)


def _moved(content: Content, mode: int, positions: Array, ids: Array) -> Content:
    """Move index i of an axis to ``positions[i]`` among ``ids``; those at -1 are dropped."""
    labels = tuple(ids if n == mode else old for n, old in enumerate(content.ids))
    if np.array_equal(positions, np.arange(len(ids))):
        return replace(content, ids=labels)

    def move(values: Any) -> Any:
        if values is None:
            return None
        shape = tuple(len(ids) if n == mode else size for n, size in enumerate(values.shape))
        if isinstance(values, SparseTensor):
            coords = np.array(values.coords)
            coords[mode] = positions[values.coords[mode]]
            inside = coords[mode] >= 0
            return SparseTensor(coords[:, inside], values.values[inside], shape)
        whole = np.full(shape, np.nan)
        target = np.moveaxis(whole, mode, 0)
        target[positions[positions >= 0]] = np.moveaxis(values, mode, 0)[positions >= 0]
        return whole

    return replace(content, values=move(content.values), ids=labels, listed=move(content.listed))


def positions_among(own: Array, others: Array) -> Array:
    """Return the position of each of ``own`` among the labels ``others``, -1 if it is not there.

    Numbers are compared with texts as texts.

    >>> positions_among(np.array([7, 9]), np.array(["9", "8"])).tolist()
    [-1, 0]
    """
    own, others = np.asarray(own), np.asarray(others)
    if (own.dtype.kind == "U") != (others.dtype.kind == "U"):
        own, others = own.astype(np.str_), others.astype(np.str_)
    order = np.argsort(others, kind="stable")
    nearest = np.minimum(np.searchsorted(others, own, sorter=order), others.size - 1)
    return np.where(others[order][nearest] == own, order[nearest], -1)


def _side(source: Source, mode: int, labels: Labels, is_named: bool) -> _Side:
    """Read a matrix and bring its rows into the order of a mode's labels.

    A mode that is not named has positions for labels: a wide table with as many rows is in their
    order, and names them.
    """
    content, left_out = read(source, listed=source.observed == "listed"), 0
    if len(content.names) != 2:
        raise ScoupError.expected(
            source.file, "a matrix: two columns of labels or two axes", f"{len(content.names)}"
        )
    rows = content.ids[0]
    if not content.keyed:
        positions = _row_positions(source, content, labels)
    else:
        positions = positions_among(rows, labels.ids)
        left_out = int(np.count_nonzero(positions < 0))
        if left_out and not is_named and source.layout == "wide" and rows.size == len(labels):
            content = replace(content, ids=(labels.ids, content.ids[1]))
            return _Side(source, mode, content, _mask(source, content), adopted=rows)
        if left_out == rows.size:
            got = f"none of {content.names[0]}, such as {str(rows[0])!r}"
            raise ScoupError.expected(
                source.file, f"labels of {labels.name}, such as {str(labels.ids[0])!r}", got
            )
        words = "%s: %d of %d rows are no %s and are left out"
        log.info(words, source.file, left_out, rows.size, labels.name)
    content = _dense(source, _moved(content, 0, positions, labels.ids))
    return _Side(source, mode, content, _mask(source, content), left_out)


def _row_positions(source: Source, content: Content, labels: Labels) -> Array:
    """Rows without labels go by position; a sparse matrix may end before its mode does."""
    rows, size = len(content.ids[0]), len(labels)
    if rows > size or (rows < size and not isinstance(content.values, SparseTensor)):
        hint = "transpose it or couple it to another mode"
        raise ScoupError.expected(
            source.file, f"{size} rows, one per index of {labels.name}", rows, hint
        )
    return np.arange(rows)


def _mask(source: Source, content: Content) -> Any:
    """Return the mask of a block in the form that suits its values."""
    is_sparse = isinstance(content.values, SparseTensor)
    if source.observed == "listed" and content.listed is not None:
        return Observed(content.listed) if is_sparse else content.listed.to_dense() != 0
    path = source.missing or source.observed
    if path is None:
        return None
    cells = _marked(path, source, content)
    if is_sparse:
        return HeldOut(cells) if source.missing else Observed(cells)
    return (cells.to_dense() != 0) != bool(source.missing)


def _marked(path: str, source: Source, content: Content) -> SparseTensor:
    """Return the cells that a file lists or marks by 1, on the labels of the block."""
    marks = read(PlainSource(file=path, columns=source.columns, transpose=source.transpose))
    if len(marks.names) != len(content.names):
        raise ScoupError.expected(
            path, f"cells of {source.file}, of {len(content.names)} axes", len(marks.names)
        )
    if not isinstance(marks.values, SparseTensor):
        if not np.isin(marks.values, (0, 1)).all():
            raise ScoupError.expected(path, "only 0 and 1", "other values")
        marks = replace(marks, values=SparseTensor.from_dense(marks.values), keyed=False)
    for mode, ids in enumerate(content.ids):
        own = marks.ids[mode]
        positions = positions_among(own, ids) if marks.keyed else np.arange(len(own))
        if (positions < 0).any() or len(own) > len(ids):
            unknown = str(own[positions < 0][0]) if marks.keyed else len(own)
            raise ScoupError.expected(
                path, f"cells of {source.file}", f"{content.names[mode]} {unknown!r}"
            )
        marks = _moved(marks, mode, positions, ids)
    return marks.values.with_values(np.ones(marks.values.nnz))
