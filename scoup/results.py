"""The only reader and writer of result files: data sets, index sets, fits, models, hidden cells and metrics.

The format of an archive is described in :mod:`scoup.store`. Seconds are never written next to numbers that can be
reproduced to the byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scoup.coupled import CoupledData, Dataset, HeldOut, Observed
from scoup.errors import ScoupError
from scoup.measures import Metric
from scoup.records import (
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
from scoup.store import PathLike, read_archive, read_json, write_archive, write_json
from scoup.tensor import SparseTensor

Array = NDArray[Any]
Arrays = dict[str, Array]
DATA, FACTORS, SAMPLES, TRUTH, MATERIAL = "coupled-data", "factors", "samples", "truth", "material"


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
        "owners": dataset.data.owners,
        "weights": dataset.data.block_weights,
        "labels": [
            _put_labels(arrays, position, label) for position, label in enumerate(dataset.labels)
        ],
        "provenance": asdict(dataset.provenance) if dataset.provenance else None,
        "facts": dataset.facts,
    }
    write_archive(path, DATA, meta, arrays, compress)


def read_dataset(path: PathLike) -> Dataset:
    """Read what :func:`write_dataset` wrote; large dense blocks are mapped, not read."""
    meta, arrays = read_archive(path, DATA)
    values = [
        _get(arrays, f"block{n}.values", head["shape"], head["values"])
        for n, head in enumerate(meta["blocks"])
    ]
    masks = [_get_mask(arrays, f"block{n}.mask", head) for n, head in enumerate(meta["blocks"])]
    matrices, matrix_masks = (by_mode(items[1:], meta["owners"]) for items in (values, masks))
    data = CoupledData(values[0], matrices, masks[0], matrix_masks, meta["weights"])
    labels = tuple(
        _get_labels(arrays, position, head) for position, head in enumerate(meta["labels"])
    )
    provenance = Provenance(**meta["provenance"]) if meta["provenance"] else None
    extras = {
        name.removeprefix("extra."): array
        for name, array in arrays.items()
        if name.startswith("extra.")
    }
    return Dataset(data, labels, provenance, extras, meta["facts"])


def read_provenance(path: PathLike) -> Provenance:
    """Return where the data set in a file came from."""
    return Provenance(**read_archive(path, DATA)[0]["provenance"])


def write_factors(path: PathLike, factors: Factors, meta: Mapping[str, Any] | None = None) -> None:
    """Write factors with their coverage; a matrix is kept as CSR where that is smaller. ``meta`` is plain JSON."""
    arrays: Arrays = {"weights": np.asarray(factors.weights)}
    heads = []
    for name, matrix, covered in zip(factors.names, factors.flat, factors.coverage, strict=True):
        heads.append(
            {"shape": matrix.shape, "values": _put_matrix(arrays, name, np.asarray(matrix))}
        )
        arrays[f"{name}.coverage"] = np.packbits(covered)
    head = {
        "modes": len(factors.modes),
        "owners": factors.owners,
        "matrices": heads,
        "meta": dict(meta or {}),
    }
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
    return Factors.from_flat(arrays["weights"], flat, head["owners"], coverage)


def read_factors_meta(path: PathLike) -> dict[str, Any]:
    """Return the plain facts that were written beside the factors."""
    return read_archive(path, FACTORS)[0]["meta"]


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
    arrays[name], arrays[f"{name}.columns"], arrays[f"{name}.starts"] = (
        csr.data,
        csr.indices,
        csr.indptr,
    )
    return "csr"


def _get_matrix(arrays: Arrays, name: str, head: Mapping[str, Any]) -> Array:
    if head["values"] == "dense":
        return arrays[name]
    parts = (arrays[name], arrays[f"{name}.columns"], arrays[f"{name}.starts"])
    return sparse.csr_array(parts, shape=tuple(head["shape"])).toarray()


def write_metrics(
    path: PathLike, metrics: Iterable[Metric], notes: Mapping[str, Any] | None = None
) -> None:
    """Write metrics as JSON; ``notes`` are plain facts about them all, such as the settings of the experiment."""
    rows = [asdict(metric) for metric in metrics]
    if not rows:
        raise ScoupError.expected("metrics", "at least one", "none", f"{path} would say nothing")
    write_json(path, {"metrics": rows, "notes": dict(notes or {})})


def read_metrics(*paths: PathLike) -> list[Metric]:
    """Read the metrics of one file or more."""
    rows = [row for path in paths for row in read_json(path)["metrics"]]
    return [Metric(**{**row, "range": tuple(row["range"])}) for row in rows]


def write_samples(path: PathLike, samples: Sequence[Sample]) -> None:
    """Write the index sets of all repetitions of a plan."""
    arrays = {f"common.{n}": common for n, common in enumerate(samples[0].common)}
    for sample in samples:
        arrays |= {f"rep{sample.repetition}.{n}": index for n, index in enumerate(sample.indices)}
    write_archive(
        path, SAMPLES, {"factors": len(samples[0].common), "repetitions": len(samples)}, arrays
    )


def read_samples(path: PathLike) -> list[Sample]:
    """Read what :func:`write_samples` wrote."""
    meta, arrays = read_archive(path, SAMPLES)
    common = tuple(arrays[f"common.{n}"] for n in range(meta["factors"]))
    return [
        Sample(rep, tuple(arrays[f"rep{rep}.{n}"] for n in range(meta["factors"])), common)
        for rep in range(meta["repetitions"])
    ]


def write_fit(path: PathLike, fit: Fit) -> None:
    """Write a fit without its seconds."""
    write_factors(path, fit.factors, asdict(replace(fit.report, seconds={})))


def read_fit(path: PathLike) -> Fit:
    """Read what :func:`write_fit` wrote."""
    return Fit(read_factors(path), FitReport(**_tuples(FitReport, read_factors_meta(path))))


def write_merged(path: PathLike, merged: Merged) -> None:
    """Write a merged model without its seconds."""
    write_factors(path, merged.factors, asdict(replace(merged.report, seconds={})))


def read_merged(path: PathLike) -> Merged:
    """Read what :func:`write_merged` wrote."""
    return Merged(read_factors(path), MergeReport(**_tuples(MergeReport, read_factors_meta(path))))


def _tuples(record: type, meta: Mapping[str, Any]) -> dict[str, Any]:
    """Turn JSON's lists back into the tuples of a record."""
    kinds = {item.name: str(item.type) for item in fields(record)}
    return {
        name: tuple(value) if kinds[name].startswith("tuple") else value
        for name, value in meta.items()
    }


def write_truth(path: PathLike, coords: Array, truth: Array) -> None:
    """Write the hidden cells: coords (N, n) and their values (n,)."""
    write_archive(path, TRUTH, {}, {"coords": coords.astype(np.int32), "truth": truth})


def read_truth(path: PathLike) -> tuple[Array, Array]:
    """Read what :func:`write_truth` wrote."""
    _, arrays = read_archive(path, TRUTH)
    return arrays["coords"], arrays["truth"]
