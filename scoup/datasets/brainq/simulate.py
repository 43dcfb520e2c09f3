"""Simulate BrainQ: the recordings of nine subjects for 60 nouns, and the answers to 218 questions.

Regions j respond to the nouns n by tuning curves phi_j(n) (:func:`meanings.draw_responses`), which
are not linear in the attributes that the answers ask for. Their smooth maps M are shared by the
subjects s up to small shifts, but each subject has other gains h. Trial t of noun n is

    x_t(v) = base(v) + sum_j h_sj phi_j(n) M_sj(v) + b(v) (sum_k u_tk N_sk(v) + white noise)

Noise is correlated between voxels: N are smooth maps of one subject, the first of them nearly the
same everywhere, and b(v) says how noisy a voxel is. How much of what there is, per subject, was set
by the real excerpts: variance, share of the first component, and accuracy of ridge regression with
and without whitening (docs/data/brainq.md has both side by side).
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import io

from scoup import store
from scoup.datasets.brainq import SIZES
from scoup.datasets.brainq.meanings import (
    ATTRIBUTES,
    MEASURES,
    RESPONSE_COUNT,
    draw_answers,
    draw_attributes,
    draw_responses,
    questions,
)
from scoup.datasets.brainq.read import INFO_FIELDS, META_FIELDS
from scoup.datasets.brainq.study import (
    CATEGORIES,
    CATEGORY_OF,
    NOUNS,
    PRESENTATION_COUNT,
    QUESTIONS_FILE,
    SUBJECTS,
    subject_file,
)
from scoup.records import Array
from scoup.seeds import generator
from scoup.simulate import write_planted

Grid = tuple[int, int, int]
_BLOB_COUNT, _NUISANCE_COUNT = 3, 30
_SMOOTH_SHARE = 0.55  # of the noise without its first map; the rest is white
_NUISANCE_DECAY = 0.8  # of the variances of smooth noise
_LOG_NOISINESS = 0.45  # spread over voxels; gives the long tails of the real values
_LOG_GAINS = 0.5  # spread over regions: no two subjects weigh them alike
_TRIAL_COUNT = PRESENTATION_COUNT * len(NOUNS)
_MAT_HEADER = b"MATLAB 5.0 MAT-file, simulated by scoup"


@dataclass(frozen=True)
class Person:
    """One subject, images averaged over presentations.

    ``spread`` is the standard deviation of the noise, ``first_share`` that part of its variance
    which the first map has, and ``gain`` the standard deviation of the signal over ``spread``.
    """

    spread: float
    first_share: float
    gain: float


# P1, P2, P3, P5, P6 and P8 are near the real excerpts, the others like them.
_PEOPLE = {
    "P1": Person(0.25, 0.10, 0.26),
    "P2": Person(0.27, 0.22, 0.13),
    "P3": Person(0.30, 0.33, 0.18),
    "P4": Person(0.30, 0.20, 0.17),
    "P5": Person(0.35, 0.26, 0.13),
    "P6": Person(0.70, 0.62, 0.09),
    "P7": Person(0.40, 0.30, 0.15),
    "P8": Person(0.55, 0.20, 0.11),
    "P9": Person(0.30, 0.25, 0.17),
}


@dataclass(frozen=True, eq=False)
class Regions:
    """What all subjects share: responses (60, regions), centres (regions, blobs, 3) and signs."""

    responses: Array
    centres: Array
    signs: Array


def simulate(folder: Path, size: str, seed: int) -> None:
    """Write the questions, then one subject at a time, which is all that is held in memory."""
    grid, voxel_counts = SIZES[size].grid, SIZES[size].voxels
    attributes = draw_attributes(generator(seed, "brainq", "attributes"))
    _write_questions(folder / QUESTIONS_FILE, attributes, seed)
    rng = generator(seed, "brainq", "maps")
    regions = Regions(draw_responses(attributes, rng), *_draw_shared_blobs(rng))
    for subject, voxel_count in zip(SUBJECTS, voxel_counts, strict=True):
        rng = generator(seed, "brainq", subject)
        coords = draw_mask(grid, voxel_count, rng)
        trials = _draw_trials(coords / np.array(grid), regions, _PEOPLE[subject], rng)
        _write_subject(folder / subject_file(subject), subject, grid, coords, trials)
    planted = {
        "nouns": NOUNS,
        "attributes": dict(zip(ATTRIBUTES, attributes.T, strict=True)),
        "responses": regions.responses,
        "gains": {subject: person.gain for subject, person in _PEOPLE.items()},
        "blobs": {"centres": regions.centres, "signs": regions.signs},
    }
    write_planted(folder, planted)


def draw_mask(grid: Grid, count: int, rng: np.random.Generator) -> Array:
    """Return the ``count`` grid positions (zero-based) nearest to the centre of an ellipsoid head.

    >>> draw_mask((12, 14, 6), 300, generator(0)).shape
    (300, 3)
    """
    positions = np.indices(grid).reshape(3, -1).T
    centre = (np.array(grid) - 1) / 2 + rng.uniform(-0.02, 0.02, 3) * grid
    axes = np.array(grid) * rng.uniform(0.97, 1.03, 3)
    distance = (((positions - centre) / axes) ** 2).sum(axis=1)
    nearest = np.argsort(distance, kind="stable")[:count]
    return positions[np.sort(nearest)]


def _draw_shared_blobs(rng: np.random.Generator) -> tuple[Array, Array]:
    """Return where each region is: centres (regions, blobs, 3) relative to the grid; signs."""
    shape = (RESPONSE_COUNT, _BLOB_COUNT)
    centres = rng.uniform(0.2, 0.8, (*shape, 3))
    return centres, np.where(rng.random(shape) < 0.75, 1.0, -1.0)


def _draw_blobs(maps: int, blobs: int, rng: np.random.Generator) -> tuple[Array, Array]:
    return rng.uniform(0.15, 0.85, (maps, blobs, 3)), rng.choice([-1.0, 1.0], (maps, blobs))


def smooth_maps(positions: Array, centres: Array, signs: Array, width: float) -> Array:
    """Return sums of Gaussian bumps (maps, V), scaled to unit mean square.

    ``positions`` is (V, 3), ``centres`` is (maps, blobs, 3).
    """
    maps = np.zeros((len(centres), len(positions)))
    for blob in range(centres.shape[1]):
        for number, (centre, sign) in enumerate(zip(centres[:, blob], signs[:, blob], strict=True)):
            distance2 = ((positions - centre) ** 2).sum(axis=1)
            maps[number] += sign * np.exp(-distance2 / (2 * width**2))
    return maps / np.sqrt((maps**2).mean(axis=1, keepdims=True) + 1e-12)


def _draw_trials(
    positions: Array, regions: Regions, person: Person, rng: np.random.Generator
) -> Array:
    """Return the trials (6, 60, V) of one subject."""
    shifted = regions.centres + 0.02 * rng.standard_normal(regions.centres.shape)
    gains = np.exp(_LOG_GAINS * rng.standard_normal(RESPONSE_COUNT))
    gains *= person.gain * person.spread / np.linalg.norm(gains)
    signal = (regions.responses * gains) @ smooth_maps(positions, shifted, regions.signs, 0.06)
    base = 0.3 * smooth_maps(positions, *_draw_blobs(1, 12, rng), 0.08)
    noise = _draw_noise(positions, person, rng)
    return noise.reshape(PRESENTATION_COUNT, len(NOUNS), len(positions)) + signal + base


def _draw_noise(positions: Array, person: Person, rng: np.random.Generator) -> Array:
    """Return noise (360, V) that keeps the subject's variance when presentations are averaged."""
    everywhere = 1 + 0.5 * smooth_maps(positions, *_draw_blobs(1, 6, rng), 0.15)
    local = smooth_maps(positions, *_draw_blobs(_NUISANCE_COUNT, 6, rng), 0.09)
    maps = np.vstack([everywhere / np.sqrt((everywhere**2).mean()), local])
    shares = np.arange(1, _NUISANCE_COUNT + 1) ** -_NUISANCE_DECAY
    shares *= (1 - person.first_share) * _SMOOTH_SHARE / shares.sum()
    white_share = (1 - person.first_share) * (1 - _SMOOTH_SHARE)
    courses = rng.standard_normal((_TRIAL_COUNT, len(maps)))
    noise = rng.standard_normal((_TRIAL_COUNT, len(positions))) * np.sqrt(white_share)
    noise += (courses * np.sqrt([person.first_share, *shares])) @ maps
    noisiness = np.exp(_LOG_NOISINESS * rng.standard_normal(len(positions)))
    noise *= noisiness / np.sqrt((noisiness**2).mean())
    return noise * person.spread * np.sqrt(PRESENTATION_COUNT)


