"""Files of a user's own: a tensor, the matrices on its modes, what is missing, and what the indices are called."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.coupled import CoupledData, Dataset, HeldOut, Observed
from scoup.errors import ScoupError
from scoup.raw.files import Content, Source, read
from scoup.raw.wide import read_labels
from scoup.records import Labels, Provenance
from scoup.tensor import SparseTensor

log = logging.getLogger(__name__)
Array = NDArray[Any]
KEYS = ("tensor", "matrices", "labels")


@dataclass(frozen=True)
class FilesOptions:
    """Which files a data set is made of.

    ``tensor`` and each of ``matrices`` is a path or the settings of a :class:`scoup.raw.files.Source`; ``labels``
    names files with the labels of modes, by the mode's name or number. Relative paths start at the working folder.
    """

    tensor: Source
    matrices: tuple[Source, ...] = ()
    labels: Mapping[str | int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> FilesOptions:
        """Make options of what a configuration says.

        >>> FilesOptions.of({"tensor": "posts.csv", "matrices": [{"file": "links.csv", "mode": "wall"}]}).paths
        ['posts.csv', 'links.csv']
        """
        if unknown := [key for key in given if key not in KEYS]:
            raise ScoupError.expected(
                "options", f"keys among {', '.join(KEYS)}", ", ".join(map(str, unknown))
            )
        if "tensor" not in given:
            raise ScoupError.expected(
                "options.tensor", "the file of the tensor", "nothing", "write 'tensor: FILE'"
            )
        matrices, labels = given.get("matrices") or [], given.get("labels") or {}
        if isinstance(matrices, (str, Mapping)) or not isinstance(labels, Mapping):
            raise ScoupError.expected(
                "options", "a list of matrices and a mapping of labels", repr(dict(given))
            )
        sources = [Source.of(f"options.matrices.{n}", one) for n, one in enumerate(matrices)]
        return cls(Source.of("options.tensor", given["tensor"]), tuple(sources), dict(labels))

    @property
    def paths(self) -> list[str]:
        """All files that are read, each once."""
        listed = [path for source in (self.tensor, *self.matrices) for path in source.paths]
        return list(dict.fromkeys([*listed, *map(str, self.labels.values())]))


def couple_files(
    options: FilesOptions, provenance: Provenance | None = None, content: Content | None = None
) -> Dataset:
    """Read all files and return coupled data: rows of matrices find their indices by label, or by position.

    ``content`` is that of the tensor's file, where it has been read already.
    """
    given = options.tensor
    if content is None:
        content = read(given, listed=given.observed == "listed")
    if len(content.names) < 3:
        raise ScoupError.expected(
            given.file, "three modes or more", f"{len(content.names)}", "is it a matrix?"
        )
    content, labels = _labelled(content, options)
    content = _dense(given, content)
    sides: dict[int, list[_Side]] = {}
    for source in options.matrices:
        mode = mode_of(source, content.names)
        named = content.keyed or bool({mode, content.names[mode]} & set(options.labels))
        side = _on_mode(source, labels[mode], named)
        labels[mode] = (
            labels[mode] if side.adopted is None else Labels(labels[mode].name, side.adopted)
        )
        sides.setdefault(mode, []).append(side)
    matrices = {
        mode: _single([_plain(side.content.values) for side in some])
        for mode, some in sorted(sides.items())
    }
    masks = {mode: _single([side.mask for side in some]) for mode, some in sides.items()}
    data = CoupledData(_plain(content.values), matrices, _mask(given, content), masks)
    flat = [side for _, some in sorted(sides.items()) for side in some]
    columns = _columns(flat, [label.name for label in labels])
    facts = {"files": options.paths, "left_out": [side.left_out for side in flat]}
    return Dataset(data, (*labels, *columns), provenance, facts=facts)


@dataclass(frozen=True, eq=False)
class _Side:
    """A matrix with its rows in the order of its mode, its mask, and how many of its rows are no index of the mode.

    ``adopted`` are labels that the mode, having none but positions, takes over from the matrix.
    """

    source: Source
    content: Content
    mask: Any
    left_out: int
    adopted: Array | None = None


def _columns(sides: Sequence[_Side], taken: Sequence[str]) -> list[Labels]:
    """Labels of the columns of each matrix, by a name of their own: that in a long table, else that of the file."""
    found: list[Labels] = []
    for side in sides:
        own = side.content.keyed and side.source.layout == "long"
        name = side.content.names[1] if own else Path(side.source.file).name.split(".")[0]
        again = name in (*taken, *(label.name for label in found))
        found.append(
            Labels(f"{Path(side.source.file).name}: {name}" if again else name, side.content.ids[1])
        )
    return found


def _dense(source: Source, content: Content) -> Content:
    """Make a whole array of listed cells, where that is asked for."""
    if source.dense and isinstance(content.values, SparseTensor):
        return replace(content, values=content.values.to_dense())
    return content


def _single(items: list[Any]) -> Any:
    """One matrix on a mode stands by itself, several in a list."""
    return items[0] if len(items) == 1 else items


def _plain(values: Array | SparseTensor) -> Array | SparseTensor:
    return values if isinstance(values, SparseTensor) else np.asarray(values)


def mode_of(source: Source, names: Sequence[str]) -> int:
    """The number of the tensor's mode that a matrix is on: as told, or the mode called like its first column.

    >>> mode_of(Source("links.csv", mode="poster"), ["wall", "poster", "day"])
    1
    """
    wanted = source.mode if source.mode is not None or not source.columns else source.columns[0]
    if isinstance(wanted, int) and not isinstance(wanted, bool) and 0 <= wanted < len(names):
        return wanted
    if wanted not in names:
        hint = "write the mode that its rows are as 'mode'"
        raise ScoupError.expected(
            f"{source.file}: mode", f"one of {', '.join(names)}", repr(wanted), hint
        )
    return list(names).index(str(wanted))


def _labelled(content: Content, options: FilesOptions) -> tuple[Content, list[Labels]]:
    """Give each mode its labels: those of a file, which also fix its order and size, or its own."""
    asked = {_mode_number(key, content.names): str(path) for key, path in options.labels.items()}
    labels = []
    for mode, name in enumerate(content.names):
        ids, columns = read_labels(asked[mode]) if mode in asked else (content.ids[mode], {})
        if mode in asked:
            content = _relabelled(content, mode, ids, asked[mode])
        labels.append(Labels(name, np.asarray(ids), columns))
    return content, labels


def _mode_number(key: str | int, names: Sequence[str]) -> int:
    if key not in names and key not in range(len(names)):
        raise ScoupError.expected("options.labels", f"modes among {', '.join(names)}", repr(key))
    return key if isinstance(key, int) else list(names).index(key)


def _relabelled(content: Content, mode: int, ids: Array, path: str) -> Content:
    """Lay one axis of a block on the labels of a file."""
    own = content.ids[mode]
    if content.keyed:
        place = places(own, ids)
        if (place < 0).any():
            unknown = own[place < 0][0]
            raise ScoupError.expected(
                path, f"all labels of {content.names[mode]}", f"none called {str(unknown)!r}"
            )
    else:
        most = isinstance(content.values, SparseTensor)
        if len(ids) < len(own) or (len(ids) > len(own) and not most):
            raise ScoupError.expected(
                path, f"{len(own)} labels, one an index of {content.names[mode]}", len(ids)
            )
        place = np.arange(len(own))
    return _replaced(content, mode, place, ids)


def _replaced(content: Content, mode: int, place: Array, ids: Array) -> Content:
    """Move index i of an axis to ``place[i]`` among ``ids``; those without a place are dropped."""
    if len(place) == len(ids) and (place == np.arange(len(ids))).all():
        return replace(
            content, ids=tuple(ids if n == mode else old for n, old in enumerate(content.ids))
        )
    changed = tuple(ids if n == mode else old for n, old in enumerate(content.ids))

    def moved(values: Any) -> Any:
        if isinstance(values, SparseTensor):
            at = place[values.coords[mode]]
            coords = np.array(values.coords)
            coords[mode] = at
            shape = tuple(len(ids) if n == mode else size for n, size in enumerate(values.shape))
            return SparseTensor(coords[:, at >= 0], values.values[at >= 0], shape)
        if values is None:
            return None
        whole = np.full(
            [len(ids) if n == mode else size for n, size in enumerate(values.shape)], np.nan
        )
        index = [slice(None)] * values.ndim
        index[mode] = place[place >= 0]  # type: ignore[call-overload]
        whole[tuple(index)] = np.compress(place >= 0, values, axis=mode)
        return whole

    return Content(
        moved(content.values), content.names, changed, content.keyed, moved(content.listed)
    )


def places(own: Array, among: Array) -> Array:
    """Where each of ``own`` stands among the labels ``among``, -1 where it does not.

    Numbers are compared with texts as texts.

    >>> places(np.array([7, 9]), np.array(["9", "8"])).tolist()
    [-1, 0]
    """
    own, among = np.asarray(own), np.asarray(among)
    if (own.dtype.kind == "U") != (among.dtype.kind == "U"):
        own, among = own.astype(np.str_), among.astype(np.str_)
    order = np.argsort(among, kind="stable")
    found = np.minimum(np.searchsorted(among, own, sorter=order), among.size - 1)
    return np.where(among[order][found] == own, order[found], -1)


def _on_mode(source: Source, labels: Labels, named: bool) -> _Side:
    """Read a matrix and bring its rows in the order of a mode's labels.

    A mode that is not ``named`` has positions for labels: a table with a row for each of them is in their order.
    """
    content, left_out = read(source, listed=source.observed == "listed"), 0
    if len(content.names) != 2:
        raise ScoupError.expected(
            source.file, "a matrix: two columns of labels or two axes", f"{len(content.names)}"
        )
    if content.keyed:
        place = places(content.ids[0], labels.ids)
        left_out = int(np.count_nonzero(place < 0))
        if left_out and not named and source.layout == "wide" and place.size == len(labels):
            adopted = content.ids[0]
            content = replace(content, ids=(labels.ids, content.ids[1]))
            return _Side(source, content, _mask(source, content), 0, adopted)
        if left_out == place.size:
            got = f"none of {content.names[0]}, such as {str(content.ids[0][0])!r}"
            raise ScoupError.expected(
                source.file, f"labels of {labels.name}, such as {str(labels.ids[0])!r}", got
            )
        log.info(
            "%s: %d of %d rows are no %s and are left out",
            source.file,
            left_out,
            place.size,
            labels.name,
        )
    else:
        place = _row_places(source, content, labels)
    content = _dense(source, _replaced(content, 0, place, labels.ids))
    return _Side(source, content, _mask(source, content), left_out)


def _row_places(source: Source, content: Content, labels: Labels) -> Array:
    """Rows without labels go by position; a sparse matrix may end before its mode does."""
    rows, size = len(content.ids[0]), len(labels)
    if rows > size or (rows < size and not isinstance(content.values, SparseTensor)):
        hint = "transpose it or couple it to another mode"
        raise ScoupError.expected(
            source.file, f"{size} rows, one an index of {labels.name}", rows, hint
        )
    return np.arange(rows)


def _mask(source: Source, content: Content) -> Any:
    """The mask of a block in the form that its values ask for."""
    if content.listed is not None and source.observed == "listed":
        sparse = isinstance(content.values, SparseTensor)
        return Observed(content.listed) if sparse else content.listed.to_dense() != 0
    path = source.missing or source.observed
    if path is None:
        return None
    cells = _marked(path, source, content)
    if isinstance(content.values, SparseTensor):
        return HeldOut(cells) if source.missing else Observed(cells)
    marked = cells.to_dense() != 0
    return ~marked if source.missing else marked


def _marked(path: str, source: Source, content: Content) -> SparseTensor:
    """The cells that a file lists or marks by 1, on the labels of the block."""
    marks = read(Source(path, source.columns, transpose=source.transpose))
    if len(marks.names) != len(content.names):
        raise ScoupError.expected(
            path, f"cells of {source.file}, of {len(content.names)} axes", len(marks.names)
        )
    if not isinstance(marks.values, SparseTensor):
        if not np.isin(marks.values, (0, 1)).all():
            raise ScoupError.expected(path, "only 0 and 1", "other values")
        marks = Content(SparseTensor.from_dense(marks.values), marks.names, marks.ids)
    for mode, ids in enumerate(content.ids):
        own = marks.ids[mode]
        place = places(own, ids) if marks.keyed else np.arange(len(own))
        if (place < 0).any() or len(own) > len(ids):
            unknown = str(own[place < 0][0]) if marks.keyed else len(own)
            raise ScoupError.expected(
                path, f"cells of {source.file}", f"{content.names[mode]} {unknown!r}"
            )
        marks = _replaced(marks, mode, place, ids)
    cells = marks.values
    assert isinstance(cells, SparseTensor)
    return cells.with_values(np.ones(cells.nnz))
