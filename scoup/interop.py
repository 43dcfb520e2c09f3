"""Factors for other libraries: TensorLy, pandas, xarray and NIfTI.

xarray and nibabel are imported when they are used. Ids of labels become the index of a table and
the coordinates of an array. Rows that were never sampled are NaN in tables and arrays, so that they
are not mistaken for zeros.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from scoup import store
from scoup.errors import ScoupError
from scoup.project import dictionary
from scoup.records import Array, Factors, Labels

WARNING = "subjects' own grid; no registration to any atlas"
COMPONENT, WEIGHTS = "component", "weights"
NIFTI_DESCRIPTION_BYTES = 79


def to_tensorly(
    factors: Factors, mode: int | None = None, position: int = 0
) -> tuple[Array, list[Array]]:
    """Return the tensor as TensorLy's ``(weights, factors)``, or the matrix on ``mode`` if given.

    >>> factors = Factors(np.array([2.0]), tuple(np.ones((n, 1)) for n in (2, 3, 4)))
    >>> weights, matrices = to_tensorly(factors)
    >>> weights.tolist(), [matrix.shape for matrix in matrices]
    ([2.0], [(2, 1), (3, 1), (4, 1)])
    """
    if mode is None:
        return np.array(factors.weights), [np.array(factor) for factor in factors.modes]
    side = dictionary(factors, mode, position=position)
    return np.ones(factors.rank), [np.array(factors.modes[mode]), np.array(side)]


def from_tensorly(tensor: Any, matrices: Mapping[int, Any] | None = None) -> Factors:
    """Read a CP tensor ``(weights, factors)`` and the matrices coupled to it.

    A matrix on a mode is ``{mode: (weights, [the mode's factor, side factor])}``. Its first factor
    must be the tensor's up to the scale of the columns, which moves to the side factor.

    >>> cp = (None, [np.ones((n, 1)) for n in (2, 3, 4)])
    >>> matrix = (np.array([5.0]), [np.ones((2, 1)), np.ones((6, 1))])
    >>> from_tensorly(cp, {0: matrix}).flat[3][0].tolist()
    [5.0]
    """
    weights, modes = _read_cp("tensor", tensor)
    sides = {}
    for mode, matrix in sorted((matrices or {}).items()):
        if not 0 <= mode < len(modes):
            raise ScoupError.expected("matrices", f"modes from 0 to {len(modes) - 1}", mode)
        scales, (shared, side) = _read_cp(f"matrices[{mode}]", matrix)
        sides[mode] = side * scales * _column_ratio(mode, shared, modes[mode])
    return Factors(weights, tuple(modes), sides)


def _read_cp(name: str, pair: Any) -> tuple[Array, list[Array]]:
    try:
        weights, factors = pair
        arrays = [np.asarray(factor, dtype=np.float64) for factor in factors]
    except (TypeError, ValueError):
        raise ScoupError.expected(name, "a pair (weights, factors)", type(pair).__name__) from None
    if weights is None:
        return np.ones(arrays[0].shape[1]), arrays
    return np.asarray(weights, dtype=np.float64), arrays


def _column_ratio(mode: int, shared: Array, factor: Array) -> Array:
    """Return the ratio with ``shared = factor * ratio``, or refuse factors that are not coupled."""
    if shared.shape == factor.shape:
        squares = np.einsum("if,if->f", factor, factor)
        safe = np.where(squares > 0, squares, 1.0)
        ratio = np.einsum("if,if->f", shared, factor) / safe
        rounding = 1e-9 * np.abs(shared).max(initial=0)
        if np.allclose(shared, factor * ratio, rtol=1e-6, atol=rounding):
            return ratio
    raise ScoupError.expected(
        f"matrices[{mode}]",
        f"the tensor's factor of mode {mode} up to the scale of columns",
        "another one",
    )


def to_frames(factors: Factors, labels: Sequence[Labels] = ()) -> dict[str, pd.DataFrame]:
    """Return the weights and one table per factor: rows named by ``labels``, columns 1 to F.

    >>> factors = Factors(np.array([2.0]), tuple(np.ones((2, 1)) for _ in range(3)))
    >>> labels = [Labels(name, np.array(["a", "b"])) for name in "xyz"]
    >>> to_frames(factors, labels)["x"].loc["b", 1].item()
    1.0
    """
    columns = pd.RangeIndex(1, factors.rank + 1, name=COMPONENT)
    frames = {WEIGHTS: pd.DataFrame([factors.weights], index=[WEIGHTS], columns=columns)}
    for label, values in _labelled_rows(factors, labels):
        index = pd.Index(label.ids, name=label.name)
        frames[label.name] = pd.DataFrame(values, index=index, columns=columns)
    return frames


def to_xarray(factors: Factors, labels: Sequence[Labels] = ()) -> Any:
    """Return an ``xarray.Dataset``: the weights, and each factor over (its labels, component).

    >>> factors = Factors(np.array([2.0]), tuple(np.ones((2, 1)) for _ in range(3)))
    >>> labels = [Labels(name, np.array(["a", "b"])) for name in "xyz"]
    >>> to_xarray(factors, labels)["factor_x"].sel(x="b", component=1).item()
    1.0
    """
    coords: dict[str, Any] = {COMPONENT: np.arange(1, factors.rank + 1)}
    variables: dict[str, Any] = {WEIGHTS: (COMPONENT, np.asarray(factors.weights))}
    for label, values in _labelled_rows(factors, labels):
        coords[label.name] = label.ids
        for key, column in label.columns.items():
            coords[f"{label.name}_{key}"] = (label.name, column)
        variables[f"factor_{label.name}"] = ((label.name, COMPONENT), values)
    return _module("xarray").Dataset(variables, coords)


def _labelled_rows(factors: Factors, labels: Sequence[Labels]) -> list[tuple[Labels, Array]]:
    """Return each factor with unique labels; rows that were never sampled are NaN."""
    labels = list(labels) or [
        Labels(name, np.arange(len(factor)))
        for name, factor in zip(factors.names, factors.flat, strict=True)
    ]
    sizes, expected = [len(label) for label in labels], [len(factor) for factor in factors.flat]
    if sizes != expected:
        raise ScoupError.expected("labels", f"one entry per factor, of sizes {expected}", sizes)
    rows, names = [], [label.name for label in labels]
    for n, (label, factor) in enumerate(zip(labels, factors.flat, strict=True)):
        name = f"{label.name}_{n}" if label.name in names[:n] else label.name
        values = np.where(factors.coverage[n][:, None], factor, np.nan)
        rows.append((Labels(name, label.ids, label.columns), values))
    return rows


def volumes(factor: Array, voxels: Labels, grid: Sequence[int]) -> Array:
    """Place the rows of a voxel mode's factor (I, F) on the grid: (F, x, y, z), zero elsewhere.

    >>> zeros = np.zeros(2, int)
    >>> voxels = Labels("voxel", np.arange(2), {"x": np.array([0, 1]), "y": zeros, "z": zeros})
    >>> volumes(np.array([[3.0], [4.0]]), voxels, (2, 1, 1)).ravel().tolist()
    [3.0, 4.0]
    """
    for axis in "xyz":
        if axis not in voxels.columns:
            raise ScoupError.expected(
                f"labels of {voxels.name}", "columns x, y and z", f"none called {axis}"
            )
    x, y, z = (np.asarray(voxels.columns[axis]) for axis in "xyz")
    maps = np.zeros((factor.shape[1], *grid), dtype=np.float32)
    maps[:, x, y, z] = factor.T
    return maps


def image(values: Array, voxel_mm: Sequence[float], name: str) -> Any:
    """Return a NIfTI image of one component (x, y, z) with the origin in the middle of the grid.

    The public grid is not registered: positions are comparable between components but not with an
    atlas, and the header says so.
    """
    affine = np.diag([*voxel_mm, 1.0])
    affine[:3, 3] = -np.array(voxel_mm) * (np.array(values.shape) - 1) / 2
    nifti = _module("nibabel").Nifti1Image(np.asarray(values, dtype=np.float32), affine)
    nifti.header["descrip"] = f"{name}: {WARNING}"[:NIFTI_DESCRIPTION_BYTES].encode()
    nifti.header.set_xyzt_units("mm")
    nifti.set_sform(affine, code=1)  # scanner space, not an atlas
    nifti.set_qform(affine, code=1)
    return nifti


def to_nifti(values: Array, voxel_mm: Sequence[float], name: str) -> bytes:
    """Return a ``.nii.gz`` of one component (x, y, z); the same values give the same bytes."""
    return store.packed(image(values, voxel_mm, name).to_bytes())


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ScoupError(
            f"{name} is not installed; install it (pip install {name}) to convert factors."
        ) from None
