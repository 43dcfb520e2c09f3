"""Where a fit starts: random factors, or a PARAFAC of the tensor alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.factors import unwrap
from scoup.records import Factors
from scoup.seeds import generator
from scoup.solvers import als
from scoup.terms import Term, grams_of

Array = NDArray[Any]

# Enough to bring the components apart; the coupled sweeps that follow do the rest.
PARAFAC_SWEEPS = 50
PARAFAC_TOL = 1e-4


def random_modes(data: CoupledData, rank: int, seed: int, number: int) -> list[Array]:
    """Draw mode factors (I_n, F) of start ``number`` from the standard normal distribution."""
    rng = generator(seed, "start", number)
    return [rng.standard_normal((size, rank)).astype(data.dtype) for size in data.shape]


def with_sides(terms: Sequence[Term], modes: Sequence[Array], sizes: Sequence[int]) -> list[Array]:
    """Add side factors by least squares given the modes: ``D = Y' (A^+)'``."""
    rank, dtype = modes[0].shape[1], modes[0].dtype
    flat = [*modes, *(np.zeros((size, rank), dtype=dtype) for size in sizes[len(modes) :])]
    return als.sweep(terms, flat, grams_of(flat), range(len(modes), len(flat)))[0]


def parafac(terms: Sequence[Term], modes: Sequence[Array]) -> list[Array]:
    """Fit the tensor alone by ALS from ``modes``."""
    return als.solve(terms[:1], modes, PARAFAC_SWEEPS, PARAFAC_TOL)[0]


def given_start(start: Factors, data: CoupledData, rank: int) -> list[Array]:
    """Check factors that a user starts from, and return them with the weights absorbed."""
    sizes = tuple(len(factor) for factor in start.flat)
    if sizes != data.sizes or start.rank != rank:
        raise ScoupError.expected(
            "init", f"factors with rows {data.sizes} and rank {rank}", f"rows {sizes} and rank {start.rank}"
        )
    return [factor.astype(data.dtype, copy=False) for factor in unwrap(start)]
