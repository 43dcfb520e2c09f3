"""One section per component: its ends, and its image as a picture and a NIfTI file."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scoup import report
from scoup.interop import WARNING, to_nifti
from scoup.plot import brain
from scoup.records import Array

Facts = Mapping[str, Any]
MAX_LOADINGS = 30


def page(facts: Facts, arrays: Mapping[str, Array]) -> dict[str, bytes]:
    """Return the files of the page by name."""
    sections, files = [], {}
    for position, component in enumerate(facts["components"]):
        number = component["component"]
        look: dict[str, Any] = {}
        if "maps" in arrays:
            name, image = f"component{number}", np.asarray(arrays["maps"][position])
            files[f"{name}.nii.gz"] = to_nifti(image, facts["voxel_mm"], name)
            look = {
                "text": f"Latent image of component {number}: {WARNING}.",
                "picture": _png(image, facts["voxel_mm"], name),
                "files": [f"{name}.nii.gz"],
            }
        tables = [_ends(component, facts["names"][:2]), _loadings(component, facts["names"][2])]
        sections.append(report.Section(f"Component {number}", tables=tables, **look))
    for component in facts.get("nonnegative", {}).get("components", []):
        tables = [_ends(component, facts["names"][:2]), _loadings(component, facts["names"][2])]
        title = f"Non-negative component {component['component']}"
        sections.append(report.Section(title, tables=tables))
    title = f"Components of {facts['dataset']}"
    return {"index.html": report.experiment_page(title, sections, facts), **files}


def _png(image: Array, voxel_mm: Sequence[float], name: str) -> bytes:
    buffer = io.BytesIO()
    figure = brain.slices(image, voxel_mm, name)
    figure.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    return buffer.getvalue()


def _ends(component: Facts, names: Sequence[str]) -> report.Table:
    rows = [
        [sign, name, member["name"], member.get("category", ""), member["score"]]
        for sign, end in component["ends"].items()
        for name in names
        for member in end[name]
    ]
    return report.Table(["end", "what", "name", "category", "score"], rows)


def _loadings(component: Facts, name: str) -> report.Table:
    """Return all loadings in their order, or the strongest of many."""
    rows, caption = list(component["loadings"].items()), f"loading per {name}"
    if len(rows) > MAX_LOADINGS:
        caption += f", strongest {MAX_LOADINGS} of {len(rows)}"
        rows = sorted(rows, key=lambda row: -abs(row[1]))[:MAX_LOADINGS]
    return report.Table([name, "loading"], rows, caption)
