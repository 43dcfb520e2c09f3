"""Files: a tensor and matrices in user-supplied files, which are read where they are."""

from typing import Any

from pydantic import Field

from scoup.datasets import DataSource, Traits
from scoup.specs import Spec

SOURCE = DataSource(
    folder="files",
    files=(),
    origin="user-supplied files",
    licence="that of the files",
    citation="none given",
)


class Options(Spec):
    """Which files a data set is made of."""

    tensor: Any = Field(description="the file of the tensor, or a mapping that describes it")
    matrices: Any = Field((), description="files of matrices")
    labels: Any = Field({}, description="files of labels, by mode")


def paths(options: Options) -> list[str]:
    """Return all files that are read, each once."""
    return _parsed(options).paths


def traits(options: Options) -> Traits:
    """Return what the heads of the files tell."""
    from scoup.preprocess.files import mode_of
    from scoup.raw.peek import peek
    from scoup.raw.table import is_table, read_head

    files = _parsed(options)
    head = peek(files.tensor)
    modes = tuple(mode_of(source, head.names) for source in files.matrices)
    first = modes[0] if modes else 0
    labels = files.labels.get(head.names[first], files.labels.get(first))
    categories = (
        labels is not None and is_table(labels) and "category" in read_head(labels).names[1:]
    )
    missing = any(source.missing or source.observed for source in (files.tensor, *files.matrices))
    return Traits(head.names, head.sparse, modes, missing, categories)


def shape(size: str, options: Options) -> None:
    """Return None: the sizes are only known from the files."""


def _parsed(options: Options) -> Any:
    from scoup.preprocess.files import FilesOptions

    return FilesOptions.of(dict(options))
