"""Simulate BrainQ: the recordings of nine subjects for 60 nouns, and the answers to 218 questions.

With z the hidden attributes of the nouns, M smooth maps that subjects share up to small shifts, and
N smooth maps of one subject that are unrelated to meaning, trial t (noun n, subject s) is

    x_t(v) = base(v) + gain_s sum_k z_nk M_sk(v) + sum_j u_tj N_sj(v) + white noise
"""

from pathlib import Path

import numpy as np
from scipy import io

from scoup import store
from scoup.datasets.brainq import SIZES
from scoup.datasets.brainq.meanings import (
    ATTRIBUTES,
    MEASURES,
    draw_answers,
    draw_attributes,
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
# Ridge leave-two-out comes near .75 for the good subjects and near chance for the worst.
_GAINS = (0.08, 0.035, 0.07, 0.075, 0.06, 0.01, 0.055, 0.03, 0.075)
# A few attributes carry most of the signal, as in the real data, where rank 2 captures most of it.
_STRENGTHS = np.arange(1, len(ATTRIBUTES) + 1) ** -0.8
_BLOB_COUNT, _NUISANCE_COUNT = 4, 30
_TRIAL_COUNT = PRESENTATION_COUNT * len(NOUNS)
_MAT_HEADER = b"MATLAB 5.0 MAT-file, simulated by scoup"


def simulate(folder: Path, size: str, seed: int) -> None:
    """Write the questions, then one subject at a time, which is all that is held in memory."""
    grid, voxel_counts = SIZES[size].grid, SIZES[size].voxels
    attributes = draw_attributes(generator(seed, "brainq", "attributes"))
    _write_questions(folder / QUESTIONS_FILE, attributes, seed)
    centres, signs = _draw_shared_blobs(generator(seed, "brainq", "maps"))
    for subject, voxel_count, gain in zip(SUBJECTS, voxel_counts, _GAINS, strict=True):
        rng = generator(seed, "brainq", subject)
        coords = draw_mask(grid, voxel_count, rng)
        trials = _draw_trials(coords / np.array(grid), attributes, (centres, signs), gain, rng)
        _write_subject(folder / subject_file(subject), subject, grid, coords, trials)
    blobs = {
        attribute: {"centres": centres[number], "signs": signs[number]}
        for number, attribute in enumerate(ATTRIBUTES)
    }
    planted = {
        "nouns": NOUNS,
        "attributes": dict(zip(ATTRIBUTES, attributes.T, strict=True)),
        "gains": dict(zip(SUBJECTS, _GAINS, strict=True)),
        "blobs": blobs,
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
    """Return where each attribute is active: centres (10, blobs, 3) relative to the grid; signs."""
    shape = (len(ATTRIBUTES), _BLOB_COUNT)
    centres = rng.uniform(0.25, 0.75, (*shape, 3))
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
    positions: Array,
    attributes: Array,
    blobs: tuple[Array, Array],
    gain: float,
    rng: np.random.Generator,
) -> Array:
    """Return the trials (6, 60, V) of one subject."""
    centres, signs = blobs
    shifted = centres + 0.02 * rng.standard_normal(centres.shape)
    loadings = gain * _STRENGTHS * rng.uniform(0.8, 1.2, len(ATTRIBUTES))
    signal = (attributes * loadings) @ smooth_maps(positions, shifted, signs, 0.07)
    base = 0.3 * smooth_maps(positions, *_draw_blobs(1, 12, rng), 0.08)
    nuisance = smooth_maps(positions, *_draw_blobs(_NUISANCE_COUNT, 6, rng), 0.09)
    strengths = 0.45 * np.arange(1, _NUISANCE_COUNT + 1) ** -0.7
    courses = rng.standard_normal((_TRIAL_COUNT, _NUISANCE_COUNT)) * strengths
    trials = rng.standard_normal((_TRIAL_COUNT, len(positions))) * 0.45
    trials += courses @ nuisance
    return trials.reshape(PRESENTATION_COUNT, len(NOUNS), len(positions)) + signal + base


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
