"""The table of data sets and of the files they are made of: address, checksum, origin, licence, citation."""

from __future__ import annotations

from dataclasses import dataclass

from scoup.errors import ScoupError

SUBJECTS = tuple(f"P{number}" for number in range(1, 10))
QUESTIONS_FILE = "MTurk_semantic_features.npz"
FMRI_EXCERPT_FILE = "fmri_voxels_excerpt.npz"
WALL_FILE, LINKS_FILE = "facebook-wall.txt.gz", "facebook-links.txt.gz"
TENSOR_FILE, MATRIX_FILE = "tensor.tns.gz", "matrix0.tns.gz"
SMALL_WALL_FILE, SMALL_LINKS_FILE = "user-wall-small.txt.gz", "user-links-small.txt.gz"

_SCIENCE = "www.cs.cmu.edu/afs/cs/project/theo-73/www/science2008"
_WOSN = "socialnetworks.mpi-sws.org/data"
_QUESTIONS = (
    "otiliastr/brain_task_effect",
    "6fd5414c5c2f33ea22b6a461a24b88f190bc143b",
    f"data/{QUESTIONS_FILE}",
)


@dataclass(frozen=True)
class Traits:
    """What an experiment may need to know of a data set before it is made.

    ``names`` of the tensor's modes; whether it is ``sparse``; the modes of its ``matrices``; whether cells are
    ``missing``; ``categories``: whether the labels of the first matrix's mode have a column of that name.
    """

    names: tuple[str, ...]
    sparse: bool
    matrices: tuple[int, ...] = (0,)
    missing: bool = False
    categories: bool = False


@dataclass(frozen=True)
class RemoteFile:
    """One published file: where it is (best address first), and its checksum and size where they are known.

    ``structure`` names the check of a file without a published checksum; such a file is held to the checksum
    that was recorded when it first came.
    """

    name: str
    addresses: tuple[str, ...] = ()
    sha256: str = ""
    bytes: int = 0
    structure: str = ""


@dataclass(frozen=True)
class DataSource:
    """One data set: its files, the folder of a user's own copies, and whom to thank for it."""

    name: str
    folder: str
    files: tuple[RemoteFile, ...]
    origin: str
    licence: str
    citation: str
    simulated: bool = True

    @property
    def file_names(self) -> tuple[str, ...]:
        """Names of the raw files."""
        return tuple(file.name for file in self.files)


def subject_file(subject: str) -> str:
    """Return the published name of one subject's file.

    >>> subject_file("P3")
    'data-science-P3.mat'
    """
    return f"data-science-{subject}.mat"


def _both(path: str) -> tuple[str, ...]:
    """Give an address by https first, then by http for servers that have no certificate."""
    return f"https://{path}", f"http://{path}"


QUESTIONS = RemoteFile(
    QUESTIONS_FILE,
    (
        "https://raw.githubusercontent.com/{}/{}/{}".format(*_QUESTIONS),
        "https://github.com/{}/raw/{}/{}".format(*_QUESTIONS),
    ),
    "4ffe3b8eb29f3236ce0518f0d2cb093ab057549002b66139a2c54ade5ebd85b5",
    321862,
)
WALL = RemoteFile(
    WALL_FILE,
    _both(f"{_WOSN}/{WALL_FILE}"),
    "c4449336e346061068b8278d09176b195b3f132f6d6fe50adbc5730938496dca",
)
LINKS = RemoteFile(
    LINKS_FILE,
    _both(f"{_WOSN}/{LINKS_FILE}"),
    "32d149f76c3421a08b03bfc629a9de6ce65b6fa56272cd9d5424e3de5b1acff2",
)

_BRAIN_LICENCE = "no licence stated; published by the authors for research, cite the papers"
_BRAIN_CITATION = (
    "T. M. Mitchell et al., Predicting human brain activity associated with the meanings of nouns, Science 320, 2008; "
    "G. Sudre et al., Tracking neural coding of perceptual and semantic features of concrete nouns, NeuroImage 62, 2012"
)
_WALL_LICENCE = (
    "no licence stated; anonymised by the authors and published for research, cite the paper"
)
_WALL_CITATION = (
    "B. Viswanath, A. Mislove, M. Cha and K. P. Gummadi, On the evolution of user interaction in Facebook, "
    "ACM Workshop on Online Social Networks (WOSN), 2009"
)
_WALL_ORIGIN = "https://socialnetworks.mpi-sws.org/data-wosn2009.html"

DATASETS = {
    source.name: source
    for source in (
        DataSource(
            "brainq",
            "brainq",
            (
                QUESTIONS,
                *(
                    RemoteFile(
                        subject_file(subject),
                        _both(f"{_SCIENCE}/{subject_file(subject)}"),
                        structure="subject",
                    )
                    for subject in SUBJECTS
                ),
            ),
            f"http://{_SCIENCE}/data.html",
            _BRAIN_LICENCE,
            _BRAIN_CITATION,
        ),
        DataSource(
            "facebook", "facebook", (WALL, LINKS), _WALL_ORIGIN, _WALL_LICENCE, _WALL_CITATION
        ),
        DataSource(
            "random",
            "random",
            (RemoteFile(TENSOR_FILE, structure="tns"), RemoteFile(MATRIX_FILE, structure="tns")),
            "scoup.simulate.random",
            "none needed: drawn by the program",
            "none needed: drawn by the program",
        ),
        DataSource(
            "brainq_excerpt",
            "brainq",
            (QUESTIONS, RemoteFile(FMRI_EXCERPT_FILE, structure="excerpt")),
            f"http://{_SCIENCE}/data.html",
            _BRAIN_LICENCE,
            _BRAIN_CITATION,
            simulated=False,
        ),
        DataSource(
            "facebook_excerpt",
            "facebook",
            (
                RemoteFile(SMALL_WALL_FILE, structure="wall"),
                RemoteFile(SMALL_LINKS_FILE, structure="links"),
            ),
            _WALL_ORIGIN,
            _WALL_LICENCE,
            _WALL_CITATION,
            simulated=False,
        ),
        # Files of a user's own, of any name: which ones they are is said in the options of the data set.
        DataSource(
            "files", "files", (), "your own files", "your own", "none given", simulated=False
        ),
    )
}


def get(name: str) -> DataSource:
    """Return the data set called ``name``.

    >>> get("facebook").file_names
    ('facebook-wall.txt.gz', 'facebook-links.txt.gz')
    """
    if name not in DATASETS:
        raise ScoupError.expected("dataset", f"one of {', '.join(DATASETS)}", repr(name))
    return DATASETS[name]
