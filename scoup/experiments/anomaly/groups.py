"""Groups: users who write on each other's walls, and when they do; counting shows none of this.

On one day hardly any three friends meet, so days are pooled into slices. Two controls show what
appears by chance: posters exchanged between the posts of a slice (who writes to whom is lost), and
slices exchanged between all posts (who writes to whom is kept, when is lost).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scoup import pipeline
from scoup.coupled import CoupledData, Dataset
from scoup.experiments.anomaly.kinds import DAY, POSTER, WALL, members_of, participation
from scoup.records import Array, Factors
from scoup.seeds import generator
from scoup.specs import PlanSpec
from scoup.tensor import SparseTensor
from scoup.values import view

MIN_CORE_USERS = 4  # who both write and are written to
MIN_PAIR_SHARE = 0.1  # of the members' pairs that have posts; a crowd of strangers has fewer
MIN_SLICES = 8  # shorter slices if the data has fewer
MIN_OVERLAP = 0.5  # of members (Jaccard) and of slices, for a planted group to be found
MODES = (WALL, POSTER, DAY)


@dataclass(frozen=True)
class Group:
    """Walls, posters and slices that take part in one component, strongest first.

    ``core`` are the users who are among the walls and among the posters; ``posts`` and ``pairs``
    lie between members in these slices; ``course`` are the posts between members in every slice.
    ``friends`` is the share of friends among members who never write to each other, if known.
    """

    members: tuple[tuple[int, ...], ...]
    core: tuple[int, ...]
    posts: int
    pairs: int
    course: tuple[int, ...]
    friends: float | None

    @property
    def is_close(self) -> bool:
        """Whether enough users are in both roles, and enough of the members' pairs have posts."""
        possible = len(self.members[WALL]) * len(self.members[POSTER])
        return len(self.core) >= MIN_CORE_USERS and self.pairs >= MIN_PAIR_SHARE * possible


