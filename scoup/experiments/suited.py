"""Which experiments make sense for which data, told before the first job, from heads of files alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from scoup.experiments.images import SUBJECT
from scoup.preprocess.files import FilesOptions, mode_of
from scoup.raw.peek import peek
from scoup.raw.table import is_table, read_head


@dataclass(frozen=True)
class Traits:
    """What an experiment may need to know of a data set: names of its modes, the modes of its matrices, and more.

    ``categories``: the mode of the first matrix has labels with a column called category.
    """

    names: tuple[str, ...]
    sparse: bool
    matrices: tuple[int, ...] = (0,)
    missing: bool = False
    categories: bool = False


BRAINQ = Traits(("noun", "voxel", "subject"), sparse=False, categories=True)
FACEBOOK = Traits(("wall", "poster", "day"), sparse=True)
TRAITS = {
    "brainq": BRAINQ,
    "brainq_excerpt": BRAINQ,
    "facebook": FACEBOOK,
    "facebook_excerpt": FACEBOOK,
    "random": Traits(("mode0", "mode1", "mode2"), sparse=True),
}


def traits(dataset: Mapping[str, Any]) -> Traits:
    """Return the traits of a data set as its configuration describes it; of files, their heads are looked at."""
    if dataset["kind"] != "files":
        return TRAITS[dataset["kind"]]
    options = FilesOptions.of(dataset["options"])
    head = peek(options.tensor)
    modes = tuple(mode_of(source, head.names) for source in options.matrices)
    things = modes[0] if modes else 0
    file = options.labels.get(head.names[things], options.labels.get(things))
    categories = file is not None and is_table(file) and "category" in read_head(file).names[1:]
    missing = any(source.missing or source.observed for source in (options.tensor, *options.matrices))
    return Traits(head.names, head.sparse, modes, missing, categories)


def why_not(experiment: str, data: Traits) -> str:
    """Say in a few words why an experiment makes no sense for a data set; nothing where it does.

    >>> why_not("leave_two_out", FACEBOOK)
    'it tells dense images of things apart, and the tensor is sparse'
    >>> why_not("accuracy", FACEBOOK)
    ''
    """
    return _REASONS[experiment](data) if experiment in _REASONS else ""


def _images(data: Traits) -> str:
    """What both experiments on images of things ask for."""
    what = "it tells dense images of things apart"
    if data.sparse:
        return f"{what}, and the tensor is sparse"
    if data.missing:
        return f"{what}, and some cells are missing"
    if len(data.matrices) != 1:
        return "it needs one matrix, on the mode of the things"
    return ""


def _leave_two_out(data: Traits) -> str:
    if _images(data):
        return _images(data)
    if SUBJECT not in data.names:
        return f"it needs a mode called {SUBJECT}, and the modes are {', '.join(data.names)}"
    if data.names[data.matrices[0]] == SUBJECT:
        return f"it needs the matrix on another mode than {SUBJECT}"
    return ""


def _clusters(data: Traits) -> str:
    if not _images(data) and not data.categories:
        return f"it needs a column 'category' in the labels of {data.names[data.matrices[0]]}"
    return _images(data)


def _anomaly(data: Traits) -> str:
    if len(data.names) != 3 or not data.sparse:
        return "it looks for bursts in sparse counts of three modes: whom, who, when"
    return "it needs all cells, and some are missing" if data.missing else ""


def _speedup(data: Traits) -> str:
    return "the printed algorithm, with which it compares, knows no missing cells" if data.missing else ""


_REASONS: dict[str, Callable[[Traits], str]] = {
    "speedup": _speedup,
    "leave_two_out": _leave_two_out,
    "clusters": _clusters,
    "anomaly": _anomaly,
}
