"""Where a fit starts: random factors, or a PARAFAC of the tensor alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.factors import unwrap
from scoup.records import Factors
from scoup.seeds import generator
from scoup.solvers import als
from scoup.terms import Term, grams_of

Array = NDArray[Any]
Draw = Callable[[], list[Array]]

# A random start of ALS ends in a poor local minimum one time in eight on easy planted data, so a few are
# tried for some sweeps each; the best goes on for long enough to bring the components apart, and the
# coupled sweeps that follow do the rest.
CANDIDATES = 4
SHORT_SWEEPS = 10
PARAFAC_SWEEPS = 50
PARAFAC_TOL = 1e-4


def random_modes(data: CoupledData, rank: int, seed: int, number: int) -> list[Array]:
    """Draw mode factors (I_n, F) of random start ``number`` from the standard normal distribution.

    >>> [mode.shape for mode in random_modes(CoupledData(np.ones((2, 3, 4))), 5, seed=0, number=0)]
    [(2, 5), (3, 5), (4, 5)]
    """
    rng = generator(seed, "start", number)
    return [rng.standard_normal((size, rank)).astype(data.dtype) for size in data.shape]


def algebraic_modes(data: CoupledData, rank: int, seed: int) -> list[Array] | None:
    """Solve the PARAFAC of a dense tensor by eigenvectors: exact where the tensor truly has rank F.

    On the leading F-dimensional subspaces U, V of two modes every slice is ``G_k = P diag(c_k) Q'``, so the
    eigenvectors of ``G_1 G_2^-1`` for two mixtures of slices are P; the other modes follow by least squares.
    None where cells are missing, the tensor is sparse, or fewer than two modes have F indices.

    >>> rng = np.random.default_rng(0)
    >>> A, B, C = (rng.standard_normal((n, 2)) for n in (4, 5, 6))
    >>> P, Q, R = algebraic_modes(CoupledData(np.einsum("if,jf,kf->ijk", A, B, C)), 2, seed=0)
    >>> np.allclose(np.einsum("if,jf,kf->ijk", P, Q, R), np.einsum("if,jf,kf->ijk", A, B, C))
    True
    """
    block = data.blocks[0]
    if block.is_sparse or block.mask is not None or np.sort(data.shape)[-2] < rank:
        return None
    one, two = sorted(np.argsort(data.shape, kind="stable")[-2:])
    values = np.moveaxis(np.asarray(block.values, dtype=np.float64), (one, two), (0, 1))
    rest = values.shape[2:]
    values = values.reshape(values.shape[0], values.shape[1], -1)
    left, right = _leading(values, rank), _leading(values.transpose(1, 0, 2), rank)
    core = np.einsum("if,ijk,jg->fgk", left, values, right, optimize=True)
    mixed = core @ generator(seed, "start", "mixture").standard_normal((core.shape[2], 2))
    try:
        vectors = np.linalg.eig(mixed[..., 0] @ np.linalg.inv(mixed[..., 1]))[1].real
    except np.linalg.LinAlgError:
        return None
    first = left @ vectors
    # With the first factor known, each column of the rest is a rank-one array: its best second factor
    # is the leading vector over the slices.
    slices = np.einsum("fi,ijk->fjk", np.linalg.pinv(first), values, optimize=True)
    parts = [_rank_one(piece.reshape(piece.shape[0], *rest)) for piece in slices]
    modes: list[Array] = [
        np.stack([part[n] for part in parts], axis=1) for n in range(len(parts[0]))
    ]
    ordered = {one: first, two: modes[0]}
    ordered.update(
        zip([n for n in range(data.ndim) if n not in (one, two)], modes[1:], strict=True)
    )
    return [np.ascontiguousarray(ordered[n], dtype=data.dtype) for n in range(data.ndim)]


def _leading(values: Array, rank: int) -> Array:
    """Orthonormal basis (I, F) of the dominant subspace of the first mode, through the smaller Gram matrix."""
    unfolded = values.reshape(values.shape[0], -1)
    tall = unfolded.shape[0] > unfolded.shape[1]
    gram = unfolded.T @ unfolded if tall else unfolded @ unfolded.T
    vectors = eigh(gram, subset_by_index=[len(gram) - rank, len(gram) - 1])[1]
    return np.linalg.qr(unfolded @ vectors)[0] if tall else vectors


def _rank_one(array: Array) -> list[Array]:
    """Leading vector of each mode; the first takes the scale."""
    vectors = []
    for mode in range(array.ndim):
        unfolded = np.moveaxis(array, mode, 0).reshape(array.shape[mode], -1)
        vectors.append(np.linalg.svd(unfolded, full_matrices=False)[0][:, 0])
    scale = array
    for vector in reversed(vectors):
        scale = scale @ vector
    vectors[0] = vectors[0] * scale
    return vectors


def with_sides(terms: Sequence[Term], modes: Sequence[Array], sizes: Sequence[int]) -> list[Array]:
    """Add side factors by least squares given the modes: ``D = Y' (A^+)'``.

    >>> from scoup.terms import terms_of
    >>> data = CoupledData(np.ones((2, 2, 2)), {0: np.full((2, 1), 7.0)})
    >>> with_sides(terms_of(data), [np.ones((2, 1)) for _ in range(3)], data.sizes)[3].round(9).tolist()
    [[7.0]]
    """
    rank, dtype = modes[0].shape[1], modes[0].dtype
    flat = [*modes, *(np.zeros((size, rank), dtype=dtype) for size in sizes[len(modes) :])]
    return als.sweep(terms, flat, grams_of(flat), range(len(modes), len(flat)))[0]


def parafac(terms: Sequence[Term], candidates: Sequence[Draw]) -> list[Array]:
    """Fit the tensor alone by ALS from the best of the candidates, each drawn when its turn comes.

    >>> from scoup.terms import terms_of
    >>> modes = parafac(terms_of(CoupledData(np.full((2, 2, 2), 8.0))), [lambda: [np.ones((2, 1)) for _ in range(3)]])
    >>> round(float(np.prod([mode[0, 0] for mode in modes])), 6)
    8.0
    """
    tensor = terms[:1]
    # No name for a start, and one result beside the best: at a large rank each is as large as sparse data.
    tried = (als.solve(tensor, draw(), SHORT_SWEEPS, PARAFAC_TOL) for draw in candidates)
    return als.solve(
        tensor, min(tried, key=lambda run: run[1][-1])[0], PARAFAC_SWEEPS, PARAFAC_TOL
    )[0]


def given_start(start: Factors, data: CoupledData, rank: int) -> list[Array]:
    """Check factors that a user starts from, and return them with the weights absorbed.

    >>> ones = Factors(np.array([8.0]), tuple(np.ones((2, 1)) for _ in range(3)))
    >>> [round(factor[0].item(), 6) for factor in given_start(ones, CoupledData(np.ones((2, 2, 2))), 1)]
    [2.0, 2.0, 2.0]
    """
    sizes = tuple(len(factor) for factor in start.flat)
    if sizes != data.sizes or start.rank != rank:
        raise ScoupError.expected(
            "init",
            f"factors with rows {data.sizes} and rank {rank}",
            f"rows {sizes} and rank {start.rank}",
        )
    return [factor.astype(data.dtype, copy=False) for factor in unwrap(start)]
