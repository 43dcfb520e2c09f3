"""Couple the voxels of one subject with the questions."""

from pathlib import Path

import numpy as np

from scoup.coupled import CoupledData, Dataset
from scoup.datasets.brainq.couple import noun_labels
from scoup.datasets.brainq.read import load_npz, read_questions
from scoup.datasets.brainq.study import NOUNS, QUESTIONS_FILE
from scoup.datasets.brainq_excerpt import EXCERPT_FILE, Options
from scoup.errors import ScoupError
from scoup.records import Array, Labels, Provenance


def couple(folder: Path, options: Options, provenance: Provenance) -> Dataset:
    """Return the values of one subject as a (60, V, 1) tensor, with the questions on the nouns."""
    questions = read_questions(folder / QUESTIONS_FILE)
    values = read_excerpt(folder / EXCERPT_FILE, options.subject)
    labels = (
        noun_labels(),
        Labels("voxel", np.arange(values.shape[1], dtype=np.int32), role="feature"),
        Labels("subject", np.array([options.subject])),
        Labels("question", questions.questions),
    )
    data = CoupledData(values[:, :, None], {0: questions.answers})
    extras = {"perceptual": questions.perceptual}
    return Dataset(data, labels, provenance, extras, facts={"layout": "unknown positions"})


def read_excerpt(path: Path, subject: str) -> Array:
    """Read the (60 nouns, V) mean values of one subject; positions of voxels are unknown."""
    arrays = load_npz(path, ("nouns",))
    nouns = [str(noun).lower() for noun in arrays.pop("nouns")]
    if subject not in arrays:
        expected = f"one of {', '.join(sorted(arrays))}"
        raise ScoupError.expected("options.subject", expected, repr(subject))
    values = arrays[subject]
    if sorted(nouns) != sorted(NOUNS):
        got = f"{len(nouns)} others"
        raise ScoupError.expected(f"{path}: nouns", "the 60 nouns of the study", got)
    numeric = values.dtype.kind in "iuf" and np.isfinite(values).all()
    if values.ndim != 2 or len(values) != len(nouns) or not numeric:
        got = f"shape {values.shape} of {values.dtype}"
        raise ScoupError.expected(f"{path}: {subject}", f"({len(NOUNS)}, V) finite numbers", got)
    return np.ascontiguousarray(values[[nouns.index(noun) for noun in NOUNS]], dtype=np.float64)
