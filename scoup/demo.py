"""``scoup demo``: two small files, three components, one figure."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from scoup import kernels
from scoup.estimators import CMTF
from scoup.extras import MissingPackageError
from scoup.factors import upright
from scoup.interop import to_frames
from scoup.layout import command_name, project_folder
from scoup.reading import read

FIGURE = Path("scoup-demo.svg")
RANK = 3  # as docs/tutorial.md finds out
SHOWN = ("hour", "day", "surroundings")


def compiles_first() -> bool:
    """Whether no kernel has been compiled by this Python yet; ``make setup`` does it beforehand."""
    tag = f"py{sys.version_info.major}{sys.version_info.minor}"
    return not any(Path(kernels.__file__).parent.glob(f"__pycache__/*.{tag}*.nbi"))


def demo() -> str:
    """Factorize the bicycle trips of the tutorial, draw the components, and say what they show."""
    folder = project_folder() / "docs" / "bikes"
    data = read(folder / "trips.csv", folder / "surroundings.csv", value="trips")
    model = CMTF(rank=RANK).fit(data.with_weights("balanced"))
    tables = to_frames(upright(model.factors_), model.labels_)
    found = explanation(data.shape, model.report_.block_fits["tensor"], tables)
    return f"{found}{draw(model)}; your own files next: {command_name()} inspect TENSOR MATRIX\n"


def draw(model: CMTF) -> str:
    """Draw the components and say where; the library alone comes without matplotlib."""
    try:
        from scoup import plot
    except MissingPackageError as missing:
        return f"no figure: {str(missing).removesuffix('.')}"
    plot.save(plot.components(model, SHOWN, "simulated data: bikes"), FIGURE)
    return f"made: {FIGURE} (open it)"


def explanation(shape: tuple[int, ...], share: float, tables: Mapping[str, pd.DataFrame]) -> str:
    """Say in two lines what was factorized and what was found."""
    stations, hours, days = shape
    peaks = [
        [str(tables[name][component].idxmax()) for name in SHOWN] for component in tables["day"]
    ]
    habits = "; ".join(f"{day.split()[-1]} {hour}:00 near {near}" for hour, day, near in peaks)
    return (
        f"data: simulated bicycle trips, {stations} stations x {hours} hours x {days} days, "
        "coupled with what surrounds each station\n"
        f"found: {RANK} habits that explain {share:.0%} of the trips: {habits}\n"
    )
