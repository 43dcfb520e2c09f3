"""Where a fit starts: random factors, or a PARAFAC of the tensor alone, whole or compressed."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise

import numpy as np

from scoup.constraints import Constraints
from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.factors import balance, unwrap
from scoup.kernels.algebraic import algebraic_factors
from scoup.kernels.lapack import lapack
from scoup.records import Array, Factors
from scoup.seeds import generator
from scoup.solvers import Stopping, _compiled, als
from scoup.solvers._filled import Filled
from scoup.specs import FitSpec
from scoup.terms import Problem, grams_of

# Draws factors when its turn comes: at a large rank each set is as large as sparse data.
Draw = Callable[[], list[Array]]

# A random start of ALS ends in a poor local minimum one time in eight on easy planted data, so a
# few are tried for some sweeps each; the best goes on for long enough to separate the components,
# and the coupled sweeps that follow do the rest.
CANDIDATES = 4
CANDIDATE_SWEEPS = 10
PARAFAC_SWEEPS = 50
PARAFAC_TOL = 1e-4
# Sweeps over all data that follow the start of the leading directions, at most in most cases.
TUCKER_SWEEPS = 10
# Components whose congruence, or whose relative size, is this close to 1 or to 0 add nothing.
MAX_DISTANCE = 1e-7
# Size of new non-negative directions: the tensor is explained without them, and if they were large
# the first update would set them to zero before they fit what only the matrices hold.
NEW_NONNEGATIVE_SIZE = 1e-3
# Rows that are drawn at a time.
DRAWN_ROWS = 1 << 14


def candidates(
    data: CoupledData, spec: FitSpec, seed: int, start: Factors | None = None
) -> list[list[Draw]]:
    """Return the candidates of each start: one, or several for PARAFAC to choose among.

    With ``start``, it is the only candidate of the only start. Non-negative factors are drawn as
    absolute values.

    >>> data = CoupledData(np.ones((2, 3, 4)))
    >>> draws = candidates(data, FitSpec(rank=1, init="random", starts=2), seed=0)
    >>> len(draws), [factor.shape for factor in draws[1][0]()]
    (2, [(2, 1), (3, 1), (4, 1)])
    """
    constraints = Constraints.of(spec.constraints, data)
    if start is not None:
        flat = checked_start(start, data, spec.rank)
        constraints.check("init", flat)
        return [[lambda: flat]]
    count = 1 if spec.init == "random" else CANDIDATES
    numbers = [range(first, first + count) for first in range(0, spec.starts * count, count)]

    def draw(number: int) -> list[Array]:
        return constraints.absolute(random_modes(data, spec.rank, seed, number))

    return [[partial(draw, number) for number in group] for group in numbers]


def begin(problem: Problem, spec: FitSpec, draws: Sequence[Draw], seed: int) -> list[Array]:
    """Return the factors ``[*modes, *sides]`` that a solver starts from.

    >>> problem = Problem.of(CoupledData(np.ones((2, 2, 2)), {0: np.ones((2, 5))}))
    >>> draws = candidates(problem.data, FitSpec(rank=1), seed=0)[0]
    >>> [factor.shape for factor in begin(problem, FitSpec(rank=1), draws, seed=0)]
    [(2, 1), (2, 1), (2, 1), (5, 1)]
    """
    if not problem.zero_cost:  # a fit of nothing is zero, without rounding errors
        return [np.zeros((n, spec.rank), problem.data.dtype) for n in problem.data.sizes]
    if spec.init == "random":
        return with_sides(problem, draws[0]())
    if (filled := Filled.of(problem, spec.rank, complete=spec.init == "tucker")) is not None:
        small = [partial(_shrunk, filled, draw) for draw in draws]
        return filled.expand(begin(filled.problem, spec.replace(init="parafac"), small, seed))
    exact = algebraic_modes(problem.data, spec.rank, seed, problem.terms[0].exponent)
    first = [] if exact is None else [lambda: problem.constraints.positive_part(exact)]
    modes = parafac(problem, spec.rank, [*first, *draws])
    balance(modes, owners=[])
    size = NEW_NONNEGATIVE_SIZE if problem.constraints.nonnegative else 1.0
    if (useless := useless_components(modes)).any():
        modes = with_new_directions(modes, useless, generator(seed, "start", "directions"), size)
    return with_sides(problem, problem.constraints.absolute(modes))


def _shrunk(filled: Filled, draw: Draw) -> list[Array]:
    return filled.shrink(draw())


def useless_components(modes: Sequence[Array]) -> Array:
    """Tell which components are zero, or the same as an earlier one, (F,).

    >>> useless_components([np.array([[1.0, 2.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]])] * 3).tolist()
    [False, True, True, False]
    """
    grams = np.array(grams_of(modes))
    norms = np.sqrt(np.einsum("nff->nf", grams))
    sizes = np.prod(norms, axis=0)
    safe = np.where(norms > 0, norms, 1.0)
    congruences = np.prod(np.abs(grams) / (safe[:, :, None] * safe[:, None, :]), axis=0)
    same = np.triu(congruences > 1.0 - MAX_DISTANCE, 1).any(axis=0)
    return same | (sizes <= MAX_DISTANCE * sizes.max())


def with_new_directions(
    modes: Sequence[Array], useless: Array, rng: np.random.Generator, size: float = 1.0
) -> list[Array]:
    """Replace ``useless`` components by random ones of a size.

    ALS does not leave such a start: a zero component stays zero, and two equal ones stay equal, so
    that neither ever fits what only the matrices hold.

    >>> twice = [np.ones((4, 2)) for _ in range(3)]
    >>> fresh = with_new_directions(twice, np.array([False, True]), np.random.default_rng(0))
    >>> [bool(np.linalg.matrix_rank(mode) == 2) for mode in fresh]
    [True, True, True]
    """
    fresh = []
    for mode in modes:
        columns = (size * rng.standard_normal(mode.shape)).astype(mode.dtype)
        fresh.append(np.where(useless, columns, mode))
    return fresh


def random_modes(data: CoupledData, rank: int, seed: int, number: int) -> list[Array]:
    """Draw mode factors (I_n, F) of random start ``number`` from the standard normal distribution.

    >>> [mode.shape for mode in random_modes(CoupledData(np.ones((2, 3, 4))), 5, seed=0, number=0)]
    [(2, 5), (3, 5), (4, 5)]
    """
    rng, ends = generator(seed, "start", number), list(accumulate(data.shape, initial=0))
    if ends[-1] <= DRAWN_ROWS:
        drawn = rng.standard_normal((ends[-1], rank)).astype(data.dtype, copy=False)
        return [drawn[first:last] for first, last in pairwise(ends)]
    modes = [np.empty((size, rank), data.dtype) for size in data.shape]
    for mode in modes:
        # The same numbers as drawn at once, without a copy of all in float64.
        for first in range(0, len(mode), DRAWN_ROWS):
            rows = mode[first : first + DRAWN_ROWS]
            rows[:] = rng.standard_normal(rows.shape)
    return modes


def algebraic_modes(
    data: CoupledData, rank: int, seed: int, exponent: int = 0
) -> list[Array] | None:
    """Solve the PARAFAC of a dense tensor by eigenvectors: exact if the tensor truly has rank F.

    See :func:`~scoup.kernels.algebraic.algebraic_factors`. None if cells are missing, the tensor is
    sparse, or fewer than two modes have F indices. The tensor is measured in units of
    ``2^exponent``.

    >>> rng = np.random.default_rng(0)
    >>> A, B, C = (rng.standard_normal((n, 2)) for n in (4, 5, 6))
    >>> P, Q, R = algebraic_modes(CoupledData(np.einsum("if,jf,kf->ijk", A, B, C)), 2, seed=0)
    >>> np.allclose(np.einsum("if,jf,kf->ijk", P, Q, R), np.einsum("if,jf,kf->ijk", A, B, C))
    True
    """
    if not has_algebraic_start(data, data.shape, rank):
        return None
    row, column = np.argsort(data.shape, kind="stable")[-2:]
    others = [n for n in range(data.ndim) if n not in (row, column)]
    sizes = np.array([data.shape[n] for n in others])
    ahead = np.moveaxis(np.asarray(data.blocks[0].values), (row, column), (0, 1))
    cells = np.ascontiguousarray(ahead.reshape(*ahead.shape[:2], -1), dtype=np.float64)
    rows = [np.empty((n, rank)) for n in (*cells.shape[:2], sizes.sum())]
    mixture = slice_mixture(seed, cells.shape[2])
    if not algebraic_factors(lapack(), cells, sizes, mixture, tuple(rows)):
        return None
    rows[1] = np.ldexp(rows[1], -exponent)
    columns = [*rows[:2], *np.split(rows[2], np.cumsum(sizes)[:-1])]
    modes = dict(zip([row, column, *others], columns, strict=True))
    return [np.ascontiguousarray(modes[n], dtype=data.dtype) for n in range(data.ndim)]


def has_algebraic_start(data: CoupledData, shape: Sequence[int], rank: int) -> bool:
    """Tell whether a tensor of ``shape``, with cells like those of ``data``, may have one.

    >>> has_algebraic_start(CoupledData(np.ones((2, 3, 4))), (2, 3, 4), rank=3)
    True
    """
    block = data.blocks[0]
    return not block.is_sparse and block.mask is None and sorted(shape)[-2] >= rank


def slice_mixture(seed: int, slices: int) -> Array:
    """Draw the weights (K, 2) by which an algebraic start mixes slices.

    >>> slice_mixture(seed=0, slices=5).shape
    (5, 2)
    """
    return generator(seed, "start", "mixture").standard_normal((slices, 2))


def with_sides(problem: Problem, modes: Sequence[Array]) -> list[Array]:
    """Add the side factors, by least squares given the modes: ``D = Y' (A^+)'``.

    >>> data = CoupledData(np.ones((2, 2, 2)), {0: np.full((2, 1), 7.0)})
    >>> modes = [np.ones((2, 1)) for _ in range(3)]
    >>> with_sides(Problem.of(data), modes)[3].round(9).tolist()
    [[7.0]]
    """
    rank, dtype = modes[0].shape[1], modes[0].dtype
    sides = problem.data.sizes[len(modes) :]
    flat = [*modes, *(np.zeros((size, rank), dtype=dtype) for size in sides)]
    updates = als.exact_updates(problem.constraints, len(flat))
    # Compiled updates of non-negative factors leave something to the sweeps that follow.
    free = not problem.constraints.nonnegative
    if sides and free and _compiled.suits(problem, rank):
        limits = als.limits_for(problem, Stopping(1, 0.0), rank)
        if (solved := _compiled.with_sides(problem, flat, limits)) is not None:
            return solved
    als.sweep(problem.terms, flat, grams_of(flat), range(len(modes), len(flat)), updates)
    return flat


def parafac(problem: Problem, rank: int, draws: Sequence[Draw]) -> list[Array]:
    """Fit the tensor alone by ALS, from the best of the candidates.

    >>> problem = Problem.of(CoupledData(np.full((2, 2, 2), 8.0)))
    >>> modes = parafac(problem, 1, [lambda: [np.ones((2, 1)) for _ in range(3)]])
    >>> round(float(np.prod([mode[0, 0] for mode in modes])), 6)
    8.0
    """
    tensor, counts = replace(problem, terms=problem.terms[:1]), (CANDIDATE_SWEEPS, PARAFAC_SWEEPS)
    return als.solve_from_best(tensor, draws, rank, counts, PARAFAC_TOL, coupled=problem).flat


def checked_start(start: Factors, data: CoupledData, rank: int) -> list[Array]:
    """Check the factors that a user starts from, and return them with the weights absorbed.

    >>> ones = Factors(np.array([8.0]), tuple(np.ones((2, 1)) for _ in range(3)))
    >>> flat = checked_start(ones, CoupledData(np.ones((2, 2, 2))), 1)
    >>> [round(factor[0].item(), 6) for factor in flat]
    [2.0, 2.0, 2.0]
    """
    sizes = tuple(len(factor) for factor in start.flat)
    if sizes != data.sizes or start.rank != rank:
        raise ScoupError.expected(
            "init",
            f"factors with rows {data.sizes} and rank {rank}",
            f"rows {sizes} and rank {start.rank}",
        )
    if not all(np.isfinite(part).all() for part in (start.weights, *start.flat)):
        raise ScoupError.expected("init", "finite factors and weights", "NaN or infinity")
    return [factor.astype(data.dtype, copy=False) for factor in unwrap(start)]
