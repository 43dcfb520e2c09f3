"""The only reader and writer of result files: data sets, factors, JSON, and archives of any other kind.

The format is described in :mod:`scoup.archive`; everything here is written atomically and without pickle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scoup.archive import (
    PathLike,
    atomic,
    plain,
    read_archive,
    read_json,
    write_archive,
    write_bytes,
    write_json,
    write_npz,
    write_text,
)
from scoup.block import HeldOut, Observed
from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.records import Factors, Labels, Provenance, nest
from scoup.tensor import SparseTensor

__all__ = [
    "Dataset",
    "atomic",
    "plain",
    "read_archive",
    "read_data",
    "read_factors",
    "read_factors_meta",
    "read_json",
    "read_provenance",
    "write_archive",
    "write_bytes",
    "write_data",
    "write_dataset",
    "write_factors",
    "write_json",
    "write_npz",
    "write_text",
]

Array = NDArray[Any]
DATA, FACTORS = "coupled-data", "factors"
Arrays = dict[str, Array]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Coupled data with what its indices mean and where it came from.

    ``labels`` has one entry for each of ``[*modes, *sides]``, or is empty. ``extras`` are further arrays that
    belong to the data, such as the voxel grid or the single presentations; ``facts`` are plain JSON values.
    """

    data: CoupledData
    labels: tuple[Labels, ...] = ()
    provenance: Provenance | None = None
    extras: Mapping[str, Array] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))
        if self.labels and tuple(map(len, self.labels)) != self.data.sizes:
            got = [f"{label.name}: {len(label)}" for label in self.labels]
            raise ScoupError.expected("labels", f"one entry a factor, of sizes {self.data.sizes}", got)

    def label(self, name: str) -> Labels:
        """Return the labels called ``name``, such as ``noun``."""
        for label in self.labels:
            if label.name == name:
                return label
        raise ScoupError.expected("labels", f"one called {name!r}", [label.name for label in self.labels])


def write_data(
    path: PathLike,
    data: CoupledData,
    labels: Sequence[Labels] = (),
    provenance: Provenance | None = None,
    compress: bool = False,
) -> None:
    """Write coupled data with its labels and provenance."""
    write_dataset(path, Dataset(data, tuple(labels), provenance), compress)


def write_dataset(path: PathLike, dataset: Dataset, compress: bool = False) -> None:
    """Write a data set: values, masks and weights of every block, labels, provenance and extras."""
    arrays: Arrays = {f"extra.{name}": array for name, array in dataset.extras.items()}
    blocks = []
    for position, block in enumerate(dataset.data.blocks):
        name = f"block{position}"
        head = {"shape": block.shape, "values": _put(arrays, f"{name}.values", block.values)}
        blocks.append({**head, "mask": _put_mask(arrays, f"{name}.mask", block.mask)})
    meta = {
        "blocks": blocks,
        "layout": _layout(dataset.data.matrices),
        "weights": dataset.data.block_weights,
        "labels": [_put_labels(arrays, position, label) for position, label in enumerate(dataset.labels)],
        "provenance": asdict(dataset.provenance) if dataset.provenance else None,
        "facts": dataset.facts,
    }
    write_archive(path, DATA, meta, arrays, compress)


def read_data(path: PathLike) -> Dataset:
    """Read what :func:`write_dataset` wrote; large dense blocks are mapped, not read."""
    meta, arrays = read_archive(path, DATA)
    values = [_get(arrays, f"block{n}.values", head["shape"], head["values"]) for n, head in enumerate(meta["blocks"])]
    masks = [_get_mask(arrays, f"block{n}.mask", head) for n, head in enumerate(meta["blocks"])]
    like = {int(mode): [None] * count if count else None for mode, count in meta["layout"].items()}
    data = CoupledData(values[0], nest(values[1:], like), masks[0], nest(masks[1:], like), meta["weights"])
    labels = tuple(_get_labels(arrays, position, head) for position, head in enumerate(meta["labels"]))
    provenance = Provenance(**meta["provenance"]) if meta["provenance"] else None
    extras = {name.removeprefix("extra."): array for name, array in arrays.items() if name.startswith("extra.")}
    return Dataset(data, labels, provenance, extras, meta["facts"])


def read_provenance(path: PathLike) -> Provenance:
    """Return where the data set in a file came from."""
    return Provenance(**read_archive(path, DATA)[0]["provenance"])


