"""Working with factor matrices: normalise, reconstruct."""

from collections.abc import Sequence

import numpy as np

from scoup.constraints import UNCONSTRAINED, Constraints
from scoup.coupled import CoupledData
from scoup.errors import ScoupError
from scoup.records import Array, Factors

# Rows whose columns are reordered at a time.
BLOCK_ROWS = 1 << 12
# Rows that are compared as one.
LINE_ROWS = 64


def column_norms(factor: Array) -> Array:
    """Euclidean norm of each column, in double precision.

    >>> column_norms(np.array([[3.0, 0.0], [4.0, 1.0]])).tolist()
    [5.0, 1.0]
    """
    return np.sqrt(np.einsum("if,if->f", factor, factor, dtype=np.float64))


def scale_columns(factor: Array, norms: Array) -> Array:
    """Divide columns by ``norms``; a zero column stays zero and is never divided by zero.

    >>> scale_columns(np.array([[3.0, 0.0], [4.0, 0.0]]), np.array([5.0, 0.0])).tolist()
    [[0.6, 0.0], [0.8, 0.0]]
    """
    safe = np.where(norms > 0, norms, 1.0)
    return (factor / safe).astype(factor.dtype, copy=False)


def khatri_rao(factors: Sequence[Array]) -> Array:
    """Column-wise Kronecker product, last factor fastest: (prod I_n, F). For small factors only.

    >>> khatri_rao([np.array([[1.0], [2.0]]), np.array([[3.0], [5.0]])]).ravel().tolist()
    [3.0, 5.0, 6.0, 10.0]
    """
    product = factors[0]
    for factor in factors[1:]:
        product = (product[:, None, :] * factor[None, :, :]).reshape(-1, product.shape[1])
    return product


def wrap(
    flat: Sequence[Array],
    data: CoupledData,
    coverage: Sequence[Array] = (),
    constraints: Constraints = UNCONSTRAINED,
) -> Factors:
    """Bring raw factors to their canonical form.

    Mode columns get unit norm and their scale goes to ``weights`` (and to the side factors, so that
    ``modes[m] @ side.T`` is unchanged); components are ordered by weight; the largest entry of
    each column is positive in all modes but the last, which takes the sign that is left. Modes
    whose sign is fixed by ``constraints`` stay.

    >>> data = CoupledData(np.ones((2, 2, 2)))
    >>> factors = wrap([np.full((2, 1), -3.0), np.full((2, 1), 2.0), np.full((2, 1), 1.0)], data)
    >>> round(float(factors.weights[0]), 6), factors.modes[0].round(3).tolist()
    (16.970563, [[0.707], [0.707]])
    """
    modes, sides = list(flat[: data.ndim]), list(flat[data.ndim :])
    norms = [column_norms(mode) for mode in modes]
    signs = [np.ones(modes[0].shape[1])] * len(modes)
    *turned, last = [n for n in range(len(modes)) if n not in constraints.fixed] or [0]
    for n in turned:
        signs[n] = _signs(modes[n])
    signs[last] = np.prod([signs[n] for n in turned], axis=0) * signs[last]
    weights = np.prod(norms, axis=0)
    order = np.argsort(-weights, kind="stable")
    # One copy of each factor, scaled in place: at a large rank factors are as large as sparse data.
    ordered = [_reordered(factor, order, data.dtype) for factor in [*modes, *sides]]
    for n, (norm, sign) in enumerate(zip(norms, signs, strict=True)):
        ordered[n] /= (np.where(norm > 0, norm, 1.0) * sign)[order]
    for n, m in enumerate(data.owners, start=data.ndim):
        ordered[n] *= (norms[m] * signs[m])[order]
    return Factors.from_flat(weights[order], ordered, data.owners, coverage)


def _reordered(factor: Array, order: Array, dtype: np.dtype) -> Array:
    """Return the columns in another order; by blocks of rows, which stay in cache."""
    columns = np.empty(factor.shape, dtype)
    for first in range(0, len(factor), BLOCK_ROWS):
        rows = slice(first, first + BLOCK_ROWS)
        # Column by column, which numpy does in a fifth of the time of a list of columns.
        for column, source in enumerate(order.tolist()):
            columns[rows, column] = factor[rows, source]
    return columns


