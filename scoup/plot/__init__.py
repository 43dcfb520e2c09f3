"""Figures: the only door to matplotlib. What a figure shows stands in its experiment's folder.

``components``, ``losses`` and ``match`` draw fitted models; each returns a matplotlib figure.
"""

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from scoup import store
from scoup.evidence import Metric
from scoup.experiments import drawing
from scoup.plot import style
from scoup.plot.door import Figure, rcParams

if TYPE_CHECKING:
    from scoup.plot.models import components, losses, match

__all__ = ["components", "draw", "losses", "match", "save"]

# No date and no random ids: the same metrics give the same file.
METADATA = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None, "ModDate": None},
    "png": {"Software": None},
}


def draw(name: str, metrics: Sequence[Metric], material: Sequence[Any] = ()) -> Figure:
    """Draw a figure that an experiment declares, and say on it whether the data is simulated.

    ``material`` holds a pair (facts, arrays) for each data set. A figure that shows anything but
    medians and quartiles over seeds says so in the ``SEEDS_NOTE`` of its module.
    """
    module = drawing(name)
    with style.applied():
        figure: Figure = getattr(module, name)(metrics, material)
        style.mark(figure, metrics, getattr(module, "SEEDS_NOTE", style.SEEDS_NOTE))
    return figure


def save(figure: Figure, *paths: store.PathLike) -> None:
    """Write a figure to files, each in the format of its suffix, and whole or not at all."""
    with style.applied():
        # Laid out and measured once: by default, matplotlib does both twice for every file.
        if engine := figure.get_layout_engine():
            engine.execute(figure)
        figure.set_layout_engine(None)
        box = figure.get_tightbbox().padded(rcParams["savefig.pad_inches"])
        for path in paths:
            kind = str(path).rsplit(".", 1)[1]
            with store.atomic(path) as temporary:
                figure.savefig(temporary, format=kind, metadata=METADATA[kind], bbox_inches=box)


def load() -> None:
    """Draw a small figure in every format: what matplotlib loads on first use is then loaded.

    Forks of this process start with it: fonts, what writes a format, what reads formulas.
    """
    with style.applied():
        figure, grid = style.panels(1)
        style.letter(grid)
        grid[0, 0].set(xlabel="$10^{5}$", xlim=(1, 1000))
        style.plain_log(grid[0, 0].xaxis)
        for kind in METADATA:
            figure.savefig(BytesIO(), format=kind)


def __getattr__(name: str) -> Any:
    """Load a figure of models on first use: jobs that draw metrics need no estimator."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from scoup.plot import models

    return getattr(models, name)