def slice_length(days: int, requested: int) -> int:
    """Return the days per slice: as requested, or fewer if the data is short.

    >>> slice_length(1562, 28), slice_length(60, 28)
    (28, 7)
    """
    return max(1, min(requested, days // MIN_SLICES))


def pool_days(posts: SparseTensor, length: int) -> SparseTensor:
    """Add up the posts of ``length`` days each.

    >>> posts = SparseTensor(np.array([[0, 0], [1, 1], [5, 6]]), np.ones(2), (2, 2, 14))
    >>> pool_days(posts, 7).shape, pool_days(posts, 7).values.tolist()
    ((2, 2, 2), [2.0])
    """
    coords = posts.coords.copy()
    coords[DAY] //= length
    return SparseTensor(coords, posts.values, (*posts.shape[:DAY], -(-posts.shape[DAY] // length)))


def exchange(posts: SparseTensor, control: str, rng: np.random.Generator) -> SparseTensor:
    """Return the posts of a control: ``rewired`` posters, or ``shuffled`` slices."""
    coords = np.repeat(posts.coords, posts.values.astype(np.int64), axis=1)
    mode = POSTER if control == "rewired" else DAY
    block = coords[DAY] if control == "rewired" else np.zeros(coords.shape[1], dtype=np.int64)
    drawn = coords[mode, np.lexsort((rng.random(block.size), block))]
    exchanged = coords.copy()
    exchanged[mode, np.argsort(block, kind="stable")] = drawn
    return SparseTensor(exchanged, np.ones(block.size), posts.shape)


def find_groups(
    dataset: Dataset, rank: int, length: int, seed: int, control: str = ""
) -> list[Group]:
    """Factorize the pooled posts, or those of a control, and return the groups, largest first.

    Every pair of users counts the same (``values: even``); friendships are not used, so that they
    can bear witness.
    """
    daily = dataset.data.blocks[0].values
    assert isinstance(daily, SparseTensor)
    posts = pool_days(daily, length)
    if control:
        posts = exchange(posts, control, generator(seed, "anomaly", control))
    plan = PlanSpec(rank=min(rank, *posts.shape), init="random", max_iter=30, tol=0.0)
    data = view(CoupledData(posts), "even")
    factors = pipeline.run(data, plan, seed).merged.factors
    friends = friendships(dataset)
    groups = (_group(factors, column, posts, dataset, friends) for column in range(factors.rank))
    chosen = [group for group in groups if group.is_close]
    return sorted(chosen, key=lambda group: (-len(group.core), -group.posts, group.members))


def _group(
    factors: Factors, column: int, posts: SparseTensor, dataset: Dataset, friends: Array | None
) -> Group:
    vectors = [mode[:, column] for mode in factors.modes]
    members = tuple(
        members_of(vector, np.arange(vector.size), participation(vector)) for vector in vectors
    )
    walls, posters, slices = (np.isin(posts.coords[mode], members[mode]) for mode in MODES)
    between = walls & posters
    inside = between & slices
    pairs = set(zip(*posts.coords[:DAY, inside].tolist(), strict=True))
    course = np.bincount(
        posts.coords[DAY, between], weights=posts.values[between], minlength=posts.shape[DAY]
    )
    return Group(
        members=members,
        core=_core(members, dataset),
        posts=int(posts.values[inside].sum()),
        pairs=len(pairs),
        course=tuple(course.astype(int).tolist()),
        friends=_silent_friends(members, posts.coords[:DAY, between], friends),
    )


def _core(members: Sequence[Sequence[int]], dataset: Dataset) -> tuple[int, ...]:
    """Return the walls whose owners, by their labels, are among the posters."""
    posters = {str(dataset.labels[POSTER].ids[index]) for index in members[POSTER]}
    ids = dataset.labels[WALL].ids
    return tuple(index for index in members[WALL] if str(ids[index]) in posters)


def friendships(dataset: Dataset) -> Array | None:
    """Return the pairs (2, n) of a matrix between the walls' owners and themselves, if any."""
    users = dataset.labels[WALL].ids
    if not np.array_equal(users, dataset.labels[POSTER].ids):
        return None
    for block, label in zip(dataset.data.blocks[1:], dataset.labels[3:], strict=True):
        is_on_users = block.factors[0] != DAY and np.array_equal(label.ids, users)
        if is_on_users and isinstance(block.values, SparseTensor):
            return block.values.coords
    return None


def _silent_friends(
    members: Sequence[Sequence[int]], written: Array, friends: Array | None
) -> float | None:
    """Return the share of friends among pairs of members who never write to each other."""
    if friends is None:
        return None
    talking = {frozenset(pair) for pair in written.T.tolist()}
    silent = {
        frozenset((wall, poster)) for wall in members[WALL] for poster in members[POSTER]
    } - talking
    silent = {pair for pair in silent if len(pair) == 2}
    known = np.isin(friends[0], members[WALL]) & np.isin(friends[1], members[POSTER])
    linked = {frozenset(pair) for pair in friends[:, known].T.tolist()}
    return len(silent & linked) / len(silent) if silent else None


def planted_groups(
    planted: Mapping[str, Any], users: Array, length: int
) -> list[tuple[set[int], set[int]]]:
    """Return members and slices of each planted group; [] without a truth."""
    position = {int(user): index for index, user in enumerate(users)} if planted else {}
    return [
        (
            {position[int(user)] for user in [*event["walls"], *event["posters"]]},
            {int(day) // length for day in event["days"]},
        )
        for event in planted.get("planted", [])
        if event["kind"] == "community"
    ]


def share_found(
    planted: Sequence[tuple[set[int], set[int]]],
    listed: Iterable[Sequence[Sequence[int]]],
) -> float:
    """Return the share of planted groups that some entry of ``listed`` shows, users and slices.

    An entry is (walls, posters, slices); half of its users and half of its slices must be right.
    """
    entries = [(set(walls) | set(posters), set(slices)) for walls, posters, slices in listed]
    hits = [
        any(
            len(users & members) >= MIN_OVERLAP * len(users | members)
            and len(slices & times) >= MIN_OVERLAP * len(times)
            for members, times in entries
        )
        for users, slices in planted
    ]
    return sum(hits) / max(1, len(hits))