def _signs(factor: Array) -> Array:
    """Return the sign of the largest entry of each column, without a copy of the factor."""
    least, most = -_extreme(np.minimum, factor), _extreme(np.maximum, factor)
    signs = np.where(least > most, -1.0, 1.0)
    for column in np.flatnonzero((least == most) & (most > 0)):
        signs[column] = np.sign(factor[np.abs(factor[:, column]).argmax(), column])
    return signs


def _extreme(choose: np.ufunc, factor: Array) -> Array:
    """Return the least or greatest entry of each column, by lines of many rows: those are fast."""
    rank, whole = factor.shape[1], len(factor) // LINE_ROWS * LINE_ROWS
    if not whole or not factor.flags.c_contiguous:
        return choose.reduce(factor, axis=0)
    lines = factor[:whole].reshape(-1, LINE_ROWS * rank)
    rows = choose.reduce(lines, axis=0).reshape(LINE_ROWS, rank)
    return choose.reduce(np.concatenate([rows, factor[whole:]]), axis=0)


def upright(factors: Factors) -> Factors:
    """Choose signs for display: the strongest entries of each column and all weights are positive.

    The signs of a component are free as long as their product over modes stays. Each column gets
    the sign of ``sum a^3``; where that changes the product, the mode with the most balanced column
    is flipped back. Side factors follow the mode they are coupled to.

    >>> column = np.array([[1.0], [-2.0]])
    >>> factors = upright(Factors(np.array([-3.0]), (column, -column, column), {1: column}))
    >>> factors.weights.tolist(), [factor.ravel().tolist() for factor in factors.flat]
    ([3.0], [[1.0, -2.0], [-1.0, 2.0], [-1.0, 2.0], [1.0, -2.0]])
    """
    skew = np.array([_skew(mode) for mode in factors.modes])
    signs = np.where(skew < 0, -1.0, 1.0)
    wrong = np.prod(signs, axis=0) * np.where(factors.weights < 0, -1.0, 1.0) < 0
    weakest = np.abs(skew).argmin(axis=0)
    signs[weakest[wrong], np.flatnonzero(wrong)] *= -1.0
    flat_signs = [*signs, *(signs[owner] for owner in factors.owners)]
    turned = [factor * sign for factor, sign in zip(factors.flat, flat_signs, strict=True)]
    return factors.replace_flat(turned, np.abs(factors.weights))


def _skew(factor: Array) -> Array:
    """``sum a^3 / sum |a|^3`` of each column, from -1 (all below zero) to 1."""
    cubes = factor.astype(np.float64) ** 3
    size = np.abs(cubes).sum(axis=0)
    return np.divide(cubes.sum(axis=0), size, out=np.zeros_like(size), where=size > 0)


def unwrap(factors: Factors, spread: bool = True) -> list[Array]:
    """Undo :func:`wrap`: absorb the weights into the modes.

    Evenly into all of them or, unless ``spread``, into the first.
    The tensor becomes ``sum_f a_f o b_f o c_f`` and matrices stay ``modes[m] @ side.T``.

    >>> factors = Factors(np.array([8.0]), tuple(np.ones((1, 1)) for _ in range(3)))
    >>> [factor.item() for factor in unwrap(factors)]
    [2.0, 2.0, 2.0]
    """
    order = len(factors.modes)
    scales = mode_scales(factors.weights, order, factors.owners, spread)
    modes = [
        mode if (scale == 1).all() else mode * scale
        for mode, scale in zip(factors.modes, scales, strict=True)
    ]
    sides: list[Array] = []
    for owner, side in zip(factors.owners, factors.flat[order:], strict=True):
        scale = np.where(scales[owner] == 0, 1.0, scales[owner])
        sides.append(side if (scale == 1).all() else side / scale)
    dtype = factors.modes[0].dtype
    return [np.ascontiguousarray(factor.astype(dtype, copy=False)) for factor in [*modes, *sides]]


