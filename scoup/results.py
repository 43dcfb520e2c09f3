"""The only reader and writer of data sets, samples, fits and merged models.

What experiments measure is written by :mod:`scoup.evidence.files`.

:mod:`scoup.store` describes the format. Files that must be reproducible to the byte hold no times.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scoup import store
from scoup.block import HeldOut, Observed
from scoup.coupled import CoupledData, Dataset
from scoup.machine import SHARDS_MEMORY_BYTES
from scoup.records import (
    Array,
    Factors,
    Fit,
    FitReport,
    Labels,
    Merged,
    MergeReport,
    Provenance,
    Sample,
    by_mode,
)
from scoup.store import PathLike
from scoup.streamed import StreamedTensor
from scoup.tensor import SparseTensor

Arrays = dict[str, Array]
Report = TypeVar("Report", FitReport, MergeReport)

DATA, SAMPLES, TRUTH, FIT, MERGED = "coupled-data", "samples", "truth", "fit", "merged"
EXTRACTED = "extracted"


def write_dataset(path: PathLike, dataset: Dataset) -> None:
    """Write a data set: values, masks and weights of every block, labels, provenance and extras."""
    arrays: Arrays = {f"extra.{name}": array for name, array in dataset.extras.items()}
    meta = {
        "blocks": [
            {
                "shape": block.shape,
                "values": _put_values(arrays, f"block{n}.values", block.values),
                "mask": _put_mask(arrays, f"block{n}.mask", block.mask),
            }
            for n, block in enumerate(dataset.data.blocks)
        ],
        "owners": dataset.data.owners,
        "weights": dataset.data.block_weights,
        "labels": [_put_labels(arrays, n, labels) for n, labels in enumerate(dataset.labels)],
        "provenance": asdict(dataset.provenance) if dataset.provenance else None,
        "facts": dataset.facts,
    }
    store.write_archive(path, DATA, meta, arrays)


def read_dataset(path: PathLike) -> Dataset:
    """Read what :func:`write_dataset` wrote; large dense blocks are mapped, not read."""
    meta, arrays = store.read_archive(path, DATA)
    values, masks = [], []
    for n, head in enumerate(meta["blocks"]):
        values.append(_get_values(arrays, f"block{n}.values", head["shape"], head["values"]))
        masks.append(_get_mask(arrays, f"block{n}.mask", head["shape"], head["mask"]))
    data = CoupledData(
        values[0],
        by_mode(values[1:], meta["owners"]),
        masks[0],
        by_mode(masks[1:], meta["owners"]),
        meta["weights"],
    )
    labels = tuple(_get_labels(arrays, n, head) for n, head in enumerate(meta["labels"]))
    provenance = Provenance(**meta["provenance"]) if meta["provenance"] else None
    extras = {
        name.removeprefix("extra."): array
        for name, array in arrays.items()
        if name.startswith("extra.")
    }
    return Dataset(data, labels, provenance, extras, meta["facts"])


def read_dataset_meta(path: PathLike) -> dict[str, Any]:
    """Return what a data set's file says about its arrays, such as their shapes, without them."""
    return store.read_meta(path, DATA)


def read_provenance(path: PathLike) -> Provenance:
    """Return where the data set in a file came from."""
    return Provenance(**read_dataset_meta(path)["provenance"])


def write_truth(path: PathLike, coords: Array, truth: Array) -> None:
    """Write the hidden cells: coords (N, n) and their values (n,)."""
    store.write_archive(path, TRUTH, {}, {"coords": coords.astype(np.int32), "truth": truth})


def read_truth(path: PathLike) -> tuple[Array, Array]:
    """Read what :func:`write_truth` wrote."""
    _, arrays = store.read_archive(path, TRUTH)
    return arrays["coords"], arrays["truth"]


def write_samples(path: PathLike, samples: Sequence[Sample]) -> None:
    """Write the index sets of all repetitions of a plan."""
    arrays = {f"common.{n}": common for n, common in enumerate(samples[0].common)}
    for sample in samples:
        arrays |= {f"rep{sample.repetition}.{n}": index for n, index in enumerate(sample.indices)}
    meta = {"factors": len(samples[0].common), "repetitions": len(samples)}
    store.write_archive(path, SAMPLES, meta, arrays)


def read_samples(path: PathLike) -> list[Sample]:
    """Read what :func:`write_samples` wrote."""
    meta, arrays = store.read_archive(path, SAMPLES)
    factors = range(meta["factors"])
    common = tuple(arrays[f"common.{n}"] for n in factors)
    return [
        Sample(repetition, tuple(arrays[f"rep{repetition}.{n}"] for n in factors), common)
        for repetition in range(meta["repetitions"])
    ]


def write_extracted(path: PathLike, samples: Sequence[SparseTensor]) -> None:
    """Write the cells of each sample, or set of rows, that one part of the shards has."""
    arrays: Arrays = {}
    for repetition, cells in enumerate(samples):
        _put_values(arrays, f"rep{repetition}.values", cells)
    store.write_archive(path, EXTRACTED, {}, arrays)


def read_extracted(path: PathLike, repetition: int) -> tuple[Array, Array]:
    """Read coordinates (N, n) and values (n,) of one repetition, or set of rows."""
    _, arrays = store.read_archive(path, EXTRACTED, f"rep{repetition}.")
    return arrays[f"rep{repetition}.values.coords"], arrays[f"rep{repetition}.values"]


