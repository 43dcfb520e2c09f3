"""One section per component: both of its ends, and its image as a picture and a NIfTI file."""

import io
from collections.abc import Mapping
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
    images = arrays.get("maps", [None] * len(facts["components"]))
    files: dict[str, bytes] = {}
    sections = []
    for component, image in zip(facts["components"], images, strict=True):
        number = component["component"]
        picture = b""
        if image is not None:
            picture, nifti = _picture(image, facts["voxel_mm"], f"component{number}")
            files[f"component{number}.nii.gz"] = nifti
        sections.append(_section(component, facts["names"], picture))
    title = f"Components of {facts['dataset']}"
    return {"index.html": report.experiment_page(title, sections, facts), **files}


def _picture(image: Array, voxel_mm: Any, name: str) -> tuple[bytes, bytes]:
    values, buffer = np.asarray(image), io.BytesIO()
    figure = brain.slices(values, voxel_mm, name)
    figure.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    return buffer.getvalue(), to_nifti(values, voxel_mm, name)


def _section(component: Facts, names: Any, picture: bytes) -> report.Section:
    number, loadings = component["component"], component["loadings"]
    strongest = _strongest(loadings)
    count = (
        f", strongest {len(strongest)} of {len(loadings)}" if len(strongest) < len(loadings) else ""
    )
    rows = [[label, loading] for label, loading in strongest.items()]
    return report.Section(
        heading=f"Component {number}",
        text=f"Latent image of component {number}: {WARNING}." if picture else "",
        picture=picture,
        files=[f"component{number}.nii.gz"] if picture else [],
        tables=[
            report.Table.of(_members(component, names[:2])),
            report.Table([names[2], "loading"], rows, f"loading per {names[2]}{count}"),
        ],
    )


def _strongest(loadings: Mapping[str, float]) -> dict[str, float]:
    """Return all loadings in their order, or the strongest of many."""
    if len(loadings) <= MAX_LOADINGS:
        return dict(loadings)
    order = sorted(loadings.items(), key=lambda pair: -abs(pair[1]))
    return dict(order[:MAX_LOADINGS])


def _members(component: Facts, names: Any) -> list[dict[str, Any]]:
    return [
        {
            "end": sign,
            "what": name,
            "name": member["name"],
            "category": member.get("category", ""),
            "score": member["score"],
        }
        for sign, end in component["ends"].items()
        for name in names
        for member in end[name]
    ]