def balance(flat: list[Array], owners: Sequence[int]) -> None:
    """Give the columns of a component about the same norm in all modes, in place.

    L-BFGS learns the curvature slowly where a unit step means a lot in one factor and nothing in
    another, and products of extreme columns lose digits. Scales are powers of two, so that the
    model stays the same to the last digit.

    >>> flat = [np.full((1, 1), size) for size in (64.0, 1.0, 1.0, 3.0)]
    >>> balance(flat, owners=[0])
    >>> [factor.item() for factor in flat]
    [4.0, 4.0, 4.0, 48.0]
    """
    order = len(flat) - len(owners)
    norms = np.array([column_norms(mode) for mode in flat[:order]])
    sizes = np.log2(norms, out=np.zeros_like(norms), where=norms > 0)
    shifts = np.where((norms > 0).all(axis=0), np.rint(sizes.mean(axis=0) - sizes), 0.0)
    shifts[-1] -= shifts.sum(axis=0)
    shifts = shifts.astype(np.int64)
    for position, shift in enumerate([*shifts, *(-shifts[owner] for owner in owners)]):
        flat[position] = np.ldexp(flat[position], shift)


def mode_scales(
    weights: Array, order: int, owners: Sequence[int], spread: bool = True, signed: int = 0
) -> list[Array]:
    """Return what each mode is multiplied by to absorb the weights, evenly or all in the first.

    The mode ``signed`` takes the sign.
    A component of weight 0 keeps the modes that matrices are on, and with them its part of the
    matrices: the zero goes to another mode, if there is one.

    >>> [scale.tolist() for scale in mode_scales(np.array([-8.0, 0.0]), 3, owners=[0])]
    [[-2.0, 1.0], [2.0, 0.0], [2.0, 1.0]]
    """
    sign, zero = np.where(weights < 0, -1.0, 1.0), weights == 0
    size = np.where(zero, 1.0, np.abs(weights))
    share = size ** (1.0 / order) if spread else size
    scales = [share if spread or mode == 0 else np.ones(len(weights)) for mode in range(order)]
    scales[signed] = scales[signed] * sign
    free = next((mode for mode in range(order) if mode not in owners), order - 1)
    scales[free] = np.where(zero, 0.0, scales[free])
    return scales


def tensor_of(factors: Factors) -> Array:
    """Reconstruct the dense tensor ``sum_f weights[f] a_f o b_f o c_f``.

    >>> modes = tuple(np.ones((n, 1)) for n in (1, 2, 1))
    >>> tensor_of(Factors(np.array([2.0]), modes)).ravel().tolist()
    [2.0, 2.0]
    """
    first, *rest = factors.modes
    return ((first * factors.weights) @ khatri_rao(rest).T).reshape(
        [len(mode) for mode in factors.modes]
    )


def matrix_of(factors: Factors, mode: int, position: int = 0) -> Array:
    """Reconstruct the dense matrix ``modes[mode] @ side.T``.

    >>> ones = np.ones((2, 1))
    >>> matrix_of(Factors(np.ones(1), (ones, ones, ones), {0: 3 * ones}), mode=0).tolist()
    [[3.0, 3.0], [3.0, 3.0]]
    """
    side = side_of(factors, mode, position)
    return factors.modes[mode] @ side.T


def side_of(factors: Factors, mode: int, position: int = 0) -> Array:
    """Return the side factor of the ``position``-th matrix on ``mode``, or refuse.

    >>> ones = np.ones((2, 1))
    >>> side_of(Factors(np.ones(1), (ones, ones, ones), {0: 3 * ones}), mode=0).tolist()
    [[3.0], [3.0]]
    """
    if not isinstance(mode, (int, np.integer)) or mode not in factors.sides:
        modes = f"a mode with a matrix, one of {sorted(factors.sides)}"
        raise ScoupError.expected("mode", modes, repr(mode))
    group = factors.sides[mode]
    if not isinstance(position, (int, np.integer)) or not 0 <= position < len(group):
        positions = f"a matrix of mode {mode} from 0 to {len(group) - 1}"
        raise ScoupError.expected("position", positions, repr(position))
    return group[position]
