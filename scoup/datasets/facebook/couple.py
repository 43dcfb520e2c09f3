"""Count posts per wall, poster and day, and couple them with the friendships."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from scoup.coupled import CoupledData, Dataset
from scoup.datasets.facebook import LINKS_FILE, WALL_FILE, Options
from scoup.datasets.facebook.read import Links, Wall, read_links, read_wall
from scoup.records import Array, Labels, Provenance
from scoup.shard import shard_tensor
from scoup.tensor import SparseTensor

DAY_SECONDS = 86_400
SHARDS_FOLDER = "shards"


def couple(folder: Path, options: Options, provenance: Provenance) -> Dataset:
    """Read posts and friendships and couple them."""
    wall = read_wall(folder / WALL_FILE, options.columns)
    dataset = couple_posts(wall, read_links(folder / LINKS_FILE), options, provenance)
    if not options.shards:
        return dataset
    posts = dataset.data.tensor
    assert isinstance(posts, SparseTensor)
    sharded = shard_tensor(posts, folder / SHARDS_FOLDER, -(-posts.nnz // options.shards))
    return replace(dataset, data=CoupledData(sharded, dataset.data.matrices))


def couple_posts(
    wall: Wall, links: Links, options: Options, provenance: Provenance | None = None
) -> Dataset:
    """Return posts as a (users, users, days) tensor and friendships as a symmetric 0/1 matrix."""
    lists = (wall.owner, wall.poster, links.user, links.friend)
    users = np.unique(np.concatenate([np.unique(ids) for ids in lists]))
    owner, poster, user, friend = (np.searchsorted(users, ids) for ids in lists)
    day = wall.time // DAY_SECONDS
    first_day, day_count = int(day.min()), int(day.max() - day.min() + 1)
    posts = SparseTensor(
        np.array([owner, poster, day - first_day]),
        np.ones(day.size),
        (users.size, users.size, day_count),
    )
    friendships = friendship_matrix(user, friend, users.size)
    unix_days = first_day + np.arange(day_count)
    dates = unix_days.astype("datetime64[D]").astype(str)
    labels = (
        Labels("wall", users, role="whom"),
        Labels("poster", users, role="who"),
        Labels("day", dates, {"unix_day": unix_days}, role="when"),
        *(Labels("friend", users) for _ in options.coupled),
    )
    data = CoupledData(posts, dict.fromkeys(options.coupled, friendships))
    facts = {"first_day": first_day, "posts": int(day.size), "links": int(user.size)}
    return Dataset(data, labels, provenance, facts=facts)


def friendship_matrix(user: Array, friend: Array, count: int) -> SparseTensor:
    """Return the symmetric 0/1 matrix of friendships, listed once or twice, without self-links.

    >>> friendship_matrix(np.array([0, 1, 2]), np.array([1, 0, 2]), 3).to_dense().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    distinct = user != friend
    rows = np.concatenate([user[distinct], friend[distinct]]).astype(np.int64)
    columns = np.concatenate([friend[distinct], user[distinct]])
    cells = np.unique(rows * count + columns)
    return SparseTensor(np.array(np.divmod(cells, count)), np.ones(cells.size), (count, count))
