"""Lay the recordings out as nouns x voxels x subjects, with the questions on the nouns."""

from collections.abc import Iterable, Sequence
from math import prod
from pathlib import Path

import numpy as np

from scoup.coupled import CoupledData, Dataset
from scoup.datasets.brainq import Options
from scoup.datasets.brainq.read import Questions, Subject, read_questions, read_subject
from scoup.datasets.brainq.study import (
    CATEGORY_OF,
    NOUNS,
    QUESTIONS_FILE,
    VOXEL_MM,
    subject_file,
)
from scoup.errors import ScoupError
from scoup.machine import require_dense
from scoup.records import Array, Labels, Provenance

Grid = tuple[int, int, int]


def couple(folder: Path, options: Options, provenance: Provenance) -> Dataset:
    """Read the files of the chosen subjects and couple them with the questions."""
    questions = read_questions(folder / QUESTIONS_FILE)
    # A generator, so that only one subject (60 MB) is in memory at a time.
    subjects = (read_subject(folder / subject_file(name)) for name in options.subjects)
    return couple_subjects(subjects, questions, options, provenance)


def couple_subjects(
    subjects: Iterable[Subject],
    questions: Questions,
    options: Options,
    provenance: Provenance | None = None,
) -> Dataset:
    """Return the means over presentations as a (60, voxels, subjects) tensor, with the questions.

    The extras hold the perceptual measures and, for each subject, the presentations (6, 60, V) and
    their rows of the tensor.
    """
    means: list[Array] = []
    positions: list[Array] = []
    extras: dict[str, Array] = {}
    grid: Grid | None = None
    for name, recorded in zip(options.subjects, subjects, strict=True):
        subject = thin_out(recorded, options.thin)
        grid = _common_grid(subject, options.extra_slices, grid)
        means.append(subject.values.mean(axis=0))
        positions.append(np.ravel_multi_index(tuple(subject.coords.T), grid))
        if options.presentations:
            extras[f"presentations.{name}"] = subject.values.astype(np.float32)
    assert grid is not None
    voxels = (
        np.arange(prod(grid)) if options.grid == "paper" else np.unique(np.concatenate(positions))
    )
    rows = [np.searchsorted(voxels, position) for position in positions]
    tensor, mask = _lay_out(means, rows, voxels.size, missing=options.outside == "missing")
    for name, row in zip(options.subjects, rows, strict=True):
        extras[f"rows.{name}"] = row.astype(np.int32)
    labels = (
        noun_labels(),
        _voxel_labels(voxels, grid),
        Labels("subject", np.array(options.subjects)),
        Labels("question", questions.questions),
    )
    facts = {
        "grid": grid,
        "voxel_mm": [options.thin * length for length in VOXEL_MM],
        "order": "C",
        "outside": options.outside,
        "layout": options.grid,
    }
    data = CoupledData(tensor, {0: questions.answers}, mask)
    extras |= {"grid": np.array(grid), "perceptual": questions.perceptual}
    return Dataset(data, labels, provenance, extras, facts)


def thin_out(subject: Subject, step: int) -> Subject:
    """Keep the voxels at every ``step``-th position along each axis, on the grid of these."""
    if step == 1:
        return subject
    inside = (subject.coords % step == 0).all(axis=1)
    if not inside.any():
        raise ScoupError.expected("thin", "a step that leaves voxels", step)
    x, y, z = (-(-length // step) for length in subject.grid)
    coords, values = subject.coords[inside] // step, subject.values[:, :, inside]
    return Subject(subject.name, (x, y, z), coords, values)


def noun_labels() -> Labels:
    """Return the nouns with their categories."""
    categories = np.array([CATEGORY_OF[noun] for noun in NOUNS])
    return Labels("noun", np.array(NOUNS), {"category": categories}, "thing")


def _common_grid(subject: Subject, extra_slices: int, grid: Grid | None) -> Grid:
    x, y, z = subject.grid
    extended = (x, y, z + extra_slices)
    if grid not in (None, extended):
        raise ScoupError.expected(
            f"subject {subject.name}", f"the grid of the others {grid}", f"{extended}"
        )
    return extended


def _lay_out(
    means: Sequence[Array], rows: Sequence[Array], voxel_count: int, missing: bool
) -> tuple[Array, Array | None]:
    """Put the voxels of each subject into their rows; without ``missing`` there is no mask."""
    shape = (len(NOUNS), voxel_count, len(means))
    require_dense("tensor", shape, np.float64, 2.5 if missing else 1.5)
    tensor = np.zeros(shape)
    mask = np.zeros(shape, dtype=bool) if missing else None
    for number, (mean, row) in enumerate(zip(means, rows, strict=True)):
        tensor[:, row, number] = mean
        if mask is not None:
            mask[:, row, number] = True
    return tensor, mask


def _voxel_labels(voxels: Array, grid: Grid) -> Labels:
    axes = zip("xyz", np.unravel_index(voxels, grid), strict=True)
    columns = {name: position.astype(np.int32) for name, position in axes}
    return Labels("voxel", voxels.astype(np.int32), columns, "feature")
