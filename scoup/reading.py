"""Read user-supplied files in Python, as the command line does."""

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Any

from scoup.coupled import CoupledData, Dataset
from scoup.datasets import kind
from scoup.datasets.files.couple import couple_files
from scoup.datasets.shards.couple import couple_shards
from scoup.guess import Guess, guess

Path = str | PathLike[str]


def read(
    tensor: Path,
    *matrices: Path,
    columns: Sequence[str] | None = None,
    value: str | None = None,
    labels: Mapping[str | int, Path] | None = None,
    roles: Mapping[str | int, str] | None = None,
) -> CoupledData:
    """Read a tensor and matrices on its modes; ``data.labels`` name the indices.

    A matrix is on the mode with the same labels, or with as many indices as it has rows;
    ``"links.csv:wall"`` says which. ``columns`` and ``value`` are those of the tensor's table;
    ``labels`` are files and ``roles`` are words such as ``when``, by the name or number of a mode.
    What is not said is guessed, as ``scoup inspect`` shows.

    >>> read("posts.csv", "links.csv:wall", roles={"day": "when"})  # doctest: +SKIP
    CoupledData(tensor: 30 x 25 x 20, 396 non-zeros; matrix0: 30 x 40, 183 non-zeros)
    """
    files = [fspath(path) for path in (tensor, *matrices)]
    named = {str(mode): fspath(path) for mode, path in (labels or {}).items()}
    stated = {str(mode): role for mode, role in (roles or {}).items()}
    return couple_guess(guess(files, columns, value, named, stated)).data


def couple_guess(guessed: Guess) -> Dataset:
    """Read what remains to be read of guessed files, and couple it."""
    options: Any = kind(guessed.kind).Options(**guessed.options)
    if guessed.kind == "shards":
        return couple_shards(guessed.content.values, options)
    return couple_files(options, content=guessed.content)
