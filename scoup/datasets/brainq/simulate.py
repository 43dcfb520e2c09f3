"""A simulated BrainQ: nine subjects' recordings of 60 nouns and the answers to 218 questions.

Voxel values of trial t (noun n, subject s), with z the nouns' hidden attributes, M smooth maps that subjects share
up to small shifts, and N smooth maps of a subject's own that have nothing to do with meaning:

    x_t(v) = base(v) + gain_s sum_k z_nk M_sk(v) + sum_j u_tj N_sj(v) + white noise
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import io

from scoup import store
from scoup.datasets import QUESTIONS_FILE, SUBJECTS, subject_file
from scoup.raw.brainq import CATEGORIES, CATEGORY_OF, EPOCHS, GRID, INFO_FIELDS, META_FIELDS, NOUNS
from scoup.seeds import generator
from scoup.simulate.meanings import ATTRIBUTES, MEASURES, draw_answers, draw_attributes, questions
from scoup.simulate.truth import write_truth

Array = NDArray[Any]
_PUBLISHED_VOXELS = (21764, 21253, 20651, 20395, 20601, 19919, 19750, 20082, 21344)
# Signal strengths under which ridge leave-two-out comes near .75 for the good subjects and near chance for the worst.
_GAINS = (0.08, 0.035, 0.07, 0.075, 0.06, 0.01, 0.055, 0.03, 0.075)
# A few attributes carry most of the signal, as in the real recordings, where a rank-2 model finds most of it.
_STRENGTHS = np.arange(1, len(ATTRIBUTES) + 1) ** -0.8
_BLOBS, _NUISANCE = 4, 30
_MAT_HEAD = b"MATLAB 5.0 MAT-file, simulated by scoup"


@dataclass(frozen=True)
class BrainSize:
    """The grid of a stand-in and the voxels of each subject."""

    grid: tuple[int, int, int]
    voxels: tuple[int, ...]


SIZES = {
    "full": BrainSize(GRID, _PUBLISHED_VOXELS),
    "quick": BrainSize((26, 31, 12), tuple(count // 8 for count in _PUBLISHED_VOXELS)),
    "tiny": BrainSize((12, 14, 6), tuple(count // 70 for count in _PUBLISHED_VOXELS)),
}


def simulate_brainq(folder: Path, size: str, seed: int) -> None:
    """Write nine subject files, the questions file and the truth; one subject is in memory at a time."""
    spec = SIZES[size]
    attributes = draw_attributes(generator(seed, "brainq", "attributes"))
    _write_questions(folder / QUESTIONS_FILE, attributes, seed)
    centres = _blob_centres(generator(seed, "brainq", "maps"))
    for number, subject in enumerate(SUBJECTS):
        rng = generator(seed, "brainq", subject)
        coords = draw_mask(spec.grid, spec.voxels[number], rng)
        trials = _draw_trials(
            coords / np.array(spec.grid), attributes, centres, _GAINS[number], rng
        )
        _write_subject(folder / subject_file(subject), subject, spec.grid, coords, trials)
    truth = {
        "what": "simulated",
        "nouns": NOUNS,
        "attributes": dict(zip(ATTRIBUTES, attributes.T, strict=True)),
        "gains": dict(zip(SUBJECTS, _GAINS, strict=True)),
        "blobs": {
            name: {"centres": places, "signs": signs}
            for name, places, signs in zip(ATTRIBUTES, *centres, strict=True)
        },
    }
    write_truth(folder, truth)


def draw_mask(grid: tuple[int, int, int], count: int, rng: np.random.Generator) -> Array:
    """Return the ``count`` grid places (zero-based) nearest to the centre of a head-shaped ellipsoid.

    >>> draw_mask((12, 14, 6), 300, generator(0)).shape
    (300, 3)
    """
    places = np.indices(grid).reshape(3, -1).T
    centre = (np.array(grid) - 1) / 2 + rng.uniform(-0.02, 0.02, 3) * grid
    axes = np.array(grid) * rng.uniform(0.97, 1.03, 3)
    distance = (((places - centre) / axes) ** 2).sum(axis=1)
    inside = np.argsort(distance, kind="stable")[:count]
    return places[np.sort(inside)]


def _blob_centres(rng: np.random.Generator) -> tuple[Array, Array]:
    """Return where each attribute's map is active: centres (10, blobs, 3) in shares of the grid, and signs."""
    centres = rng.uniform(0.25, 0.75, (len(ATTRIBUTES), _BLOBS, 3))
    signs = np.where(rng.random((len(ATTRIBUTES), _BLOBS)) < 0.75, 1.0, -1.0)
    return centres, signs


