"""Events: who acted on which page on which day, simulated at any size, as shards on disk."""

from dataclasses import dataclass

from scoup.datasets import DataSource, RemoteFile, Traits
from scoup.specs import Spec

ROLES = ("who", "thing", "when")
MANIFEST_FILE, LIKES_FILE = "manifest.json", "likes.npz"
SOURCE = DataSource(
    folder="events",
    files=(RemoteFile(MANIFEST_FILE), RemoteFile(LIKES_FILE)),
    origin="scoup.datasets.events.simulate",
    licence="none needed: simulated",
    citation="none needed: simulated",
)


class Options(Spec):
    """There is nothing to choose."""


@dataclass(frozen=True)
class EventsSize:
    """Numbers of a simulation: about ``cells`` distinct (user, page, day).

    ``groups`` of 20 to 200 users act on the same pages on the same days; ``stars`` are users who
    act on many pages on one day.
    """

    users: int
    pages: int
    days: int
    cells: int
    groups: int = 5
    stars: int = 3

    @classmethod
    def of(cls, cells: int) -> "EventsSize":
        """Return a size for about so many cells, 100 of them per user.

        >>> size = EventsSize.of(10**9)
        >>> size.users, size.pages, size.days
        (10000000, 65536, 2000)
        """
        pages = min(65_536, 2 ** int(2 * cells**0.5).bit_length())
        return cls(max(1_000, cells // 100), pages, min(2_000, max(100, cells // 20_000)), cells)


SIZES = {
    "full": EventsSize.of(10**7),
    "quick": EventsSize.of(10**6),
    "tiny": EventsSize(1_000, 200, 60, 20_000, groups=2, stars=1),
}


def traits(options: Options) -> Traits:
    """Return what is known before any file is read."""
    return Traits(("user", "page", "day"), sparse=True, on_disk=True, roles=ROLES)


def shape(size: str, options: Options) -> tuple[int, ...]:
    """Return users x pages x days."""
    return SIZES[size].users, SIZES[size].pages, SIZES[size].days
