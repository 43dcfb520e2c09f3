"""Sample indices with a bias to the dense parts of the data.

For each factor (a tensor mode, or the columns of a matrix) the density of an index is the absolute
sum of everything it touches. A repetition samples n = ceil(I / s) indices, ceil(p n) of them common
to all repetitions; both are drawn without replacement with probability proportional to density.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod

import numpy as np

from scoup import kernels
from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.kernels.membership import count_members, sample_masks
from scoup.machine import share_out
from scoup.records import Array, Sample
from scoup.seeds import generator
from scoup.specs import SampleSpec
from scoup.streamed import StreamedTensor
from scoup.tensor import SparseTensor

log = logging.getLogger(__name__)

# A budget of cells: how many samples are counted, and the ratio of the factors of two of them.
RUNGS, RUNG = 32, 2**0.25


def densities(data: CoupledData) -> list[Array]:
    """Return the density vector of each of ``[*modes, *sides]``, over observed cells.

    ``x_A(i) = sum_jk |X(i,j,k)| + sum_j |Y_1(i,j)|`` for a mode, ``y_D(j) = sum_i |Y_1(i,j)|`` for
    a side. They do not depend on the repetition.

    >>> data = CoupledData(np.ones((2, 2, 2)), {0: np.array([[1.0], [-3.0]])})
    >>> [vector.tolist() for vector in densities(data)]
    [[5.0, 7.0], [4.0, 4.0], [4.0, 4.0], [4.0]]
    """
    totals = [np.zeros(size) for size in data.sizes]
    for block in data.blocks:
        for position, marginal in zip(block.factors, _marginals(block.values), strict=True):
            totals[position] += marginal
    return totals


def _marginals(values: Array | SparseTensor | StreamedTensor) -> list[Array]:
    if isinstance(values, StreamedTensor):
        return values.densities()
    if isinstance(values, SparseTensor):
        return kernels.sparse_densities(values.coords, values.values, values.shape)
    return kernels.densities(values)


def draw_biased(density: Array, count: int, rng: np.random.Generator) -> Array:
    """Draw ``count`` indices without replacement, each with probability proportional to density.

    The ``count`` smallest of Exponential(1) / density are such a draw (Efraimidis and Spirakis).
    Indices of zero density are never drawn; ``count`` is capped at the number that have mass. The
    result is sorted.

    >>> draw_biased(np.array([0.0, 1.0, 2.0]), 5, np.random.default_rng(0)).tolist()
    [1, 2]
    """
    return np.sort(_first_drawn(_keys(density, rng), count))


def _keys(density: Array, rng: np.random.Generator) -> Array:
    """Return a random number for each index: those with the smallest are drawn, infinity never."""
    # One number per index, with mass or not: an index is drawn alike when another loses its mass.
    keys = rng.standard_exponential(len(density))
    has_mass = density > 0
    np.divide(keys, density, out=keys, where=has_mass)
    keys[~has_mass] = np.inf
    return keys


def _first_drawn(keys: Array, count: int) -> Array:
    """Return the indices of the ``count`` smallest keys, in any order."""
    count = min(count, int(np.count_nonzero(np.isfinite(keys))))
    return np.argpartition(keys, count - 1)[:count] if count else np.empty(0, np.int64)


@dataclass(frozen=True)
class Quota:
    """How many indices of one factor a repetition samples, and how many of them are common.

    >>> Quota(sampled=10, common=4).common
    4
    """

    sampled: int
    common: int


def quota(density: Array, factor: float, shared: float, rank: int) -> Quota:
    """Return n = ceil(I / s) and ceil(p n), each at least F + 1 if as many indices have mass.

    >>> quota(np.ones(100), 10.0, 0.35, 3)
    Quota(sampled=10, common=4)
    """
    alive = int(np.count_nonzero(density > 0))
    least = min(rank + 1, alive)
    sampled = alive if factor == 1 else min(max(ceil(len(density) / factor), least), alive)
    common = min(max(ceil(shared * sampled), least), sampled)
    if sampled > ceil(len(density) / factor):
        message = "sampled %d of %d indices instead of %d, to distinguish %d components"
        log.info(message, sampled, alive, ceil(len(density) / factor), rank)
    return Quota(sampled, common)


def draw(
    data: CoupledData, spec: SampleSpec, seed: int, density: Sequence[Array] | None = None
) -> list[Sample]:
    """Draw the index sets of all repetitions.

    Repetition k depends on the seed and on k alone, never on the number of repetitions.

    >>> data = CoupledData(np.ones((8, 8, 8)))
    >>> spec = SampleSpec(rank=1, sampling=2, repetitions=2)
    >>> [sample.sizes for sample in draw(data, spec, seed=0)]
    [(4, 4, 4), (4, 4, 4)]
    """
    density = densities(data) if density is None else density
    # A block of zeros has no mass anywhere: its indices are drawn alike.
    density = [vector if vector.any() else np.ones(len(vector)) for vector in density]
    return _draw(density, sampling_within(data, spec, seed, density), spec, seed, spec.repetitions)


def sampling_within(
    data: CoupledData, spec: SampleSpec, seed: int, density: Sequence[Array]
) -> list[float]:
    """Return the sampling factors, raised until the first repetition holds ``spec.cells`` at most.

    Biased draws take heavy indices, so how many cells a factor leaves is counted: 32 samples, each
    with all factors above 1 larger by the fourth root of 2, in one pass over a tensor on disk.

    >>> data = CoupledData(np.ones((8, 8, 8)))
    >>> spec = SampleSpec(rank=1, sampling=(2, 2, 1), cells=72)
    >>> [round(s, 2) for s in sampling_within(data, spec, 0, densities(data))]
    [2.83, 2.83, 1.0]
    """
    factors = sampling_of(data, spec)
    if spec.cells is None:
        return factors
    ladder = [[s * RUNG**k if s > 1 else s for s in factors] for k in range(RUNGS)]
    modes = [
        _draw_rungs(density[mode], [rung[mode] for rung in ladder], mode, spec, seed)
        for mode in range(data.ndim)
    ]
    counts = _count_cells(data.blocks[0].values, list(zip(*modes, strict=True)))
    fitting = [rung for rung, count in zip(ladder, counts, strict=True) if count <= spec.cells]
    if not fitting:
        expected = f"{min(counts):,} or more with these sampling factors"
        raise ScoupError.expected("cells", expected, f"{spec.cells:,}", "raise one or the other")
    return fitting[0]


def _count_cells(
    values: Array | SparseTensor | StreamedTensor, samples: Sequence[Sequence[Array]]
) -> list[int]:
    """Return how many cells each sample holds; of a dense tensor, zeros count as well."""
    if isinstance(values, StreamedTensor):
        return values.count_all(samples)
    if not isinstance(values, SparseTensor):
        return [prod(len(index) for index in indices) for indices in samples]
    masks = tuple(sample_masks(size, mode, samples) for mode, size in enumerate(values.shape))
    return count_members(list(values.coords), masks, len(samples)).tolist()


def _draw_rungs(
    density: Array, factors: Sequence[float], position: int, spec: SampleSpec, seed: int
) -> list[Array]:
    """Draw the indices of the first repetition for ascending sampling factors, in any order.

    All of them draw the same numbers, so each takes the first ones of one ranking.
    """
    quotas = [quota(density, factor, spec.shared, spec.rank) for factor in factors]
    most = quotas[0].sampled

    def ranking(*words: str | int) -> Array:
        keys = _keys(density, generator(seed, *words))
        drawn = _first_drawn(keys, most)
        return drawn[np.argsort(keys[drawn], kind="stable")]

    shared, others = ranking("common", position), ranking("repetition", 0, position)
    rank_of = np.full(len(density), most, np.int32)
    rank_of[shared] = np.arange(shared.size)
    rungs = []
    for number in quotas:
        rest = others[: number.sampled]
        rest = rest[rank_of[rest] >= number.common][: number.sampled - number.common]
        rungs.append(np.concatenate([shared[: number.common], rest]))
    return rungs


def _draw(
    density: Sequence[Array],
    sampling: Sequence[float],
    spec: SampleSpec,
    seed: int,
    repetitions: int,
) -> list[Sample]:
    """Draw the index sets of the first ``repetitions``."""
    quotas = [quota(d, s, spec.shared, spec.rank) for d, s in zip(density, sampling, strict=True)]
    common = tuple(
        draw_biased(d, q.common, generator(seed, "common", position))
        for position, (d, q) in enumerate(zip(density, quotas, strict=True))
    )
    return share_out(lambda k: _repetition(k, density, quotas, common, seed), range(repetitions))


def _repetition(
    k: int, density: Sequence[Array], quotas: Sequence[Quota], common: tuple[Array, ...], seed: int
) -> Sample:
    indices = []
    for position, (vector, counts, shared) in enumerate(zip(density, quotas, common, strict=True)):
        remaining = vector.copy()
        remaining[shared] = 0.0
        rng = generator(seed, "repetition", k, position)
        drawn = draw_biased(remaining, counts.sampled - counts.common, rng)
        indices.append(np.sort(np.concatenate([shared, drawn])))
    return Sample(k, tuple(indices), common)


def sampling_of(data: CoupledData, spec: SampleSpec) -> list[float]:
    """Return one sampling factor for each of ``[*modes, *sides]``; sides default to their mode's.

    >>> data = CoupledData(np.ones((2, 3, 4)), {0: np.ones((2, 5))})
    >>> sampling_of(data, SampleSpec(rank=1, sampling=(3, 86, 1)))
    [3.0, 86.0, 1.0, 3.0]
    """
    modes = _factors("sampling", spec.sampling, data.ndim, ", one per tensor mode")
    by_mode = spec.side_sampling or {}
    if set(by_mode) - set(data.matrices):
        expected = f"a dict with modes among {sorted(data.matrices)}"
        raise ScoupError.expected("side_sampling", expected, by_mode)
    sides = []
    for mode, group in data.matrices.items():
        factor = by_mode.get(mode, modes[mode])
        sides += _factors(f"side_sampling[{mode}]", factor, len(group))
    return [*modes, *sides]


def _factors(name: str, factor: float | Sequence[float], count: int, hint: str = "") -> list[float]:
    """Return ``count`` factors, from one for all or from one each."""
    factors = [factor] * count if isinstance(factor, (int, float)) else list(factor)
    if len(factors) != count:
        raise ScoupError.expected(name, f"one factor, or {count}{hint}", factors)
    return [float(number) for number in factors]