def smooth_maps(places: Array, centres: Array, signs: Array, width: float) -> Array:
    """Return sums of Gaussian bumps (maps, V), scaled to unit mean square: places (V, 3), centres (maps, blobs, 3)."""
    maps = np.zeros((len(centres), len(places)))
    for blob in range(centres.shape[1]):
        for number, (centre, sign) in enumerate(zip(centres[:, blob], signs[:, blob], strict=True)):
            maps[number] += sign * np.exp(-((places - centre) ** 2).sum(axis=1) / (2 * width**2))
    return maps / np.sqrt((maps**2).mean(axis=1, keepdims=True) + 1e-12)


def _draw_trials(
    places: Array,
    attributes: Array,
    blobs: tuple[Array, Array],
    gain: float,
    rng: np.random.Generator,
) -> Array:
    """Return the trials (6, 60, V) of one subject."""
    centres, signs = blobs
    own = centres + 0.02 * rng.standard_normal(centres.shape)
    loads = gain * _STRENGTHS * rng.uniform(0.8, 1.2, len(ATTRIBUTES))
    signal = (attributes * loads) @ smooth_maps(places, own, signs, 0.07)
    count = len(places)
    base = 0.3 * smooth_maps(places, *_random_blobs(1, 12, rng), 0.08)
    nuisance = smooth_maps(places, *_random_blobs(_NUISANCE, 6, rng), 0.09)
    strength = 0.45 * np.arange(1, _NUISANCE + 1) ** -0.7
    courses = rng.standard_normal((EPOCHS * len(NOUNS), _NUISANCE)) * strength
    trials = rng.standard_normal((EPOCHS * len(NOUNS), count)) * 0.45
    trials += courses @ nuisance
    return trials.reshape(EPOCHS, len(NOUNS), count) + signal + base


def _random_blobs(maps: int, blobs: int, rng: np.random.Generator) -> tuple[Array, Array]:
    return rng.uniform(0.15, 0.85, (maps, blobs, 3)), rng.choice([-1.0, 1.0], (maps, blobs))


def _write_questions(path: Path, attributes: Array, seed: int) -> None:
    """Write the answers as the published table: uint8 ``vectors`` beside ``features`` and ``stimuli``."""
    answers = draw_answers(attributes, generator(seed, "brainq", "answers"))
    measures = generator(seed, "brainq", "measures").integers(
        1, 6, (len(NOUNS), len(MEASURES)), dtype=np.uint8
    )
    vectors = np.asfortranarray(np.hstack([answers, measures]))
    store.write_npz(
        path,
        {
            "vectors": vectors,
            "features": np.array([*questions(), *MEASURES]),
            "stimuli": np.array(NOUNS),
        },
    )


def _write_subject(
    path: Path, subject: str, grid: tuple[int, int, int], coords: Array, trials: Array
) -> None:
    """Write one ``data-science-P*.mat``: data, info and meta as published."""
    flat = trials.reshape(-1, trials.shape[-1])
    data = np.empty((len(flat), 1), dtype=object)
    for number, row in enumerate(flat):
        data[number, 0] = row[None]
    with store.atomic(path, flat.nbytes) as temporary:
        io.savemat(
            temporary,
            {"data": data, "info": _info(), "meta": _meta(subject, grid, coords)},
            appendmat=False,
        )
        with open(temporary, "r+b") as file:
            file.write(
                _MAT_HEAD.ljust(116)
            )  # scipy puts the time there; the same seed must give the same bytes


def _info() -> Array:
    categories = list(CATEGORIES)
    info = np.empty((1, EPOCHS * len(NOUNS)), dtype=[(name, object) for name in INFO_FIELDS])
    for epoch in range(EPOCHS):
        for number, noun in enumerate(NOUNS):
            kind = CATEGORY_OF[noun]
            row = (
                kind,
                float(categories.index(kind) + 1),
                noun,
                float(number % 5 + 1),
                float(epoch + 1),
            )
            info[0, epoch * len(NOUNS) + number] = row
    return info


def _meta(subject: str, grid: tuple[int, int, int], coords: Array) -> Array:
    table = np.zeros(grid)
    table[tuple(coords.T)] = np.arange(1, len(coords) + 1)
    values = (
        "science",
        subject,
        float(EPOCHS * len(NOUNS)),
        float(len(coords)),
        *map(float, grid),
        coords + 1.0,
        table,
    )
    meta = np.empty((1, 1), dtype=[(name, object) for name in META_FIELDS])
    meta[0, 0] = values
    return meta
