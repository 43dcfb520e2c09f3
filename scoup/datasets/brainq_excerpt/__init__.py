"""An excerpt of BrainQ: the published questions, and some voxels of six subjects."""

from pydantic import Field

from scoup.datasets import DataSource, RemoteFile, Traits, brainq
from scoup.datasets.brainq.study import SubjectName
from scoup.specs import Spec

EXCERPT_FILE = "fmri_voxels_excerpt.npz"
SOURCE = DataSource(
    folder="brainq",
    files=(brainq.QUESTIONS, RemoteFile(EXCERPT_FILE)),
    origin=brainq.SOURCE.origin,
    licence=brainq.SOURCE.licence,
    citation=brainq.SOURCE.citation,
)


class Options(Spec):
    """Which subject to use; different subjects have different voxels."""

    subject: SubjectName = Field("P1", description="subject whose voxels are used")


def traits(options: Options) -> Traits:
    """Return what is known before any file is read."""
    roles = ("thing", "feature", "subject")
    return Traits(("noun", "voxel", "subject"), sparse=False, categories=True, roles=roles)


def shape(size: str, options: Options) -> None:
    """Return None: the number of voxels is only known from the file."""
