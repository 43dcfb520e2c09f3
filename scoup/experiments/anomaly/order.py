"""Order: events as whom, who and when, whichever modes of a data set these are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from scoup.coupled import CoupledData, Dataset
from scoup.errors import ScoupError
from scoup.records import Labels
from scoup.tensor import SparseTensor


@dataclass(frozen=True)
class EventOrder:
    """The modes of whom, who and when, and whether it is known who acts on whom.

    Where it is not, the first of the two other modes stands for who.
    """

    modes: tuple[int, int, int]
    directed: bool

    def words(self, names: Sequence[str]) -> Mapping[str, str]:
        """Return what stars are called, given the names of whom, who and when.

        >>> EventOrder((1, 0, 2), directed=False).words(["b", "a", "t"])["star-out"]
        'one a, many b'
        """
        if self.directed:
            return {}
        whom, who, _ = names
        return {"star-out": f"one {who}, many {whom}", "star-in": f"one {whom}, many {who}"}


def order_of(labels: Sequence[Labels]) -> EventOrder:
    """Return the order of three modes by their roles; one of them must be time.

    >>> order_of([Labels(name, [0, 1]) for name in ("when", "who", "whom")]).modes
    (2, 1, 0)
    >>> order_of([Labels(name, [0, 1]) for name in ("a", "when", "b")])
    EventOrder(modes=(2, 0, 1), directed=False)
    """
    roles = [label.role for label in labels]
    if len(roles) != 3 or roles.count("when") != 1:
        got = ", ".join(f"{label.name} ({label.role or 'no role'})" for label in labels)
        raise ScoupError.expected("roles", "three modes of which one is 'when'", got)
    when = roles.index("when")
    who, whom = (mode for mode in range(3) if mode != when)
    if _acts_on(roles[whom], roles[who]) and not _acts_on(roles[who], roles[whom]):
        who, whom = whom, who
    return EventOrder((whom, who, when), _acts_on(roles[who], roles[whom]))


def _acts_on(role: str, other: str) -> bool:
    """Whether a mode of one role is known to act on a mode of the other."""
    return role != other and (role == "who" or other == "whom")


def arranged(dataset: Dataset, order: EventOrder) -> Dataset:
    """Return the counts as whom x who x when, with their matrices and labels in the same order."""
    if order.modes == (0, 1, 2):
        return dataset
    posts = dataset.data.blocks[0].values
    assert isinstance(posts, SparseTensor)
    modes = list(order.modes)
    shape = tuple(posts.shape[mode] for mode in modes)
    sides = sorted(
        (modes.index(block.factors[0]), block.factors[1]) for block in dataset.data.blocks[1:]
    )
    values = {block.factors[1]: block.values for block in dataset.data.blocks[1:]}
    matrices: dict[int, list[object]] = {mode: [] for mode, _ in sides}
    for mode, factor in sides:
        matrices[mode].append(values[factor])
    labels = [*(dataset.labels[mode] for mode in modes), *(dataset.labels[n] for _, n in sides)]
    tensor = SparseTensor(posts.coords[modes], posts.values, shape)
    return replace(dataset, data=CoupledData(tensor, matrices), labels=tuple(labels))
