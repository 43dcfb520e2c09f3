"""Read the raw files of BrainQ: one ``.mat`` file per subject, and the answers to the questions."""

import zipfile
from collections.abc import Collection
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy import io

from scoup.datasets.brainq.study import NOUNS, PRESENTATION_COUNT, QUESTION_COUNT
from scoup.errors import ScoupError
from scoup.formats import _mat5 as mat5
from scoup.records import Array
from scoup.text import expansion_limit

FilePath = str | PathLike[str]
INFO_FIELDS = ("cond", "cond_number", "word", "word_number", "epoch")
META_FIELDS = (
    "study", "subject", "ntrials", "nvoxels", "dimx", "dimy", "dimz", "colToCoord", "coordToCol",
)  # fmt: skip
_HINT = "fetch it again"


@dataclass(frozen=True, eq=False)
class Subject:
    """The recordings of one subject: ``values[presentation, noun, voxel]``, nouns as in NOUNS.

    ``coords`` (V, 3) are zero-based positions on the grid.
    """

    name: str
    grid: tuple[int, int, int]
    coords: Array
    values: Array


@dataclass(frozen=True, eq=False)
class Questions:
    """Answers 1..5 of shape (60 nouns, 218 questions), nouns as in NOUNS.

    ``perceptual`` (60, 11) are the measures of word and picture that the same file holds.
    """

    questions: Array
    answers: Array
    perceptual: Array


def read_subject(path: FilePath) -> Subject:
    """Read and check one ``data-science-P*.mat``."""
    raw = _load_mat(path)
    meta, info = raw["meta"][0, 0], raw["info"].reshape(-1)
    _require(path, "meta", META_FIELDS, meta.dtype.names)
    _require(path, "info", INFO_FIELDS, info.dtype.names)
    trials = _trial_order(path, info)
    recordings = raw["data"].reshape(-1)
    coords, grid = _coords(path, meta)
    sizes = {int(np.size(recording)) for recording in recordings}
    if recordings.size != trials.size or sizes != {len(coords)}:
        expected = f"{trials.size} rows of {len(coords)} voxels"
        raise ScoupError.expected(f"{path}: data", expected, f"sizes {sorted(sizes)}")
    values = np.empty((trials.size, len(coords)))
    for row, trial in zip(values, trials, strict=True):
        row[:] = recordings[trial].reshape(-1)
    if not np.isfinite(values).all():
        raise ScoupError.expected(f"{path}: data", "finite numbers", "NaN or infinity")
    name = str(np.ravel(meta["subject"])[0]) if np.size(meta["subject"]) else Path(path).stem
    return Subject(name, grid, coords, values.reshape(PRESENTATION_COUNT, len(NOUNS), -1))


def _load_mat(path: FilePath) -> dict[str, Any]:
    if not Path(path).is_file():
        raise ScoupError.expected(str(path), "a MATLAB file", "no such file")
    try:
        mat5.check(Path(path).read_bytes(), expansion_limit(path))
        raw = io.loadmat(path, variable_names=("data", "info", "meta"))
    except Exception as error:  # scipy raises many kinds on damaged files
        got = f"a damaged one ({type(error).__name__})"
        raise ScoupError.expected(str(path), "a whole MATLAB 5 file", got, _HINT) from None
    _require(path, "file", ("data", "info", "meta"), raw)
    for name in ("info", "meta"):
        if raw[name].dtype.names is None or raw[name].size == 0:
            raise ScoupError.expected(f"{path}: {name}", "a struct", f"{raw[name].dtype}")
    return raw


def _require(
    path: FilePath, part: str, required: Collection[str], names: Collection[str] | None
) -> None:
    present = [name for name in names or () if not name.startswith("__")]
    if not set(required) <= set(present):
        expected = f"the fields {', '.join(required)}"
        got = f"only {', '.join(present) or 'none'}"
        raise ScoupError.expected(f"{path}: {part}", expected, got, _HINT)


def _trial_order(path: FilePath, info: Array) -> Array:
    """Return the trial numbers by presentation, then noun; each pair must occur exactly once."""
    words = [
        str(np.ravel(word)[0]).strip().lower() if np.size(word) else "" for word in info["word"]
    ]
    unknown, absent = sorted(set(words) - set(NOUNS)), sorted(set(NOUNS) - set(words))
    if unknown or absent:
        got = (
            f"others ({', '.join(unknown[:3]) or 'none'}) "
            f"and without ({', '.join(absent[:3]) or 'none'})"
        )
        raise ScoupError.expected(f"{path}: info.word", "the 60 nouns of the study", got)
    epochs = [_integer(path, "info.epoch", epoch) for epoch in info["epoch"]]
    trial_of = {key: trial for trial, key in enumerate(zip(epochs, words, strict=True))}
    order = [(epoch, noun) for epoch in range(1, PRESENTATION_COUNT + 1) for noun in NOUNS]
    if len(words) != len(order) or set(trial_of) != set(order):
        raise ScoupError.expected(
            f"{path}: info", "each noun once in each of 6 presentations", f"{len(words)} trials"
        )
    return np.array([trial_of[key] for key in order])


