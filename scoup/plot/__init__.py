"""Figures: one module each, ``figure(metrics) -> Figure``; this is the only door to matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from matplotlib import rcParams
from matplotlib.figure import Figure

from scoup import store
from scoup.measures import Metric
from scoup.plot import style

# No date and no random ids: the same metrics give the same file.
METADATA = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None, "ModDate": None},
    "png": {"Software": None},
}


def draw(name: str, metrics: Sequence[Metric], material: Sequence[Any] = ()) -> Figure:
    """Draw the figure ``scoup.plot.<name>`` and say on it whether the data is simulated.

    A figure that shows anything but medians and quartiles of its seeds says so in ``SEEDS``.
    ``material`` are pairs (facts, arrays) of an experiment that leaves more to look at than metrics.
    """
    with style.applied():
        module = import_module(f"scoup.plot.{name}")
        figure: Figure = module.figure(metrics, material) if material else module.figure(metrics)
        style.mark(figure, metrics, getattr(module, "SEEDS", style.SEEDS))
    return figure


def save(figure: Figure, *paths: store.PathLike) -> None:
    """Write a figure to files of the formats that their names end in, each whole or not at all."""
    with style.applied():
        # Laid out and measured once: left to itself, matplotlib does both twice for every file.
        figure.draw_without_rendering()
        figure.set_layout_engine(None)
        box = figure.get_tightbbox().padded(rcParams["savefig.pad_inches"])
        for path in paths:
            kind = str(path).rsplit(".", 1)[1]
            with store.atomic(path) as temporary:
                figure.savefig(temporary, format=kind, metadata=METADATA[kind], bbox_inches=box)
