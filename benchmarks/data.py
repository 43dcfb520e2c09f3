"""Simulated data in the shapes of the benchmarks."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse

from scoup.records import Array
from scoup.seeds import generator
from scoup.tensor import SparseTensor

FACEBOOK = (63_890, 63_890, 1_847)
FACEBOOK_CELLS = 740_000
FACEBOOK_LINKS = 1_600_000
BRAINQ = (60, 77_775, 9)
BRAINQ_QUESTIONS = 218
# A tenth of the voxels, so that coordinate descent with missing cells converges in the benchmark.
SMALL_BRAINQ = (60, 7_777, 9)
# Relative noise that leaves 4 % of the squared norm explainable, as in the published images.
NOISE_RATIO = 5.0
# Non-negative data: dense, with two entries of its factors in five zero.
PARTS_SHAPE, PARTS_RANK, PARTS_NOISE = (200, 150, 100), 10, 0.5
FOUR_WAY = (8_000, 6_000, 400, 24)
FOUR_WAY_CELLS = 1_000_000
# A prime larger than any number of pairs: steps of it scatter neighbours.
PRIME_STEP = 2_147_483_647
CACHE = Path(__file__).parent / "out" / "data"


def _draw_users(rng: np.random.Generator, users: int, count: int) -> Array:
    """Draw users whose activity is log-normal: a few come up far more often than most."""
    activity = np.cumsum(rng.lognormal(0.0, 1.5, users))
    return np.searchsorted(activity, rng.random(count) * activity[-1]).astype(np.int64)


def _trim(rng: np.random.Generator, flat: Array, count: int) -> Array:
    """Drop numbers at random until ``count`` remain, in their order."""
    return np.delete(flat, rng.choice(flat.size, flat.size - count, replace=False))


def _distinct_pairs(rng: np.random.Generator, users: int, count: int) -> Array:
    """Draw exactly ``count`` distinct pairs of users, (2, count), sorted."""
    flat = np.empty(0, np.int64)
    while flat.size < count:
        more = int(1.1 * (count - flat.size)) + 1000
        pairs = _draw_users(rng, users, more) * users + _draw_users(rng, users, more)
        flat = np.unique(np.concatenate([flat, pairs]))
    flat = _trim(rng, flat, count)
    return np.array([flat // users, flat % users])


def wall(
    cells: int = FACEBOOK_CELLS, shape: tuple[int, int, int] = FACEBOOK, seed: int = 0
) -> SparseTensor:
    """Simulate wall posts, poster x wall x day: about 2.7 days per pair, as in the real data."""
    rng = generator(seed, "wall", cells)
    pairs = _distinct_pairs(rng, shape[0], int(cells / 2.7))
    count = pairs.shape[1]
    flat = np.empty(0, np.int64)
    while flat.size < cells:
        more = int(1.1 * (cells - flat.size)) + 1000
        # Some pairs have far more posts than others; each has at least one day.
        pair = (count * rng.random(more) ** 1.5).astype(np.int64) * PRIME_STEP % count
        pair = pair if flat.size else np.concatenate([np.arange(count), pair[count:]])
        day = np.floor(shape[2] * np.sqrt(rng.random(pair.size))).astype(np.int64)
        flat = np.unique(
            np.concatenate([flat, (pairs[0, pair] * shape[1] + pairs[1, pair]) * shape[2] + day])
        )
    flat = _trim(rng, flat, cells)
    coords = np.array(np.unravel_index(flat, shape), dtype=np.int32)
    return SparseTensor(coords, 1.0 + rng.integers(0, 3, cells), shape)


def links(count: int = FACEBOOK_LINKS, users: int = FACEBOOK[0], seed: int = 0) -> sparse.csr_array:
    """Simulate friendships: a sparse 0/1 matrix with exactly ``count`` entries."""
    rows, columns = _distinct_pairs(generator(seed, "links", count), users, count)
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=users))])
    return sparse.csr_array((np.ones(count), columns, ends), shape=(users, users))


def brainq(
    noise: float = NOISE_RATIO, rank: int = 5, shape: tuple[int, ...] = BRAINQ, seed: int = 0
) -> tuple[Array, Array]:
    """Simulate BrainQ: a dense tensor of planted rank and its questions, with relative noise."""
    rng = generator(seed, "brainq")
    nouns, voxels, subjects = (rng.standard_normal((size, rank)) for size in shape)
    tensor = np.ascontiguousarray(
        np.einsum("if,jf,kf->ijk", nouns, voxels, subjects, optimize=True)
    )
    tensor += noise * tensor.std() * rng.standard_normal(shape)
    questions = nouns @ rng.standard_normal((BRAINQ_QUESTIONS, rank)).T
    questions += noise * questions.std() * rng.standard_normal(questions.shape)
    return tensor, questions


def missing(share: float, shape: tuple[int, ...] = SMALL_BRAINQ, seed: int = 0) -> Array:
    """Mark the observed cells: all but a random ``share``."""
    return generator(seed, "missing", int(1000 * share)).random(shape) >= share


def four_way(
    cells: int = FOUR_WAY_CELLS, shape: tuple[int, ...] = FOUR_WAY, rank: int = 10, seed: int = 0
) -> SparseTensor:
    """Simulate events with four modes, in ``rank`` groups that share users, places and times."""
    rng = generator(seed, "four", cells)
    flat = np.empty(0, np.int64)
    while flat.size < cells:
        group = rng.integers(0, rank, 2 * cells)
        coords = [_around(rng, group, size, rank) for size in shape]
        flat = np.unique(np.concatenate([flat, np.ravel_multi_index(coords, shape)]))
    flat = _trim(rng, flat, cells)
    coords = np.array(np.unravel_index(flat, shape), dtype=np.int32)
    return SparseTensor(coords, 1.0 + rng.integers(0, 3, cells), shape)


def _around(rng: np.random.Generator, group: Array, size: int, rank: int) -> Array:
    """Draw indices near the centre of each event's group, heavy-tailed, on a ring of ``size``."""
    steps = rng.standard_cauchy(group.size) * size / (8 * rank)
    return (group * size // rank + np.clip(steps, -1e6, 1e6).astype(np.int64)) % size


def parts(seed: int = 0) -> Array:
    """Simulate a non-negative tensor of parts, with noise relative to its spread cut at zero."""
    rng = generator(seed, "parts")
    factors = [
        rng.random((size, PARTS_RANK)) * (rng.random((size, PARTS_RANK)) < 0.6)
        for size in PARTS_SHAPE
    ]
    tensor = np.einsum("if,jf,kf->ijk", *factors, optimize=True)
    noise = PARTS_NOISE * tensor.std() * rng.standard_normal(tensor.shape)
    return np.maximum(tensor + noise, 0.0)


def start(shape: tuple[int, ...], rank: int, seed: int = 0) -> list[Array]:
    """Draw factors (I_n, F), the same for every contender."""
    rng = generator(seed, "start", rank)
    return [rng.standard_normal((size, rank)) for size in shape]


def load_brainq(shape: tuple[int, ...] = BRAINQ, noise: float = NOISE_RATIO) -> tuple[Array, Array]:
    """Return :func:`brainq`, cached in a file."""
    arrays = _cached(
        f"brainq-{shape[1]}-{noise:g}",
        lambda: dict(zip("xy", brainq(noise, shape=shape), strict=True)),
    )
    return arrays["x"], arrays["y"]


def load_four_way() -> SparseTensor:
    """Return :func:`four_way`, cached in a file."""
    return SparseTensor.from_owned_arrays(*_cells("four", four_way), FOUR_WAY)


def load_wall(cells: int = FACEBOOK_CELLS) -> SparseTensor:
    """Return :func:`wall`, cached in a file, as every contender's process needs it."""
    return SparseTensor.from_owned_arrays(*_cells(f"wall-{cells}", lambda: wall(cells)), FACEBOOK)


def load_links(count: int = FACEBOOK_LINKS) -> sparse.csr_array:
    """Return :func:`links`, cached in a file."""
    arrays = _cached(f"links-{count}", lambda: _csr(links(count)))
    return sparse.csr_array(
        (arrays["data"], arrays["indices"], arrays["indptr"]), shape=FACEBOOK[:2]
    )


def _csr(matrix: sparse.csr_array) -> dict[str, Array]:
    return {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}


def _cells(name: str, make: Callable[[], SparseTensor]) -> tuple[Array, Array]:
    def make_arrays() -> dict[str, Array]:
        tensor = make()
        return {"coords": tensor.coords, "values": tensor.values}

    arrays = _cached(name, make_arrays)
    return arrays["coords"], arrays["values"]


def _cached(name: str, make: Callable[[], dict[str, Array]]) -> dict[str, Array]:
    """Return arrays from the cache, or make them and cache them."""
    path = CACHE / f"{name}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part.npz")
        np.savez(part, **make())  # type: ignore[arg-type]
        part.replace(path)
    with np.load(path) as stored:
        return {key: stored[key] for key in stored.files}
