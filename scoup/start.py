"""Where a fit starts: random factors, or a PARAFAC of the tensor alone, whole or compressed."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from scoup.constraints import Constraints
from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.factors import balance, unwrap
from scoup.kernels.eigen import leading_eigenvectors
from scoup.records import Array, Factors
from scoup.seeds import generator
from scoup.solvers import Solution, Stopping, _compiled, als
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
    rng = generator(seed, "start", number)
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

    On the leading F-dimensional subspaces U, V of two modes every slice is ``G_k = P diag(c_k)
    Q'``, so the eigenvectors of ``G_1 G_2^-1`` for two mixtures of slices are P; the other modes
    follow by least squares. None if cells are missing, the tensor is sparse, or fewer than two
    modes have F indices. The tensor is measured in units of ``2^exponent``.

    >>> rng = np.random.default_rng(0)
    >>> A, B, C = (rng.standard_normal((n, 2)) for n in (4, 5, 6))
    >>> P, Q, R = algebraic_modes(CoupledData(np.einsum("if,jf,kf->ijk", A, B, C)), 2, seed=0)
    >>> np.allclose(np.einsum("if,jf,kf->ijk", P, Q, R), np.einsum("if,jf,kf->ijk", A, B, C))
    True
    """
    block = data.blocks[0]
    if block.is_sparse or block.mask is not None or np.sort(data.shape)[-2] < rank:
        return None
    row, column = np.argsort(data.shape, kind="stable")[-2:]
    values = np.moveaxis(np.asarray(block.values, dtype=np.float64), (row, column), (0, 1))
    other_sizes = values.shape[2:]
    lines = values.reshape(values.shape[0], -1)
    left = _leading(lines, rank)
    short = (left.T @ lines).reshape(rank, values.shape[1], -1).transpose(1, 0, 2)
    # The subspace of a very long mode is that of the projected tensor, which leaves a small Gram
    # matrix; of other modes it is that of the whole tensor, which noise disturbs less.
    is_long = values.shape[1] ** 2 >= values.size
    whole = short if is_long else values.reshape(*values.shape[:2], -1).transpose(1, 0, 2)
    right = _leading(whole.reshape(len(whole), -1), rank)
    core = np.tensordot(short, right, axes=(0, 0)).transpose(0, 2, 1)
    mixed = core @ generator(seed, "start", "mixture").standard_normal((core.shape[2], 2))
    try:
        vectors = np.linalg.eig(mixed[..., 0] @ np.linalg.inv(mixed[..., 1]))[1].real
    except np.linalg.LinAlgError:
        return None
    first = left @ vectors
    # With the first factor known, each column of the rest is an array of rank one: its best second
    # factor is the leading vector over the slices.
    slices = np.linalg.pinv(first) @ lines
    columns = _rank_one(slices.reshape(rank, values.shape[1], *other_sizes))
    columns[0] = np.ldexp(columns[0], -exponent)
    others = [n for n in range(data.ndim) if n not in (row, column)]
    modes = dict(zip([row, column, *others], [first, *columns], strict=True))
    return [np.ascontiguousarray(modes[n], dtype=data.dtype) for n in range(data.ndim)]


def _leading(unfolded: Array, rank: int) -> Array:
    """Orthonormal basis (I, F) of the leading subspace of (I, n), by the smaller Gram matrix."""
    tall = unfolded.shape[0] > unfolded.shape[1]
    gram = unfolded.T @ unfolded if tall else unfolded @ unfolded.T
    vectors = leading_eigenvectors(gram, rank)
    return np.linalg.qr(unfolded @ vectors)[0] if tall else vectors


def _rank_one(arrays: Array) -> list[Array]:
    """Leading vectors (n, F) of each mode of F arrays (F, n, ...); the first carries the scale."""
    if arrays.ndim == 3:
        left, sizes, right = np.linalg.svd(arrays, full_matrices=False)
        return [(left[..., 0] * sizes[:, :1]).T, right[:, 0].T]
    vectors = []
    for mode in range(1, arrays.ndim):
        unfolded = np.moveaxis(arrays, mode, 1).reshape(len(arrays), arrays.shape[mode], -1)
        vectors.append(np.linalg.svd(unfolded, full_matrices=False)[0][..., 0])
    scale = arrays
    for vector in reversed(vectors):
        scale = np.einsum("f...n,fn->f...", scale, vector)
    vectors[0] = vectors[0] * scale[:, None]
    return [vector.T for vector in vectors]


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
    tensor = replace(problem, terms=problem.terms[:1])
    attempts, rest = (Stopping(n, PARAFAC_TOL) for n in (CANDIDATE_SWEEPS, PARAFAC_SWEEPS))
    # The layout of a small coupled problem, which is needed later, holds that of its tensor.
    small = next((p for p in (problem, tensor) if _compiled.suits(p, rank)), None)
    if small is not None:
        limits, flats = als.limits_for(tensor, rest, rank), [draw() for draw in draws]
        counts = attempts.max_iter, rest.max_iter
        if (modes := _compiled.best_start(small, flats, counts, limits)) is not None:
            return modes

    def attempt(draw: Draw) -> Solution:
        return als.solve(tensor, draw(), attempts)

    # A lazy minimum: only the best so far and the candidate at hand are in memory.
    best = min(map(attempt, draws), key=lambda solution: solution.costs[-1])
    return als.solve(tensor, best.flat, rest).flat


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
