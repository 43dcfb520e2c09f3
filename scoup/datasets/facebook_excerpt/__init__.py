"""An excerpt of Facebook: samples of the posts and of the friendships."""

from pydantic import Field

from scoup.datasets import DataSource, RemoteFile, facebook
from scoup.datasets.facebook import ColumnOrder, traits

__all__ = ["SOURCE", "Options", "shape", "traits"]

WALL_FILE, LINKS_FILE = "user-wall-small.txt.gz", "user-links-small.txt.gz"
SOURCE = DataSource(
    folder="facebook",
    files=(RemoteFile(WALL_FILE), RemoteFile(LINKS_FILE)),
    origin=facebook.SOURCE.origin,
    licence=facebook.SOURCE.licence,
    citation=facebook.SOURCE.citation,
)


class Options(facebook.Options):
    """The options of the whole network; the excerpt has the poster first."""

    columns: ColumnOrder = Field(
        "poster_owner", description="what the first two columns of the wall file are"
    )


def shape(size: str, options: Options) -> None:
    """Return None: the numbers of users and days are only known from the files."""