def _integer(path: FilePath, name: str, value: Any) -> int:
    flat = np.ravel(value)
    if flat.size != 1 or flat.dtype.kind not in "iuf" or flat[0] != np.floor(flat[0]):
        raise ScoupError.expected(f"{path}: {name}", "one whole number", f"{flat[:3]}")
    return int(flat[0])


def _coords(path: FilePath, meta: Any) -> tuple[Array, tuple[int, int, int]]:
    """Return zero-based voxel positions and the grid, checked against the inverse table."""
    x, y, z = (_integer(path, f"meta.{name}", meta[name]) for name in ("dimx", "dimy", "dimz"))
    grid = (x, y, z)
    coords, column_at = np.asarray(meta["colToCoord"]), np.asarray(meta["coordToCol"])
    count = _integer(path, "meta.nvoxels", meta["nvoxels"])
    if coords.shape != (count, 3) or count < 1 or coords.dtype.kind not in "iuf":
        raise ScoupError.expected(
            f"{path}: meta.colToCoord", f"shape ({count}, 3)", f"shape {coords.shape}"
        )
    # Compared before any cast: NaN and numbers beyond any integer are outside, too.
    outside = ~((coords >= 1) & (coords <= grid) & (coords == np.floor(coords))).all(axis=1)
    if outside.any():
        voxel = int(np.flatnonzero(outside)[0])
        got = f"({', '.join(f'{c:g}' for c in coords[voxel])}) for voxel {voxel + 1}"
        raise ScoupError.expected(f"{path}: meta.colToCoord", f"positions on the grid {grid}", got)
    positions = coords.astype(np.int64) - 1
    columns = np.arange(1, count + 1)
    if column_at.shape != grid or not np.array_equal(column_at[tuple(positions.T)], columns):
        raise ScoupError.expected(
            f"{path}: meta.coordToCol", "the inverse of colToCoord", "another table", _HINT
        )
    return positions.astype(np.int32), grid


def read_questions(path: FilePath) -> Questions:
    """Read the features of the 60 nouns from the published 1000 nouns x 229 features."""
    arrays = load_npz(path, ("vectors", "features", "stimuli"))
    vectors, features = arrays["vectors"], np.char.strip(arrays["features"].astype(str))
    stimuli = [str(noun).lower() for noun in arrays["stimuli"]]
    if vectors.shape != (len(stimuli), features.size) or vectors.dtype.kind not in "iuf":
        expected = f"shape ({len(stimuli)}, {features.size})"
        got = f"shape {vectors.shape} of {vectors.dtype}"
        raise ScoupError.expected(f"{path}: vectors", expected, got)
    missing = [noun for noun in NOUNS if noun not in stimuli]
    if missing:
        got = f"a list without {', '.join(missing[:3])}"
        raise ScoupError.expected(f"{path}: stimuli", "the 60 nouns of the study", got)
    is_question = np.char.endswith(features, "?")  # the other features are perceptual measures
    if is_question.sum() != QUESTION_COUNT:
        raise ScoupError.expected(
            f"{path}: features", f"{QUESTION_COUNT} questions", f"{is_question.sum()}"
        )
    rows = vectors[[stimuli.index(noun) for noun in NOUNS]].astype(np.float64)
    answers = np.ascontiguousarray(rows[:, is_question])
    if not ((answers >= 1) & (answers <= 5)).all():
        raise ScoupError.expected(
            f"{path}: vectors", "answers from 1 to 5", f"{answers.min():g} to {answers.max():g}"
        )
    return Questions(features[is_question], answers, np.ascontiguousarray(rows[:, ~is_question]))


def load_npz(path: FilePath, required: Collection[str]) -> dict[str, Array]:
    """Load all arrays of a foreign npz file; objects, which would be unpickled, are refused."""
    if not Path(path).is_file():
        raise ScoupError.expected(str(path), "an npz file", "no such file")
    damaged = (
        *(OSError, EOFError, KeyError, TypeError, AttributeError, ValueError),
        *(zipfile.BadZipFile, NotImplementedError),
    )
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except damaged as error:
        if "allow_pickle" in str(error) or "Object arrays" in str(error):
            got = "pickled objects, which are not read"
            raise ScoupError.expected(str(path), "arrays of numbers and text", got) from None
        got = f"a damaged one ({error})"
        raise ScoupError.expected(str(path), "a whole npz file", got, _HINT) from None
    _require(path, "file", required, arrays)
    return arrays
