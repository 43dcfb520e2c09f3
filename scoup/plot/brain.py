"""Latent brain images: slices of the subjects' grid, and projections along its axes."""

import warnings
from collections.abc import Sequence

import numpy as np

from scoup.extras import extra
from scoup.interop import image
from scoup.plot.door import Axes, Figure
from scoup.records import Array

COLOUR_MAP = "PuOr_r"


def slices(values: Array, voxel_mm: Sequence[float], name: str, count: int = 7) -> Figure:
    """Draw ``count`` horizontal slices of one component, without a template.

    The grids are not registered to any atlas.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nilearn warns that there is no template
        with extra("workflow"):
            from nilearn import plotting

        figure = Figure(figsize=(9, 1.9))
        limit = colour_limit(values)
        plotting.plot_img(
            image(np.where(values != 0, values, np.nan), voxel_mm, name),
            display_mode="z",
            cut_coords=_heights(values, voxel_mm[2], count),
            figure=figure,
            cmap=COLOUR_MAP,
            vmin=-limit,
            vmax=limit,
            colorbar=True,
            black_bg=False,
            draw_cross=False,
        )
    return figure


def colour_limit(values: Array) -> float:
    """Return the size at which colours saturate: nearly the largest, so that no outlier sets it."""
    return float(np.quantile(np.abs(values[values != 0]), 0.995)) if values.any() else 1.0


def _heights(values: Array, voxel_mm: float, count: int) -> list[float]:
    """Return the heights in mm, from the centre of the grid, of slices spread over the voxels."""
    depth = values.shape[2]
    filled = np.flatnonzero((values != 0).any(axis=(0, 1))) if values.any() else np.arange(depth)
    levels = np.linspace(filled[0], filled[-1], count + 2)[1:-1].round()
    return sorted(set(levels * voxel_mm - depth * voxel_mm / 2 + voxel_mm / 2))


def projection(
    axes: Axes, values: Array, voxel_mm: Sequence[float], along: int, limit: float
) -> None:
    """Draw the strongest value, of either sign, along one axis of the grid, and the outline."""
    level = np.abs(values).argmax(axis=along)
    strongest = np.take_along_axis(values, np.expand_dims(level, along), along).squeeze(along)
    size = [values.shape[axis] * voxel_mm[axis] for axis in range(3) if axis != along]
    inside = (values != 0).any(axis=along).T
    axes.imshow(
        np.where(inside, strongest.T, np.nan),
        origin="lower",
        extent=(0.0, float(size[0]), 0.0, float(size[1])),
        cmap=COLOUR_MAP,
        vmin=-limit,
        vmax=limit,
        interpolation="nearest",
    )
    if inside.any() and not inside.all():
        x, y = (np.linspace(0, s, n) for s, n in zip(size, strongest.shape, strict=True))
        axes.contour(x, y, inside.astype(float), levels=[0.5], colors="0.5", linewidths=0.6)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)
