"""What the merges share: the record of a matching, rows of samples, similarity of components."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from scoup.coupled import CoupledData
from scoup.factors import column_norms
from scoup.finishes._covered import Covered
from scoup.match import cosines, match
from scoup.records import Array, Factors, Fit, Sample


@dataclass(frozen=True, eq=False)
class Matching:
    """Which rows of each factor are covered, and what a merge found out about the repetitions.

    ``scores`` are the match of each repetition with the ``reference``, ``rejected`` those left out;
    ``consistent`` says whether all factors of a repetition got the same permutation, and
    ``unscaled`` that the columns come at an arbitrary scale and must be scaled to the data.
    ``covered`` is the data on the rows, if the merge has read it.
    """

    rows: tuple[Array, ...]
    scores: tuple[float, ...]
    rejected: tuple[int, ...]
    reference: int
    consistent: bool
    unscaled: bool = False
    covered: Covered | None = None


def common_rows(flat: Sequence[Array], sample: Sample) -> list[Array]:
    """Return the rows of each factor that all repetitions share."""
    return [factor[rows] for factor, rows in zip(flat, sample.common_rows, strict=True)]


def sampled_rows(samples: Sequence[Sample]) -> tuple[Array, ...]:
    """Return for each factor the rows that any of the samples holds, in order.

    >>> samples = [Sample(0, (np.array([n, 4]),), (np.array([4]),)) for n in (3, 0)]
    >>> [rows.tolist() for rows in sampled_rows(samples)]
    [[0, 3, 4]]
    """
    columns = zip(*(sample.indices for sample in samples), strict=True)
    return tuple(np.unique(np.concatenate(indices)) for indices in columns)


def has_mass(factors: Factors) -> bool:
    """Whether a model is non-zero in any block; the fit of an empty sample is not.

    >>> modes = tuple(np.ones((2, 1)) for _ in range(3))
    >>> has_mass(Factors(np.zeros(1), modes)), has_mass(Factors(np.ones(1), modes))
    (False, True)
    """
    norms = [column_norms(factor) for factor in factors.flat]
    order = len(factors.modes)
    tensor = np.abs(factors.weights) * np.prod(norms[:order], axis=0)
    matrices = [norms[m] * norms[n] for n, m in enumerate(factors.owners, start=order)]
    return bool(np.any([tensor, *matrices]))


def similarity(one: Sequence[Array], other: Sequence[Array], powers: Array) -> Array:
    """Weighted congruence of two models, given the directions of their columns: (F, G).

    ``S[f, g] = prod_n |cos(a_nf, b_ng)| ** powers[n]``; a factor with power 0 has no say.

    >>> A, noise = np.eye(2), np.array([[0.6, -0.8], [0.8, 0.6]])
    >>> similarity([A, A], [A, noise], np.array([1.0, 0.0])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    triples = zip(one, other, powers, strict=True)
    return np.prod([cosines(left, right) ** power for left, right, power in triples], axis=0)


def match_score(one: Sequence[Array], other: Sequence[Array], powers: Array) -> float:
    """Mean similarity of two models after the best matching, from 0 (unrelated) to 1 (the same).

    >>> match_score([np.eye(3)], [np.eye(3)[:, ::-1]], np.ones(1))
    1.0
    """
    return float(match(similarity(one, other, powers))[1].mean())


def match_powers(one: Array, other: Array) -> Array:
    """Return how much each factor counts in the match of two repetitions, from their energies.

    The largest is 1. They depend on these two alone, so a match does not change with others.

    >>> match_powers(np.array([2.0, 0.0]), np.array([2.0, 1.0])).tolist()
    [1.0, 0.25]
    """
    both = one + other
    most = both.max()
    return both / most if most > 0 else np.ones_like(both)


def energies(fit: Fit, sample: Sample, data: CoupledData) -> Array:
    """Return for each factor what its blocks explain in one repetition.

    That is, summed over the blocks, their weighted squared norms times the share that the fit
    explains of its sample, beyond what it would explain of noise. The side factor of a matrix of
    noise gets 0, and cannot blur a match.

    >>> from scoup import SCOUP
    >>> rng = np.random.default_rng(0)
    >>> A, B, C = (rng.standard_normal((60, 1)) for _ in range(3))
    >>> tensor, noise = np.einsum("if,jf,kf->ijk", A, B, C), rng.standard_normal((60, 60))
    >>> data = CoupledData(tensor, {0: noise}, weights="balanced")
    >>> model = SCOUP(rank=1, repetitions=1).fit(data)
    >>> energies(model.fits_[0], model.samples_[0], data).round(1).tolist()
    [1.0, 1.0, 1.0, 0.0]
    """
    totals = np.zeros(len(data.sizes))
    for weight, block in zip(data.block_weights, data.blocks, strict=True):
        noise = noise_share([sample.sizes[n] for n in block.factors], fit.factors.rank)
        share = max(fit.report.block_fits[block.name] - noise, 0.0)
        totals[list(block.factors)] += weight * block.norm2 * share
    return totals


def noise_share(sizes: Sequence[int], rank: int) -> float:
    """Bound the share that ``rank`` components explain of an array of noise.

    The largest component of standard normal noise has norm ``sum_n sqrt(I_n)`` at most (for a
    matrix, the edge of the Marchenko-Pastur law), and its squared norm is ``prod_n I_n``.

    >>> noise_share([100, 100], 1), noise_share([2, 2, 2], 5)
    (0.04, 1.0)
    """
    return min(1.0, rank * sum(size**0.5 for size in sizes) ** 2 / max(prod(sizes), 1))