def write_factors(path: PathLike, factors: Factors, meta: Mapping[str, Any] | None = None) -> None:
    """Write factors with their coverage; a matrix is kept as CSR where that is smaller. ``meta`` is plain JSON."""
    arrays: Arrays = {"weights": np.asarray(factors.weights)}
    heads = []
    for name, matrix, covered in zip(factors.names, factors.flat, factors.coverage, strict=True):
        heads.append({"shape": matrix.shape, "values": _put_matrix(arrays, name, np.asarray(matrix))})
        arrays[f"{name}.coverage"] = np.packbits(covered)
    head = {"modes": len(factors.modes), "layout": _layout(factors.sides), "matrices": heads, "meta": dict(meta or {})}
    write_archive(path, FACTORS, head, arrays)


def read_factors(path: PathLike) -> Factors:
    """Read what :func:`write_factors` wrote."""
    head, arrays = read_archive(path, FACTORS)
    order = head["modes"]
    flat, coverage = [], []
    for position, entry in enumerate(head["matrices"]):
        name = f"mode{position}" if position < order else f"side{position - order}"
        flat.append(_get_matrix(arrays, name, entry))
        coverage.append(_unpack(arrays[f"{name}.coverage"], entry["shape"][:1]))
    like = {int(mode): [None] * count if count else None for mode, count in head["layout"].items()}
    return Factors(arrays["weights"], tuple(flat[:order]), nest(flat[order:], like), tuple(coverage))


def read_factors_meta(path: PathLike) -> dict[str, Any]:
    """Return the plain facts that were written beside the factors."""
    return read_archive(path, FACTORS)[0]["meta"]


def _layout(nested: Mapping[int, Any]) -> dict[int, int]:
    """Say how many matrices a mode has, 0 standing for a single one that is not in a list."""
    return {mode: len(item) if isinstance(item, (list, tuple)) else 0 for mode, item in nested.items()}


def _put(arrays: Arrays, name: str, values: Array | SparseTensor) -> str:
    """Add one block's values under ``name`` and return the word for how they are kept."""
    if isinstance(values, SparseTensor):
        arrays[f"{name}.coords"], arrays[name] = values.coords, values.values
        return "sparse"
    arrays[name] = values
    return "dense"


def _get(arrays: Arrays, name: str, shape: Sequence[int], how: str) -> Array | SparseTensor:
    if how == "dense":
        return arrays[name]
    return SparseTensor(arrays[f"{name}.coords"], arrays[name], tuple(shape))


def _put_mask(arrays: Arrays, name: str, mask: Any) -> str | None:
    if mask is None:
        return None
    if isinstance(mask, (HeldOut, Observed)):
        _put(arrays, name, mask.cells)
        return "held-out" if isinstance(mask, HeldOut) else "observed"
    arrays[name] = np.packbits(mask)
    return "bits"


def _get_mask(arrays: Arrays, name: str, head: Mapping[str, Any]) -> Any:
    if head["mask"] is None:
        return None
    if head["mask"] == "bits":
        return _unpack(arrays[name], head["shape"])
    kind = HeldOut if head["mask"] == "held-out" else Observed
    return kind(_get(arrays, name, head["shape"], "sparse"))  # type: ignore[arg-type]


def _unpack(bits: Array, shape: Sequence[int]) -> NDArray[np.bool_]:
    return np.unpackbits(bits, count=int(np.prod(shape))).view(bool).reshape(shape)


def _put_labels(arrays: Arrays, position: int, label: Labels) -> dict[str, Any]:
    arrays[f"label{position}"] = np.asarray(label.ids)
    for name, column in label.columns.items():
        arrays[f"label{position}.{name}"] = np.asarray(column)
    return {"name": label.name, "columns": list(label.columns)}


def _get_labels(arrays: Arrays, position: int, head: Mapping[str, Any]) -> Labels:
    columns = {name: arrays[f"label{position}.{name}"] for name in head["columns"]}
    return Labels(head["name"], arrays[f"label{position}"], columns)


def _put_matrix(arrays: Arrays, name: str, matrix: Array) -> str:
    filled = np.count_nonzero(matrix)
    if filled * (matrix.itemsize + 4) + 4 * len(matrix) >= matrix.nbytes:
        arrays[name] = matrix
        return "dense"
    csr = sparse.csr_array(matrix)
    arrays[name], arrays[f"{name}.columns"], arrays[f"{name}.starts"] = csr.data, csr.indices, csr.indptr
    return "csr"


def _get_matrix(arrays: Arrays, name: str, head: Mapping[str, Any]) -> Array:
    if head["values"] == "dense":
        return arrays[name]
    parts = (arrays[name], arrays[f"{name}.columns"], arrays[f"{name}.starts"])
    return sparse.csr_array(parts, shape=tuple(head["shape"])).toarray()
