"""Facebook: who wrote on whose wall on which day, and who is a friend of whom."""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field, field_validator

from scoup.datasets import DataSource, RemoteFile, Traits, https_then_http
from scoup.specs import Spec, Whole

WALL_FILE, LINKS_FILE = "facebook-wall.txt.gz", "facebook-links.txt.gz"
ColumnOrder = Literal["owner_poster", "poster_owner"]
_WOSN = "socialnetworks.mpi-sws.org/data"

SOURCE = DataSource(
    folder="facebook",
    files=(
        RemoteFile(
            WALL_FILE,
            https_then_http(f"{_WOSN}/{WALL_FILE}"),
            "c4449336e346061068b8278d09176b195b3f132f6d6fe50adbc5730938496dca",
        ),
        RemoteFile(
            LINKS_FILE,
            https_then_http(f"{_WOSN}/{LINKS_FILE}"),
            "32d149f76c3421a08b03bfc629a9de6ce65b6fa56272cd9d5424e3de5b1acff2",
        ),
    ),
    origin="https://socialnetworks.mpi-sws.org/data-wosn2009.html",
    licence="no licence stated; anonymised by the authors and published for research, "
    "cite the paper",
    citation="B. Viswanath, A. Mislove, M. Cha and K. P. Gummadi, On the evolution of user "
    "interaction in Facebook, ACM Workshop on Online Social Networks (WOSN), 2009",
)


class Options(Spec):
    """How posts and friendships become a tensor and matrices."""

    columns: ColumnOrder = Field(
        "owner_poster", description="what the first two columns of the wall file are"
    )
    coupled: tuple[Literal[0, 1], ...] = Field(
        (0,), description="modes that the friendships are coupled to: 0 (wall), 1 (poster)"
    )

    shards: Whole = Field(
        0, description="number of shards, about, in which the tensor stays on disk; 0: in memory"
    )

    @field_validator("coupled")
    @classmethod
    def _check_coupled(cls, modes: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(modes)) != len(modes):
            raise ValueError(f"expected different modes, got {list(modes)}.")
        return tuple(sorted(modes))


@dataclass(frozen=True)
class Plant:
    """What is planted: how many events of each kind, and how large they are (least, most).

    A spammer writes on ``walls`` in one day, a birthday has ``guests``, a long conversation takes
    ``talk_days``, and a group has ``members``.
    """

    spammers: int
    walls: tuple[int, int]
    birthdays: int
    guests: tuple[int, int]
    talk_days: tuple[int, int]
    floods: int = 3
    talks: int = 5
    groups: int = 3
    members: int = 25


@dataclass(frozen=True)
class NetworkSize:
    """Numbers of a simulation: distinct (wall, poster, day) are cells, ``links`` are undirected.

    ``sprees`` are ordinary busy days of a poster or on a wall, of up to ``partners`` partners.
    """

    users: int
    days: int
    posts: int
    cells: int
    links: int
    sprees: int
    partners: int
    plant: Plant


SIZES = {
    "full": NetworkSize(
        63_890, 1_847, 876_993, 740_000, 772_843, 40_000, 45,
        Plant(20, (20, 60), 20, (20, 60), (60, 150)),
    ),
    "quick": NetworkSize(
        4_000, 400, 60_000, 50_000, 40_000, 1_500, 22,
        Plant(8, (12, 30), 8, (12, 30), (40, 80)),
    ),
    "tiny": NetworkSize(
        300, 60, 3_000, 2_500, 2_000, 40, 8,
        Plant(2, (30, 50), 2, (10, 15), (12, 20), members=6),
    ),
}  # fmt: skip


def traits(options: Options) -> Traits:
    """Return what is known before any file is read."""
    roles = ("whom", "who", "when")
    names, on_disk = ("wall", "poster", "day"), options.shards > 0
    return Traits(names, sparse=True, matrices=options.coupled, on_disk=on_disk, roles=roles)


def shape(size: str, options: Options) -> tuple[int, ...]:
    """Return users x users x days of the simulation; those of full size are the paper's."""
    return SIZES[size].users, SIZES[size].users, SIZES[size].days
