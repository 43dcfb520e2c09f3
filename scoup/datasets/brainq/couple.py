"""BrainQ: nouns x voxels x subjects, with the answers to questions about the nouns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.coupled import CoupledData, Dataset
from scoup.datasets import SUBJECTS
from scoup.errors import ScoupError
from scoup.memory import require_dense
from scoup.raw.brainq import CATEGORY_OF, EPOCHS, NOUNS, VOXEL_MM, Questions, Subject
from scoup.records import Labels, Provenance

Array = NDArray[Any]


@dataclass(frozen=True)
class BrainqOptions:
    """How subjects are laid on one voxel mode.

    ``grid``: ``paper`` keeps every place of the grid (77,775 = 51 x 61 x 25 rows, ``extra_slices`` empty ones
    added at the top), ``compact`` only places that are in some subject's mask. ``outside``: cells outside a
    subject's mask are ``zero`` as in the paper, or ``missing``. ``presentations``: keep the six presentations of
    each noun for the choice of stable voxels. ``subjects``: which of P1 to P9. ``thin``: keep only every so many-th
    place along each axis of the grid, for a portion of the data.
    """

    grid: str = "paper"
    outside: str = "zero"
    presentations: bool = True
    subjects: Sequence[str] = SUBJECTS
    extra_slices: int = 2
    thin: int = 1

    def __post_init__(self) -> None:
        _one_of("grid", self.grid, ("paper", "compact"))
        _one_of("outside", self.outside, ("zero", "missing"))
        if not isinstance(self.presentations, bool):
            raise ScoupError.expected("presentations", "true or false", repr(self.presentations))
        for name, lowest in (("extra_slices", 0), ("thin", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < lowest:
                raise ScoupError.expected(name, f"{lowest} or more", repr(value))
        wrong = [subject for subject in self.subjects if subject not in SUBJECTS]
        if wrong or not self.subjects or len(set(self.subjects)) != len(self.subjects):
            raise ScoupError.expected(
                "subjects", f"different ones among {', '.join(SUBJECTS)}", list(self.subjects)
            )


@dataclass(frozen=True)
class ExcerptOptions:
    """Which subject of the fMRI excerpt to take; its voxels are no other subject's."""

    subject: str = "P1"