def read_covered(paths: Sequence[PathLike]) -> list[list[tuple[Array, Array]]]:
    """Read the cells of each set of rows, one piece per part of the shards."""
    arrays = [store.read_archive(path, EXTRACTED)[1] for path in paths]
    sets = range(len(arrays[0]) // 2)
    return [[(a[f"rep{n}.values.coords"], a[f"rep{n}.values"]) for a in arrays] for n in sets]


def write_fit(path: PathLike, fit: Fit) -> None:
    """Write a fit without its seconds."""
    _write_model(path, FIT, fit)


def read_fit(path: PathLike) -> Fit:
    """Read what :func:`write_fit` wrote."""
    return Fit(*_read_model(path, FIT, FitReport))


def write_merged(path: PathLike, merged: Merged) -> None:
    """Write a merged model without its seconds."""
    _write_model(path, MERGED, merged)


def read_merged(path: PathLike) -> Merged:
    """Read what :func:`write_merged` wrote."""
    return Merged(*_read_model(path, MERGED, MergeReport))


def _write_model(path: PathLike, kind: str, model: Fit | Merged) -> None:
    """Write factors with their coverage; a matrix is stored as CSR if that is smaller."""
    factors = model.factors
    arrays: Arrays = {"weights": np.asarray(factors.weights)}
    heads = []
    for name, matrix, covered in zip(factors.names, factors.flat, factors.coverage, strict=True):
        values = _put_matrix(arrays, name, np.asarray(matrix))
        heads.append({"name": name, "shape": matrix.shape, "values": values})
        arrays[f"{name}.coverage"] = np.packbits(covered)
    meta = {
        "modes": len(factors.modes),
        "owners": factors.owners,
        "factors": heads,
        "report": asdict(replace(model.report, seconds={})),
    }
    store.write_archive(path, kind, meta, arrays)


def _read_model(path: PathLike, kind: str, report: type[Report]) -> tuple[Factors, Report]:
    meta, arrays = store.read_archive(path, kind)
    flat, coverage = [], []
    for head in meta["factors"]:
        flat.append(_get_matrix(arrays, head["name"], head["shape"], head["values"]))
        coverage.append(_unpack(arrays[f"{head['name']}.coverage"], head["shape"][:1]))
    factors = Factors.from_flat(arrays["weights"], flat, meta["owners"], tuple(coverage))
    return factors, report(**{name: _tuple(value) for name, value in meta["report"].items()})


def _tuple(value: Any) -> Any:
    """Turn a list of JSON back into the tuple that a record holds."""
    return tuple(value) if isinstance(value, list) else value


def _put_values(arrays: Arrays, name: str, values: Any) -> Any:
    """Add the values of a block under ``name`` and return how they are stored.

    Of a tensor on disk only its folder is stored.
    """
    if isinstance(values, StreamedTensor):
        return {"shards": str(values.folder)}
    if isinstance(values, SparseTensor):
        arrays[f"{name}.coords"], arrays[name] = values.coords, values.values
        return "sparse"
    arrays[name] = values
    return "dense"


def _get_values(arrays: Arrays, name: str, shape: Sequence[int], stored: Any) -> Any:
    if isinstance(stored, dict):
        from scoup.sharded import ShardedTensor  # compiled code, which most jobs can do without

        return ShardedTensor.open(stored["shards"], SHARDS_MEMORY_BYTES)
    if stored == "dense":
        return arrays[name]
    return SparseTensor(arrays[f"{name}.coords"], arrays[name], tuple(shape))


def _put_mask(arrays: Arrays, name: str, mask: Any) -> str | None:
    if mask is None:
        return None
    if isinstance(mask, (HeldOut, Observed)):
        _put_values(arrays, name, mask.cells)
        return "held-out" if isinstance(mask, HeldOut) else "observed"
    arrays[name] = np.packbits(mask)
    return "bits"


def _get_mask(arrays: Arrays, name: str, shape: Sequence[int], stored: str | None) -> Any:
    if stored is None:
        return None
    if stored == "bits":
        return _unpack(arrays[name], shape)
    cells: Any = _get_values(arrays, name, shape, "sparse")
    return HeldOut(cells) if stored == "held-out" else Observed(cells)


def _unpack(bits: Array, shape: Sequence[int]) -> NDArray[np.bool_]:
    return np.unpackbits(bits, count=int(np.prod(shape))).view(bool).reshape(shape)


def _put_labels(arrays: Arrays, position: int, labels: Labels) -> dict[str, Any]:
    arrays[f"label{position}"] = np.asarray(labels.ids)
    for name, column in labels.columns.items():
        arrays[f"label{position}.{name}"] = np.asarray(column)
    return {"name": labels.name, "columns": list(labels.columns), "role": labels.role}


def _get_labels(arrays: Arrays, position: int, head: Mapping[str, Any]) -> Labels:
    columns = {name: arrays[f"label{position}.{name}"] for name in head["columns"]}
    return Labels(head["name"], arrays[f"label{position}"], columns, head["role"])


def _put_matrix(arrays: Arrays, name: str, matrix: Array) -> str:
    """Add a factor matrix under ``name`` and return how it is stored."""
    csr_bytes = np.count_nonzero(matrix) * (matrix.itemsize + 4) + 4 * len(matrix)
    if csr_bytes >= matrix.nbytes:
        arrays[name] = matrix
        return "dense"
    csr = sparse.csr_array(matrix)
    arrays |= {name: csr.data, f"{name}.columns": csr.indices, f"{name}.starts": csr.indptr}
    return "csr"


def _get_matrix(arrays: Arrays, name: str, shape: Sequence[int], stored: str) -> Array:
    if stored == "dense":
        return arrays[name]
    parts = (arrays[name], arrays[f"{name}.columns"], arrays[f"{name}.starts"])
    return sparse.csr_array(parts, shape=tuple(shape)).toarray()
