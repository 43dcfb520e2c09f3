"""Latent brain images: slices of the subjects' grid, and projections along its axes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from scoup.interop import image

Array = NDArray[Any]


def slices(values: Array, voxel_mm: Sequence[float], name: str, count: int = 7) -> Figure:
    """Draw horizontal slices of one component by nilearn, on no template: none is registered to these grids."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # nilearn warns of images without a template, which is what is meant
        from nilearn import plotting

        drawn = pyplot.figure(figsize=(9, 1.9))
        limit = float(np.quantile(np.abs(values[values != 0]), 0.995)) if values.any() else 1.0
        height = values.shape[2] * voxel_mm[2] / 2
        filled = (
            np.flatnonzero((values != 0).any(axis=(0, 1)))
            if values.any()
            else np.arange(values.shape[2])
        )
        places = (
            np.linspace(filled[0], filled[-1], count + 2)[1:-1].round() * voxel_mm[2]
            - height
            + voxel_mm[2] / 2
        )
        shown = image(np.where(values != 0, values, np.nan), voxel_mm, name)
        look = {
            "cmap": "PuOr_r",
            "vmin": -limit,
            "vmax": limit,
            "colorbar": True,
            "black_bg": False,
            "draw_cross": False,
        }
        plotting.plot_img(
            shown, display_mode="z", cut_coords=sorted(set(places)), figure=drawn, **look
        )
        pyplot.close(drawn)
    return drawn


def projection(
    axes: Axes, values: Array, voxel_mm: Sequence[float], along: int, limit: float
) -> Any:
    """Draw the strongest value along one axis of the grid, positive and negative, with the outline of the head."""
    place = np.abs(values).argmax(axis=along)
    strongest = np.take_along_axis(values, np.expand_dims(place, along), along).squeeze(along)
    rest = [axis for axis in range(3) if axis != along]
    size = [values.shape[axis] * voxel_mm[axis] for axis in rest]
    box = (0.0, float(size[0]), 0.0, float(size[1]))
    inside = (values != 0).any(axis=along).T
    drawn = axes.imshow(
        np.where(inside, strongest.T, np.nan),
        origin="lower",
        extent=box,
        cmap="PuOr_r",
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
    return drawn