def _one_of(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ScoupError.expected(name, f"one of {', '.join(allowed)}", repr(value))


def couple_brainq(
    subjects: Iterable[Subject],
    questions: Questions,
    options: BrainqOptions,
    provenance: Provenance | None = None,
) -> Dataset:
    """Return the mean over presentations as a (60, voxels, subjects) tensor, with the questions on the nouns."""
    means: list[Array] = []
    rows: list[Array] = []
    kept: dict[str, Array] = {}
    grid: tuple[int, ...] = ()
    for number, whole in enumerate(subjects):
        subject = thin_out(whole, options.thin)
        shape = (*subject.grid[:2], subject.grid[2] + options.extra_slices)
        grid = _same_grid(subject, shape, grid)
        means.append(subject.values.mean(axis=0))
        rows.append(np.ravel_multi_index(tuple(subject.coords.T), grid))
        if options.presentations:
            kept[f"presentations.{options.subjects[number]}"] = subject.values.astype(np.float32)
    places = np.arange(prod(grid)) if options.grid == "paper" else np.unique(np.concatenate(rows))
    rows = [np.searchsorted(places, row) for row in rows]
    tensor, mask = _lay_out(means, rows, places.size, options)
    data = CoupledData(tensor, {0: questions.answers}, mask)
    kept |= {
        f"rows.{subject}": row.astype(np.int32)
        for subject, row in zip(options.subjects, rows, strict=True)
    }
    labels = (
        *_noun_labels(),
        _voxel_labels(places, grid),
        _labels("subject", options.subjects),
        _asked(questions),
    )
    facts = {
        "grid": grid,
        "voxel_mm": [options.thin * size for size in VOXEL_MM],
        "order": "C",
        "outside": options.outside,
        "layout": options.grid,
    }
    return Dataset(data, labels, provenance, {"grid": np.array(grid), **kept}, facts)


def thin_out(subject: Subject, step: int) -> Subject:
    """Keep the voxels at every ``step``-th place along each axis, on the grid of those places."""
    if step == 1:
        return subject
    kept = (subject.coords % step == 0).all(axis=1)
    if not kept.any():
        raise ScoupError.expected("thin", "a step that leaves voxels", step)
    x, y, z = (-(-size // step) for size in subject.grid)
    return Subject(
        subject.name, (x, y, z), subject.coords[kept] // step, subject.values[:, :, kept]
    )


def _same_grid(subject: Subject, shape: tuple[int, ...], grid: tuple[int, ...]) -> tuple[int, ...]:
    if grid and grid != shape:
        raise ScoupError.expected(
            f"subject {subject.name}", f"the grid of the others {grid}", f"{shape}"
        )
    return shape


def _lay_out(
    means: Sequence[Array], rows: Sequence[Array], voxels: int, options: BrainqOptions
) -> tuple[Array, Array | None]:
    """Put each subject's voxels in their rows; the mask is None where cells outside count as zeros."""
    shape = (len(NOUNS), voxels, len(means))
    require_dense("tensor", shape, np.float64, 1.5 if options.outside == "zero" else 2.5)
    tensor = np.zeros(shape)
    mask = np.zeros(shape, dtype=bool) if options.outside == "missing" else None
    for number, (mean, row) in enumerate(zip(means, rows, strict=True)):
        tensor[:, row, number] = mean
        if mask is not None:
            mask[:, row, number] = True
    return tensor, mask


def _noun_labels() -> tuple[Labels]:
    return (
        Labels(
            "noun", np.array(NOUNS), {"category": np.array([CATEGORY_OF[noun] for noun in NOUNS])}
        ),
    )


def _voxel_labels(places: Array, grid: tuple[int, ...]) -> Labels:
    x, y, z = np.unravel_index(places, grid)
    columns = {name: axis.astype(np.int32) for name, axis in zip("xyz", (x, y, z), strict=True)}
    return Labels("voxel", places.astype(np.int32), columns)


def _labels(name: str, ids: Sequence[str]) -> Labels:
    return Labels(name, np.array(list(ids)))


def _asked(questions: Questions) -> Labels:
    return Labels("question", np.asarray(questions.questions))


def couple_excerpt(
    values: Array,
    questions: Questions,
    options: ExcerptOptions,
    provenance: Provenance | None = None,
) -> Dataset:
    """Return one subject's (60, V) values as a (60, V, 1) tensor with the questions on the nouns."""
    data = CoupledData(values[:, :, None], {0: questions.answers})
    voxels = Labels("voxel", np.arange(values.shape[1], dtype=np.int32))
    labels = (*_noun_labels(), voxels, _labels("subject", [options.subject]), _asked(questions))
    return Dataset(data, labels, provenance, facts={"layout": "unknown places"})


def stability(presentations: Array, nouns: Array) -> Array:
    """Return how well each voxel repeats itself: its mean correlation over the 15 pairs of presentations.

    ``presentations`` has shape (6, 60, V); only ``nouns`` (indices) are looked at, so that a fold never sees its
    test nouns. A voxel that is constant in some presentation has correlation 0 there.

    >>> wave = np.sin(np.arange(60.0))
    >>> stability(np.stack([wave[:, None]] * 6), np.arange(58)).round(6).tolist()
    [1.0]
    """
    chosen = np.asarray(presentations[:, nouns], dtype=np.float64)
    centred = chosen - chosen.mean(axis=1, keepdims=True)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    unit = np.divide(centred, length, out=np.zeros_like(centred), where=length > 0)
    pairs = list(combinations(range(EPOCHS), 2))
    return sum(np.einsum("nv,nv->v", unit[a], unit[b]) for a, b in pairs) / len(pairs)
