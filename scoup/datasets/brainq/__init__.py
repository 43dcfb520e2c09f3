"""BrainQ: brain activity of nine subjects for 60 nouns, and answers to questions about them."""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field, StrictBool, field_validator

from scoup.datasets import DataSource, RemoteFile, Traits, https_then_http
from scoup.datasets.brainq.study import (
    GRID,
    NOUNS,
    QUESTIONS_FILE,
    SUBJECTS,
    VOXEL_COUNTS,
    SubjectName,
    subject_file,
)
from scoup.specs import Count, Spec, Whole

_SCIENCE = "www.cs.cmu.edu/afs/cs/project/theo-73/www/science2008"
_REPOSITORY = "otiliastr/brain_task_effect"
_COMMIT = "6fd5414c5c2f33ea22b6a461a24b88f190bc143b"
QUESTIONS = RemoteFile(
    QUESTIONS_FILE,
    (
        f"https://raw.githubusercontent.com/{_REPOSITORY}/{_COMMIT}/data/{QUESTIONS_FILE}",
        f"https://github.com/{_REPOSITORY}/raw/{_COMMIT}/data/{QUESTIONS_FILE}",
    ),
    "4ffe3b8eb29f3236ce0518f0d2cb093ab057549002b66139a2c54ade5ebd85b5",
)
SOURCE = DataSource(
    folder="brainq",
    files=(
        QUESTIONS,
        *(
            RemoteFile(name, https_then_http(f"{_SCIENCE}/{name}"), reader="read_subject")
            for name in map(subject_file, SUBJECTS)
        ),
    ),
    origin=f"http://{_SCIENCE}/data.html",
    licence="no licence stated; published by the authors for research, cite the papers",
    citation="T. M. Mitchell et al., Predicting human brain activity associated with the meanings "
    "of nouns, Science 320, 2008; G. Sudre et al., Tracking neural coding of perceptual and "
    "semantic features of concrete nouns, NeuroImage 62, 2012",
)


class Options(Spec):
    """How the voxels of all subjects are laid out on one mode."""

    grid: Literal["paper", "compact"] = Field(
        "paper",
        description="paper: one row per grid position (77,775 = 51 x 61 x 25); "
        "compact: only positions in the mask of some subject",
    )
    outside: Literal["zero", "missing"] = Field(
        "zero", description="what cells outside a subject's mask are; zero as in the paper"
    )
    presentations: StrictBool = Field(
        True, description="keep the six presentations of each noun, to select stable voxels"
    )
    subjects: tuple[SubjectName, ...] = Field(SUBJECTS, description="subjects, in this order")
    extra_slices: Whole = Field(2, description="empty slices added at the top of the grid")
    thin: Count = Field(1, description="step between the positions that are kept along each axis")

    @field_validator("subjects")
    @classmethod
    def _check_subjects(cls, subjects: tuple[str, ...]) -> tuple[str, ...]:
        if not subjects or len(set(subjects)) != len(subjects):
            raise ValueError(f"expected one or more different subjects, got {list(subjects)}.")
        return subjects


@dataclass(frozen=True)
class BrainSize:
    """The grid of a simulation and the number of voxels of each subject."""

    grid: tuple[int, int, int]
    voxels: tuple[int, ...]


SIZES = {
    "full": BrainSize(GRID, VOXEL_COUNTS),
    "quick": BrainSize((26, 31, 12), tuple(count // 8 for count in VOXEL_COUNTS)),
    "tiny": BrainSize((12, 14, 6), tuple(count // 70 for count in VOXEL_COUNTS)),
}


def traits(options: Options) -> Traits:
    """Return what is known before any file is read."""
    return Traits(
        ("noun", "voxel", "subject"),
        sparse=False,
        missing=options.outside == "missing",
        categories=True,
        roles=("thing", "feature", "subject"),
    )


def shape(size: str, options: Options) -> tuple[int, ...] | None:
    """Return nouns x grid positions x subjects; None for a compact grid, which depends on files.

    >>> shape("tiny", Options(thin=2, subjects=["P1"]))
    (60, 210, 1)
    """
    if options.grid == "compact":
        return None
    x, y, z = (-(-length // options.thin) for length in SIZES[size].grid)
    return len(NOUNS), x * y * (z + options.extra_slices), len(options.subjects)
