"""Files: user-supplied data, read where it is; the options say which files and how."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, StrictBool, model_validator

from scoup import formats
from scoup.datasets import DataSource, Traits
from scoup.errors import ScoupError
from scoup.specs import Spec, Whole

SOURCE = DataSource(
    folder="files",
    files=(),
    origin="your own files",
    licence="your own",
    citation="none given",
)
RoleName = Literal["whom", "who", "when", "thing", "feature", "subject", "place"]
Roles = dict[Whole | str, RoleName]
ROLES_TEXT = (
    "what modes are, by the mode's name or number: whom, who and when of events; thing, feature "
    "and subject of images; place"
)


class Source(formats.Source):
    """The file of the tensor or of a matrix; a path alone stands for ``{file: path}``."""

    mode: Whole | str | None = Field(
        None, description="of a matrix: the tensor's mode, by name or number, that its rows are"
    )
    dense: StrictBool = Field(
        False, description="make a whole array of listed cells, 0 where none is listed"
    )
    missing: str | None = Field(
        None, description="file that lists the hidden cells, or marks them by 1 in an array"
    )
    observed: str | None = Field(
        None,
        description="the same for the known cells; listed: those that the file lists, zeros too",
    )

    @model_validator(mode="after")
    def _one_mask(self) -> Any:
        if self.missing and self.observed:
            raise ScoupError.expected(self.file, "either 'missing' or 'observed'", "both")
        return self

    @property
    def files(self) -> list[str]:
        """All files that are read for this block."""
        observed = None if self.observed == "listed" else self.observed
        return [path for path in (self.file, self.missing, observed) if path]


class Options(Spec):
    """The files that a data set is made of.

    >>> links = {"file": "links.csv", "mode": "wall"}
    >>> Options(tensor="posts.csv", matrices=[links]).matrices[0].mode
    'wall'
    """

    tensor: Source = Field(description="the tensor")
    matrices: list[Source] = Field([], description="matrices on its modes")
    labels: dict[Whole | str, str] = Field(
        {},
        description="files of labels, by the mode's name or number: one label per line, or a table "
        "with the labels first and facts about them",
    )
    roles: Roles = Field({}, description=ROLES_TEXT)


def traits(options: Options) -> Traits:
    """Return what the heads of the files tell."""
    head = formats.peek(options.tensor)
    modes = tuple(mode_of(source, head.names) for source in options.matrices)
    first = modes[0] if modes else 0
    labels = options.labels.get(head.names[first], options.labels.get(first))
    has_columns = labels is not None and formats.is_table(labels)
    return Traits(
        head.names,
        head.sparse and not options.tensor.dense,
        modes,
        any(source.missing or source.observed for source in (options.tensor, *options.matrices)),
        has_columns and "category" in formats.preview(str(labels)).names[1:],
        roles=roles_of(options.roles, head.names),
    )


def shape(size: str, options: Options) -> None:
    """Return nothing: sizes are known once the files have been read."""
    del size, options


def paths(options: Options) -> list[str]:
    """Return all files that are read, each once.

    >>> paths(Options(tensor="posts.csv", matrices=["links.csv"], labels={"wall": "walls.txt"}))
    ['posts.csv', 'links.csv', 'walls.txt']
    """
    blocks = [path for source in (options.tensor, *options.matrices) for path in source.files]
    return list(dict.fromkeys([*blocks, *options.labels.values()]))


def mode_number(key: str | int, names: Sequence[str], setting: str) -> int:
    """Return the number of a mode that a setting names, by its name or number.

    >>> mode_number("day", ["wall", "poster", "day"], "roles")
    2
    """
    if key not in names and key not in range(len(names)):
        raise ScoupError.expected(
            f"options.{setting}", f"modes among {', '.join(names)}", repr(key)
        )
    return key if isinstance(key, int) else list(names).index(key)


def roles_of(roles: Mapping[str | int, str], names: Sequence[str]) -> tuple[str, ...]:
    """Return the role of each mode, empty where none is stated.

    >>> roles_of({"day": "when", 0: "whom"}, ["wall", "poster", "day"])
    ('whom', '', 'when')
    """
    stated = {mode_number(key, names, "roles"): role for key, role in roles.items()}
    return tuple(stated.get(mode, "") for mode in range(len(names)))


def mode_of(source: Source, names: Sequence[str]) -> int:
    """Return the number of the tensor's mode that a matrix is on: as stated, or the mode called
    like its first column.

    >>> mode_of(Source(file="links.csv", mode="poster"), ["wall", "poster", "day"])
    1
    """
    mode = source.mode
    if mode is None and source.columns:
        mode = source.columns[0]
    if isinstance(mode, int) and mode < len(names):
        return mode
    if mode not in names:
        raise ScoupError.expected(
            f"{source.file}: mode",
            f"one of {', '.join(names)}",
            repr(mode),
            "write the mode that its rows are as 'mode'",
        )
    return list(names).index(str(mode))
