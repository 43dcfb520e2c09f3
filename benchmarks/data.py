"""Simulated data in the shapes that the benchmarks speak of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scoup.seeds import generator
from scoup.tensor import SparseTensor

Array = NDArray[Any]

FACEBOOK = (63_890, 63_890, 1_847)
FACEBOOK_CELLS = 740_000
FACEBOOK_LINKS = 1_600_000
BRAINQ = (60, 77_775, 9)
BRAINQ_QUESTIONS = 218
STORED = Path(__file__).parent / "out" / "data"


def _crowd(rng: np.random.Generator, users: int, count: int) -> Array:
    """Draw users, a few of them far more often than most (log-normal activity)."""
    activity = np.cumsum(rng.lognormal(0.0, 1.5, users))
    return np.searchsorted(activity, rng.random(count) * activity[-1]).astype(np.int64)


def _distinct_pairs(rng: np.random.Generator, users: int, count: int) -> Array:
    """Draw exactly ``count`` distinct pairs of users, (2, count), in random order."""
    flat = np.empty(0, np.int64)
    while flat.size < count:
        more = _crowd(rng, users, 2 * count) * users + _crowd(rng, users, 2 * count)
        flat = np.unique(np.concatenate([flat, more]))
    chosen = rng.permutation(flat)[:count]
    return np.array([chosen // users, chosen % users])


def wall(cells: int = FACEBOOK_CELLS, shape: tuple[int, int, int] = FACEBOOK, seed: int = 0) -> SparseTensor:
    """Simulated wall posts, poster x wall x day: about 2.7 days a pair, as in the published file."""
    rng = generator(seed, "wall", cells)
    pairs = _distinct_pairs(rng, shape[0], int(cells / 2.7))
    flat = np.empty(0, np.int64)
    while flat.size < cells:
        # Pairs repeat as a heavy-tailed share of all posts; each pair has at least one day.
        weight = np.cumsum(rng.lognormal(0.0, 1.0, pairs.shape[1]))
        pair = np.searchsorted(weight, rng.random(cells) * weight[-1])
        pair = np.concatenate([np.arange(pairs.shape[1]), pair]) if not flat.size else pair
        day = np.floor(shape[2] * np.sqrt(rng.random(pair.size))).astype(np.int64)
        flat = np.unique(np.concatenate([flat, (pairs[0, pair] * shape[1] + pairs[1, pair]) * shape[2] + day]))
    flat = np.sort(rng.permutation(flat)[:cells])
    coords = np.array(np.unravel_index(flat, shape), dtype=np.int32)
    return SparseTensor(coords, 1.0 + rng.integers(0, 3, cells), shape)


def links(count: int = FACEBOOK_LINKS, users: int = FACEBOOK[0], seed: int = 0) -> sparse.csr_array:
    """Simulated friendships: a sparse 0/1 matrix with exactly ``count`` entries."""
    rows, columns = _distinct_pairs(generator(seed, "links", count), users, count)
    return sparse.csr_array((np.ones(count), (rows, columns)), shape=(users, users))


def brainq(noise: float = 0.5, rank: int = 5, shape: tuple[int, ...] = BRAINQ, seed: int = 0) -> tuple[Array, Array]:
    """Simulated BrainQ: a dense tensor of planted rank with noise of that relative size, and its questions."""
    rng = generator(seed, "brainq")
    nouns, voxels, subjects = (rng.standard_normal((size, rank)) for size in shape)
    tensor = np.einsum("if,jf,kf->ijk", nouns, voxels, subjects, optimize=True)
    tensor += noise * tensor.std() * rng.standard_normal(shape)
    questions = nouns @ rng.standard_normal((BRAINQ_QUESTIONS, rank)).T
    questions += noise * questions.std() * rng.standard_normal(questions.shape)
    return tensor, questions


def start(shape: tuple[int, ...], rank: int, seed: int = 0) -> list[Array]:
    """Random factors (I_n, F), the same for every contender."""
    rng = generator(seed, "start", rank)
    return [rng.standard_normal((size, rank)) for size in shape]


def load_wall(cells: int = FACEBOOK_CELLS) -> SparseTensor:
    """Return :func:`wall`, made once and kept in a file, since every contender's process asks for it."""
    path = STORED / f"wall-{cells}.npz"
    if not path.exists():
        tensor = wall(cells)
        _keep(path, coords=tensor.coords, values=tensor.values)
    with np.load(path) as stored:
        return SparseTensor(stored["coords"], stored["values"], FACEBOOK)


def load_links(count: int = FACEBOOK_LINKS) -> sparse.csr_array:
    """Return :func:`links`, made once and kept in a file."""
    path = STORED / f"links-{count}.npz"
    if not path.exists():
        matrix = links(count)
        _keep(path, data=matrix.data, indices=matrix.indices, indptr=matrix.indptr)
    with np.load(path) as stored:
        return sparse.csr_array((stored["data"], stored["indices"], stored["indptr"]), shape=FACEBOOK[:2])


def _keep(path: Path, **arrays: Array) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part.npz")
    np.savez(part, **arrays)
    part.replace(path)
