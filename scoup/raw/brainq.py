"""The raw files of BrainQ: one ``.mat`` file a subject, and the answers to the questions."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import io

from scoup.errors import ScoupError
from scoup.formats import _mat5 as mat5

Array = NDArray[Any]
Path_ = str | PathLike[str]

CATEGORIES = {
    "animal": "bear cat cow dog horse",
    "bodypart": "arm eye foot hand leg",
    "building": "apartment barn church house igloo",
    "buildpart": "arch chimney closet door window",
    "clothing": "coat dress pants shirt skirt",
    "furniture": "bed chair desk dresser table",
    "insect": "ant bee beetle butterfly fly",
    "kitchen": "bottle cup glass knife spoon",
    "manmade": "bell key refrigerator telephone watch",
    "tool": "chisel hammer pliers saw screwdriver",
    "vegetable": "carrot celery corn lettuce tomato",
    "vehicle": "airplane bicycle car train truck",
}
NOUNS = tuple(noun for nouns in CATEGORIES.values() for noun in nouns.split())
CATEGORY_OF = {noun: category for category, nouns in CATEGORIES.items() for noun in nouns.split()}
EPOCHS, QUESTION_COUNT = 6, 218
GRID = (51, 61, 23)  # the published grid; voxels are 3 x 3 x 6 mm
VOXEL_MM = (3.0, 3.0, 6.0)
META_FIELDS = (
    "study",
    "subject",
    "ntrials",
    "nvoxels",
    "dimx",
    "dimy",
    "dimz",
    "colToCoord",
    "coordToCol",
)
INFO_FIELDS = ("cond", "cond_number", "word", "word_number", "epoch")
_AGAIN = "fetch it again"


@dataclass(frozen=True, eq=False)
class Subject:
    """One subject's recordings: ``values[epoch, noun, voxel]`` with nouns as in :data:`NOUNS`.

    ``coords`` (V, 3) are zero-based places on the grid.
    """

    name: str
    grid: tuple[int, int, int]
    coords: Array
    values: Array


@dataclass(frozen=True, eq=False)
class Questions:
    """Answers 1..5 of shape (60 nouns, 218 questions), nouns as in :data:`NOUNS`."""

    questions: Array
    answers: Array


def read_subject(path: Path_) -> Subject:
    """Read and check one ``data-science-P*.mat``."""
    raw = _load_mat(path)
    meta, info = raw["meta"][0, 0], raw["info"].reshape(-1)
    _require(path, "meta", META_FIELDS, meta.dtype.names)
    _require(path, "info", INFO_FIELDS, info.dtype.names)
    order = _trial_order(path, info)
    cells = raw["data"].reshape(-1)
    coords, grid = _coords(path, meta)
    if cells.size != order.size or any(np.size(cell) != len(coords) for cell in cells):
        sizes = sorted({int(np.size(cell)) for cell in cells})
        raise ScoupError.expected(
            f"{path}: data", f"{order.size} rows of {len(coords)} voxels", f"sizes {sizes}"
        )
    values = np.empty((order.size, len(coords)))
    for place, trial in enumerate(order):
        values[place] = cells[trial].reshape(-1)
    if not np.isfinite(values).all():
        raise ScoupError.expected(f"{path}: data", "finite numbers", "NaN or infinity")
    name = str(np.ravel(meta["subject"])[0]) if np.size(meta["subject"]) else Path(path).stem
    return Subject(name, grid, coords, values.reshape(EPOCHS, len(NOUNS), -1))


def _load_mat(path: Path_) -> dict[str, Any]:
    if not Path(path).is_file():
        raise ScoupError.expected(str(path), "a MATLAB file", "no such file")
    try:
        mat5.check(Path(path).read_bytes())
        raw = io.loadmat(path, variable_names=("data", "info", "meta"))
    except Exception as error:  # scipy raises many kinds on damaged files
        got = f"a damaged one ({type(error).__name__})"
        raise ScoupError.expected(str(path), "a whole MATLAB 5 file", got, _AGAIN) from None
    _require(path, "file", ("data", "info", "meta"), tuple(raw))
    for name in ("info", "meta"):
        if raw[name].dtype.names is None or raw[name].size == 0:
            raise ScoupError.expected(f"{path}: {name}", "a struct", f"{raw[name].dtype}")
    return raw


def _require(path: Path_, what: str, wanted: tuple[str, ...], found: Any) -> None:
    missing = [name for name in wanted if name not in (found or ())]
    if missing:
        got = ", ".join(name for name in found or () if not name.startswith("__"))
        raise ScoupError.expected(
            f"{path}: {what}", f"the fields {', '.join(wanted)}", f"only {got or 'none'}", _AGAIN
        )


def _trial_order(path: Path_, info: Array) -> Array:
    """Return the trial numbers arranged by presentation, then noun; each pair must be there once."""
    words = [
        str(np.ravel(word)[0]).strip().lower() if np.size(word) else "" for word in info["word"]
    ]
    odd, absent = sorted(set(words) - set(NOUNS)), sorted(set(NOUNS) - set(words))
    if odd or absent:
        got = f"others ({', '.join(odd[:3]) or 'none'}) and without ({', '.join(absent[:3]) or 'none'})"
        raise ScoupError.expected(f"{path}: info.word", "the 60 nouns of the study", got)
    epochs = [_scalar(path, "info.epoch", epoch) for epoch in info["epoch"]]
    place = {
        (epoch, word): trial for trial, (epoch, word) in enumerate(zip(epochs, words, strict=True))
    }
    wanted = [(epoch, noun) for epoch in range(1, EPOCHS + 1) for noun in NOUNS]
    if len(words) != len(wanted) or set(place) != set(wanted):
        raise ScoupError.expected(
            f"{path}: info", "each noun once in each of 6 presentations", f"{len(words)} trials"
        )
    return np.array([place[key] for key in wanted])


def _scalar(path: Path_, name: str, value: Any) -> int:
    flat = np.ravel(value)
    if flat.size != 1 or flat.dtype.kind not in "iuf" or flat[0] != np.floor(flat[0]):
        raise ScoupError.expected(f"{path}: {name}", "one whole number", f"{flat[:3]}")
    return int(flat[0])


def _coords(path: Path_, meta: Any) -> tuple[Array, tuple[int, int, int]]:
    """Return zero-based voxel places and the grid, checked against the table that goes the other way."""
    grid = tuple(_scalar(path, f"meta.{name}", meta[name]) for name in ("dimx", "dimy", "dimz"))
    coords, table = np.asarray(meta["colToCoord"]), np.asarray(meta["coordToCol"])
    count = _scalar(path, "meta.nvoxels", meta["nvoxels"])
    if coords.shape != (count, 3) or count < 1 or coords.dtype.kind not in "iuf":
        raise ScoupError.expected(
            f"{path}: meta.colToCoord", f"shape ({count}, 3)", f"shape {coords.shape}"
        )
    # Compared as they are: NaN and numbers beyond any integer lie outside too, and are not to be cast.
    outside = ~((coords >= 1) & (coords <= grid) & (coords == np.floor(coords))).all(axis=1)
    if outside.any():
        voxel = int(np.flatnonzero(outside)[0])
        got = f"({', '.join(f'{c:g}' for c in coords[voxel])}) for voxel {voxel + 1}"
        raise ScoupError.expected(f"{path}: meta.colToCoord", f"places on the grid {grid}", got)
    places = coords.astype(np.int64) - 1
    if table.shape != grid or not np.array_equal(table[tuple(places.T)], np.arange(1, count + 1)):
        raise ScoupError.expected(
            f"{path}: meta.coordToCol", "the inverse of colToCoord", "another table", _AGAIN
        )
    return places.astype(np.int32), grid  # type: ignore[return-value]


def read_questions(path: Path_) -> Questions:
    """Read the 218 questions for the 60 nouns out of the published table of 1000 nouns and 229 features."""
    arrays = load_npz(path, ("vectors", "features", "stimuli"))
    vectors, features = arrays["vectors"], np.char.strip(arrays["features"].astype(str))
    stimuli = [str(noun).lower() for noun in arrays["stimuli"]]
    if vectors.shape != (len(stimuli), features.size) or vectors.dtype.kind not in "iuf":
        want = f"shape ({len(stimuli)}, {features.size})"
        raise ScoupError.expected(
            f"{path}: vectors", want, f"shape {vectors.shape} of {vectors.dtype}"
        )
    missing = [noun for noun in NOUNS if noun not in stimuli]
    if missing:
        got = f"a list without {', '.join(missing[:3])}"
        raise ScoupError.expected(f"{path}: stimuli", "the 60 nouns of the study", got)
    asked = np.char.endswith(features, "?")  # the other features are perceptual measures
    if asked.sum() != QUESTION_COUNT:
        raise ScoupError.expected(
            f"{path}: features", f"{QUESTION_COUNT} questions", f"{asked.sum()}"
        )
    answers = vectors[[stimuli.index(noun) for noun in NOUNS]][:, asked].astype(np.float64)
    if not ((answers >= 1) & (answers <= 5)).all():
        raise ScoupError.expected(
            f"{path}: vectors", "answers from 1 to 5", f"{answers.min():g} to {answers.max():g}"
        )
    return Questions(features[asked], np.ascontiguousarray(answers))


def read_excerpt(path: Path_, subject: str) -> Array:
    """Read one subject of the fMRI excerpt: (60 nouns, V) mean values of V voxels whose places are not known."""
    arrays = load_npz(path, ("nouns",))
    found = sorted(set(arrays) - {"nouns"})
    if subject not in found:
        raise ScoupError.expected("subject", f"one of {', '.join(found)}", repr(subject))
    nouns, values = [str(noun).lower() for noun in arrays["nouns"]], arrays[subject]
    if sorted(nouns) != sorted(NOUNS):
        raise ScoupError.expected(
            f"{path}: nouns", "the 60 nouns of the study", f"{len(nouns)} others"
        )
    if (
        values.ndim != 2
        or len(values) != len(nouns)
        or values.dtype.kind not in "iuf"
        or not np.isfinite(values).all()
    ):
        got = f"shape {values.shape} of {values.dtype}"
        raise ScoupError.expected(f"{path}: {subject}", f"({len(NOUNS)}, V) finite numbers", got)
    return np.ascontiguousarray(values[[nouns.index(noun) for noun in NOUNS]], dtype=np.float64)


def load_npz(path: Path_, wanted: tuple[str, ...]) -> dict[str, Array]:
    """Load the arrays of an npz file that somebody else wrote; objects would have to be unpickled and are refused."""
    if not Path(path).is_file():
        raise ScoupError.expected(str(path), "an npz file", "no such file")
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except ValueError as error:
        if "allow_pickle" not in str(error) and "Object arrays" not in str(error):
            raise ScoupError.expected(
                str(path), "a whole npz file", f"a damaged one ({error})", _AGAIN
            ) from None
        raise ScoupError.expected(
            str(path), "arrays of numbers and text", "pickled objects, which are not read"
        ) from None
    except (
        OSError,
        EOFError,
        KeyError,
        TypeError,
        AttributeError,
        zipfile.BadZipFile,
        NotImplementedError,
    ) as error:
        raise ScoupError.expected(
            str(path), "a whole npz file", f"a damaged one ({error})", _AGAIN
        ) from None
    _require(path, "file", wanted, tuple(arrays))
    return arrays
