"""Factors in the forms that other libraries take: TensorLy, pandas, xarray and NIfTI, there and back.

None of these is needed to use scoup but pandas: TensorLy's tensors are plain tuples to us, and the others are asked
for when they are used. Labels go along: ids become the index of a table and the coordinates of an array. Rows that
were never sampled are NaN in tables and arrays, so that they are not mistaken for zeros, and come back as not covered.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from scoup.errors import ScoupError
from scoup.records import Factors, Labels

Array = NDArray[Any]
WARNING = "subjects' own grid; no registration to any atlas"
COMPONENT, WEIGHTS = "component", "weights"


def to_tensorly(
    factors: Factors, mode: int | None = None, position: int = 0
) -> tuple[Array, list[Array]]:
    """Return the tensor as TensorLy's ``(weights, factors)``, or the matrix on ``mode`` where one is named.

    >>> factors = Factors(np.array([2.0]), tuple(np.ones((n, 1)) for n in (2, 3, 4)), {0: np.ones((5, 1))})
    >>> weights, matrices = to_tensorly(factors)
    >>> weights.tolist(), [matrix.shape for matrix in matrices]
    ([2.0], [(2, 1), (3, 1), (4, 1)])
    """
    if mode is None:
        return np.array(factors.weights), [np.array(factor) for factor in factors.modes]
    group = factors.sides.get(mode, [])
    if position >= len(group):
        raise ScoupError.expected("mode", f"a coupled mode among {sorted(factors.sides)}", mode)
    return np.ones(factors.rank), [np.array(factors.modes[mode]), np.array(group[position])]


def from_tensorly(tensor: Any, matrices: Mapping[int, Any] | None = None) -> Factors:
    """Read a CP tensor ``(weights, factors)``, and CP matrices ``{mode: (weights, [mode's factor, side])}`` beside it.

    The first factor of a matrix must be the tensor's, up to the scale of its columns, which goes to the side factor.

    >>> cp = (None, [np.ones((n, 1)) for n in (2, 3, 4)])
    >>> from_tensorly(cp, {0: (np.array([5.0]), [np.ones((2, 1)), np.ones((6, 1))])}).sides[0][0][0].tolist()
    [5.0]
    """
    weights, modes = _cp("tensor", tensor)
    sides = {}
    for mode, matrix in sorted((matrices or {}).items()):
        if not 0 <= mode < len(modes):
            raise ScoupError.expected("matrices", f"modes from 0 to {len(modes) - 1}", mode)
        scales, (shared, side) = _cp(f"matrices[{mode}]", matrix)
        sides[mode] = side * scales * _ratio(mode, shared, modes[mode])
    return Factors(weights, tuple(modes), sides)


def _cp(name: str, given: Any) -> tuple[Array, list[Array]]:
    try:
        weights, factors = given
        arrays = [np.asarray(factor, dtype=np.float64) for factor in factors]
    except (TypeError, ValueError):
        raise ScoupError.expected(name, "a pair (weights, factors)", type(given).__name__) from None
    return (
        np.ones(arrays[0].shape[1]) if weights is None else np.asarray(weights, dtype=np.float64)
    ), arrays


def _ratio(mode: int, shared: Array, factor: Array) -> Array:
    """Column by column, ``shared = factor * ratio``; anything else is no coupled model."""
    squares = np.einsum("if,if->f", factor, factor)
    safe = np.where(squares > 0, squares, 1.0)
    ratio = np.einsum("if,if->f", shared, factor) / safe if shared.shape == factor.shape else None
    if ratio is None or not np.allclose(
        shared, factor * ratio, rtol=1e-6, atol=1e-9 * np.abs(shared).max(initial=0)
    ):
        raise ScoupError.expected(
            f"matrices[{mode}]",
            f"the tensor's factor of mode {mode} up to the scale of columns",
            "another one",
        )
    return ratio


def to_frames(factors: Factors, labels: Sequence[Labels] = ()) -> dict[str, pd.DataFrame]:
    """Return a table for each factor, rows named by ``labels`` and columns 1 to F, and one of the weights.

    ``attrs`` of a table say which mode it belongs to, so that :func:`from_frames` can put them together again.

    >>> factors = Factors(np.array([2.0]), tuple(np.ones((2, 1)) for _ in range(3)))
    >>> to_frames(factors, [Labels(name, np.array(["a", "b"])) for name in "xyz"])["x"].loc["b", 1].item()
    1.0
    """
    columns = pd.RangeIndex(1, factors.rank + 1, name=COMPONENT)
    frames = {WEIGHTS: pd.DataFrame([factors.weights], index=[WEIGHTS], columns=columns)}
    for label, values, part in zip(
        _named(factors, labels), _open(factors), _parts(factors), strict=True
    ):
        frames[label.name] = pd.DataFrame(
            values, index=pd.Index(label.ids, name=label.name), columns=columns
        )
        frames[label.name].attrs.update(part)
    return frames


def from_frames(frames: Mapping[str, pd.DataFrame]) -> tuple[Factors, list[Labels]]:
    """Put together what :func:`to_frames` took apart: factors, and the labels of their rows."""
    if WEIGHTS not in frames:
        raise ScoupError.expected(
            "frames", "tables of to_frames, with one called 'weights'", list(frames)
        )
    rest = [(name, frame) for name, frame in frames.items() if name != WEIGHTS]
    parts = [
        (frame.attrs, frame.to_numpy(), Labels(name, _plain(frame.index))) for name, frame in rest
    ]
    return _assemble(frames[WEIGHTS].to_numpy()[0], parts)


def to_xarray(factors: Factors, labels: Sequence[Labels] = ()) -> Any:
    """Return an ``xarray.Dataset`` with the weights and a variable for each factor over (its labels, component).

    >>> factors = Factors(np.array([2.0]), tuple(np.ones((2, 1)) for _ in range(3)))
    >>> found = to_xarray(factors, [Labels(name, np.array(["a", "b"])) for name in "xyz"])
    >>> found["factor_x"].sel(x="b", component=1).item()
    1.0
    """
    xarray = _module("xarray")
    coords: dict[str, Any] = {COMPONENT: np.arange(1, factors.rank + 1)}
    variables: dict[str, Any] = {WEIGHTS: (COMPONENT, np.asarray(factors.weights))}
    for label, values, part in zip(
        _named(factors, labels), _open(factors), _parts(factors), strict=True
    ):
        coords[label.name] = label.ids
        coords |= {
            f"{label.name}_{key}": (label.name, column) for key, column in label.columns.items()
        }
        variables[f"factor_{label.name}"] = ((label.name, COMPONENT), values, part)
    return xarray.Dataset(variables, coords)


def from_xarray(dataset: Any) -> tuple[Factors, list[Labels]]:
    """Put together what :func:`to_xarray` took apart: factors, and the labels of their rows with their columns."""
    parts = []
    for name, variable in dataset.data_vars.items():
        if name != WEIGHTS:
            owner = variable.dims[0]
            columns = {
                str(key).removeprefix(f"{owner}_"): np.asarray(column)
                for key, column in variable.coords.items()
                if key not in (owner, COMPONENT) and column.dims == (owner,)
            }
            parts.append(
                (
                    variable.attrs,
                    variable.to_numpy(),
                    Labels(owner, np.asarray(variable[owner]), columns),
                )
            )
    return _assemble(dataset[WEIGHTS].to_numpy(), parts)


def _named(factors: Factors, labels: Sequence[Labels]) -> list[Labels]:
    """Labels of all factors under names that differ; without any, indices stand for themselves."""
    found = list(labels) or [
        Labels(n, np.arange(len(f))) for n, f in zip(factors.names, factors.flat, strict=True)
    ]
    sizes, wanted = [len(label) for label in found], [len(factor) for factor in factors.flat]
    if sizes != wanted:
        raise ScoupError.expected("labels", f"one entry a factor, of sizes {wanted}", sizes)
    names = [label.name for label in found]
    again = [f"{name}_{n}" if names[:n].count(name) else name for n, name in enumerate(names)]
    return [
        Labels(name, label.ids, label.columns) for name, label in zip(again, found, strict=True)
    ]


def _open(factors: Factors) -> list[Array]:
    """Factor matrices with NaN in the rows that were never sampled."""
    return [
        np.where(seen[:, None], f, np.nan)
        for f, seen in zip(factors.flat, factors.coverage, strict=True)
    ]


def _parts(factors: Factors) -> list[dict[str, Any]]:
    return [{"side": 0, "mode": n} for n in range(len(factors.modes))] + [
        {"side": 1, "mode": m} for m in factors.owners
    ]


def _assemble(
    weights: Array, parts: Sequence[tuple[Mapping[str, Any], Array, Labels]]
) -> tuple[Factors, list[Labels]]:
    for attrs, _, label in parts:
        if not {"mode", "side"} <= set(attrs):
            raise ScoupError.expected(
                label.name, "attrs that say 'mode' and 'side', as scoup writes them", dict(attrs)
            )
    ordered = sorted(parts, key=lambda part: (part[0]["side"], part[0]["mode"]))
    flat = [np.nan_to_num(values) for _, values, _ in ordered]
    coverage = tuple(np.atleast_1d(np.isfinite(values).any(axis=1)) for _, values, _ in ordered)
    modes = [
        factor for factor, (attrs, _, _) in zip(flat, ordered, strict=True) if not attrs["side"]
    ]
    sides: dict[int, Any] = {}
    for factor, (attrs, _, _) in zip(flat, ordered, strict=True):
        if attrs["side"]:
            sides.setdefault(int(attrs["mode"]), []).append(factor)
    single = {mode: group[0] if len(group) == 1 else group for mode, group in sides.items()}
    return Factors(weights, tuple(modes), single, coverage), [label for _, _, label in ordered]


def _plain(index: pd.Index) -> Array:
    values = index.to_numpy()
    return values.astype(str) if values.dtype.hasobject else values


def volumes(factor: Array, voxels: Labels, grid: Sequence[int]) -> Array:
    """Put the rows of a voxel mode's factor (I, F) at their places: (F, x, y, z), zero where there is no voxel.

    >>> voxels = Labels("voxel", np.arange(2), {"x": np.array([0, 1]), "y": np.array([0, 0]), "z": np.array([0, 0])})
    >>> volumes(np.array([[3.0], [4.0]]), voxels, (2, 1, 1)).ravel().tolist()
    [3.0, 4.0]
    """
    placed = np.zeros((factor.shape[1], *grid), dtype=np.float32)
    x, y, z = _places(voxels)
    placed[:, x, y, z] = factor.T
    return placed


def _places(voxels: Labels) -> tuple[Array, ...]:
    missing = [axis for axis in "xyz" if axis not in voxels.columns]
    if missing:
        raise ScoupError.expected(
            f"labels of {voxels.name}", "columns x, y and z", f"none called {missing[0]}"
        )
    return tuple(np.asarray(voxels.columns[axis]) for axis in "xyz")


def image(values: Array, voxel_mm: Sequence[float], name: str) -> Any:
    """Make a NIfTI image of one component on the grid (x, y, z); the origin is the middle of the grid.

    The public grid comes without a registration: places are comparable between components, not with an atlas,
    and the header says so.
    """
    affine = np.diag([*voxel_mm, 1.0])
    affine[:3, 3] = -np.array(voxel_mm) * (np.array(values.shape) - 1) / 2
    made = _module("nibabel").Nifti1Image(np.asarray(values, dtype=np.float32), affine)
    made.header["descrip"] = f"{name}: {WARNING}"[:79].encode()
    made.header.set_xyzt_units("mm")
    made.set_sform(affine, code=1)  # scanner space: no atlas is meant
    made.set_qform(affine, code=1)
    return made


def to_nifti(values: Array, voxel_mm: Sequence[float], name: str) -> bytes:
    """Return a ``.nii.gz`` of one component (x, y, z); the same values give the same bytes."""
    return gzip.compress(image(values, voxel_mm, name).to_bytes(), mtime=0)


def from_nifti(content: bytes, voxels: Labels) -> Array:
    """Read the column (I,) of a voxel mode's factor back from a ``.nii.gz``."""
    read = _module("nibabel").Nifti1Image.from_bytes(gzip.decompress(content))
    return read.get_fdata(dtype=np.float32)[_places(voxels)]


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ScoupError(
            f"{name} is not installed; install it (pip install {name}) to convert factors."
        ) from None