def _write_questions(path: Path, attributes: Array, seed: int) -> None:
    """Write the answers as published: ``vectors`` with their ``features`` and ``stimuli``."""
    answers = draw_answers(attributes, generator(seed, "brainq", "answers"))
    rng = generator(seed, "brainq", "measures")
    measures = rng.integers(1, 6, (len(NOUNS), len(MEASURES)), dtype=np.uint8)
    arrays = {
        "vectors": np.asfortranarray(np.hstack([answers, measures])),
        "features": np.array([*questions(), *MEASURES]),
        "stimuli": np.array(NOUNS),
    }
    store.write_npz(path, arrays)


def _write_subject(path: Path, subject: str, grid: Grid, coords: Array, trials: Array) -> None:
    """Write one ``data-science-P*.mat``: data, info and meta as published."""
    rows = trials.reshape(_TRIAL_COUNT, -1)
    data = np.empty((_TRIAL_COUNT, 1), dtype=object)
    for trial, row in enumerate(rows):
        data[trial, 0] = row[None]
    variables = {"data": data, "info": trial_info(), "meta": voxel_meta(subject, grid, coords)}
    with store.atomic(path, rows.nbytes) as temporary:
        io.savemat(temporary, variables, appendmat=False)
        with open(temporary, "r+b") as file:
            # scipy writes the time there, but the same seed must give the same bytes.
            file.write(_MAT_HEADER.ljust(116))


def trial_info() -> Array:
    """Return the struct ``info`` (1, 360): category, noun and presentation of each trial."""
    info = np.empty((1, _TRIAL_COUNT), dtype=[(name, object) for name in INFO_FIELDS])
    for trial in range(_TRIAL_COUNT):
        epoch, number = divmod(trial, len(NOUNS))
        noun = NOUNS[number]
        category = CATEGORY_OF[noun]
        condition = float(list(CATEGORIES).index(category) + 1)
        info[0, trial] = (category, condition, noun, float(number % 5 + 1), float(epoch + 1))
    return info


def voxel_meta(subject: str, grid: Grid, coords: Array) -> Array:
    """Return the struct ``meta`` (1, 1): sizes, and the voxel positions with their inverse."""
    column_at = np.zeros(grid)
    column_at[tuple(coords.T)] = np.arange(1, len(coords) + 1)
    sizes = map(float, (_TRIAL_COUNT, len(coords), *grid))
    meta = np.empty((1, 1), dtype=[(name, object) for name in META_FIELDS])
    meta[0, 0] = ("science", subject, *sizes, coords + 1.0, column_at)
    return meta
